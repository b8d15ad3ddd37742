import Bytes
import Foundation
import History
import Logging
import MarketData
import Portfolio
@testable import PubSub
import Synchronization
import TestTraits
import Testing

@testable import Documents

/// The loops as a desk sees them: they have one market, and keep what it publishes.
private final class PortfolioOutletProbe: PortfolioOutlet {
  let market = Mutex<[QuotePart]>([])
  let gathered = Mutex<[Set<String>?]>([])
  let published = Mutex<[(subject: PortfolioSubject, text: String)]>([])

  func gather(
    _ symbols: Set<String>?, and others: Set<String>, completion: @escaping @Sendable ([QuotePart]) -> Void
  ) {
    gathered.withLock { $0.append(symbols) }
    completion(market.withLock { $0 })
  }

  func publish(_ values: [(subject: PortfolioSubject, text: SharedBytes)]) {
    published.withLock { published in
      for (subject, text) in values {
        published.append((subject, String(decoding: text.unsafeBytes, as: UTF8.self)))
      }
    }
  }

  func setPrice(_ price: Int64, isLive: Bool = true) {
    let instrument = Instrument(
      id: InstrumentID(rawValue: 0), venue: "test", venueSymbol: "BTCUSD", base: "BTC", quote: "USD", priceScale: 0,
      sizeScale: 8)
    var part = QuotePart(
      market: VenueMarket(
        instrument: instrument, isLive: isLive, last: price, lastTime: Timestamp(microseconds: 7), open: 100))
    part.isFeedLive = isLive
    market.withLock { [part] in $0 = [part] }
  }
}

@Suite("The desk of portfolios", .realTime)
struct PortfolioDeskTests {
  private let folder = NSTemporaryDirectory() + "tidegate-portfolios-" + UUID().uuidString
  private let outlet = PortfolioOutletProbe()

  private func file() throws -> DataFile {
    try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
  }

  private func desk(_ file: DataFile?, limits: PortfolioDesk.Limits = .init()) -> PortfolioDesk {
    let desk = PortfolioDesk.open(file, limits: limits, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    desk.start(outlet)
    desk.queue.sync {}
    return desk
  }

  private func perform(
    _ desk: PortfolioDesk, _ action: PortfolioCall.Action, owner: String = "key:a", revision: Int64? = nil,
    key: String? = nil, digest: [UInt8] = []
  ) async throws -> PortfolioDesk.Outcome {
    let call = PortfolioCall(
      owner: owner, action: action, revision: revision, key: key.map { RequestKey($0, digest: digest) })
    return try await withCheckedThrowingContinuation { continuation in
      desk.perform(call) { continuation.resume(with: $0.mapError { $0 }) }
    }
  }

  private func create(
    _ desk: PortfolioDesk, owner: String = "key:a", key: String? = nil, digest: [UInt8] = []
  ) async throws -> (KeptPortfolio, isNew: Bool) {
    let form = PortfolioCall.Form(name: "Savings", currency: "USD", method: .fifo, positions: [])
    let outcome = try await perform(desk, .create(form), owner: owner, key: key, digest: digest)
    guard case .portfolio(let portfolio, let isNew) = outcome else { throw CancellationError() }
    return (portfolio, isNew)
  }

  private func transaction(
    _ kind: PortfolioTransaction.Kind, _ quantity: Int64, at price: Int64, time: Int64
  ) -> PortfolioTransaction {
    PortfolioTransaction(
      kind, "BTC", quantity: Decimal64(mantissa: quantity, scale: 0), price: Decimal64(mantissa: price, scale: 0),
      time: Timestamp(microseconds: time))
  }

  private func read(_ desk: PortfolioDesk, _ id: Int64, owner: String = "key:a") async throws -> KeptPortfolio {
    try await withCheckedThrowingContinuation { continuation in
      desk.read(String(id), of: owner) { continuation.resume(with: $0.mapError { $0 }) }
    }
  }

  private func end(_ desk: PortfolioDesk) async {
    await withCheckedContinuation { continuation in desk.finish { continuation.resume() } }
  }

  private func expect(_ code: ProtocolError.Code, _ body: () async throws -> Void) async {
    do {
      try await body()
      Issue.record("\(code) was expected")
    } catch {
      #expect((error as? ProtocolError)?.code == code, "\(error)")
    }
  }

  @Test("what was answered is there after a restart, transactions in the order in which they happened")
  func restart() async throws {
    let file = try file()
    let first = desk(file)
    let id = try await create(first).0.stored.id
    for (kind, price, time) in [(.buy, 100, 10), (.buy, 300, 30), (.buy, 200, 20)]
      as [(PortfolioTransaction.Kind, Int64, Int64)]
    {
      _ = try await perform(first, .add(id, transaction(kind, 2, at: price, time: time)))
    }
    _ = try await perform(first, .add(id, transaction(.sell, 3, at: 400, time: 40)))
    let before = try await read(first, id)
    // First in, first out by time: two at 100 and one at 200 were sold.
    #expect(before.ledger.assets.first?.realised.text == "800" && before.stored.revision == 5)
    await end(first)
    file.close()
    let again = try self.file()
    let second = desk(again)
    let after = try await read(second, id)
    #expect(after.stored == before.stored && after.ledger == before.ledger)
    // A number is never given twice, neither a portfolio's nor a transaction's.
    _ = try await perform(second, .remove(id, 4))
    guard
      case .transaction(_, let entry, _) = try await perform(
        second, .add(id, transaction(.buy, 1, at: 1, time: 50)))
    else {
      Issue.record("no transaction")
      return
    }
    #expect(entry.number == 5)
    _ = try await perform(second, .delete(id))
    await end(second)
    again.close()
    let third = desk(try self.file())
    #expect(try await create(third).0.stored.id == id + 1)
    await expect(.unknownPortfolio) { _ = try await read(third, id) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("a key makes one portfolio and one transaction, also over a restart; with another body it is refused")
  func keys() async throws {
    let file = try file()
    let first = desk(file)
    let (made, isNew) = try await create(first, key: "k", digest: [1])
    #expect(isNew)
    let buy = PortfolioCall.Action.add(made.stored.id, transaction(.buy, 1, at: 1, time: 1))
    _ = try await perform(first, buy, key: "t", digest: [2])
    await end(first)
    file.close()
    let second = desk(try self.file())
    let (again, isAgainNew) = try await create(second, key: "k", digest: [1])
    #expect(again.stored.id == made.stored.id && !isAgainNew)
    guard case .transaction(let whole, let entry, false) = try await perform(second, buy, key: "t", digest: [2]) else {
      Issue.record("a second transaction was made")
      return
    }
    #expect(entry.number == 1 && whole.stored.entries.count == 1)
    await expect(.keyReused) { _ = try await create(second, key: "k", digest: [9]) }
    // Another owner's key is another.
    #expect(try await create(second, owner: "key:b", key: "k", digest: [9]).isNew)
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("a file that replaced a damaged one gets portfolios, keys and the next number again")
  func damage() async throws {
    let file = try file()
    let first = desk(file)
    let made = try await create(first, key: "k").0.stored.id
    _ = try await perform(first, .add(made, transaction(.buy, 1, at: 1, time: 1)))
    let deleted = try await create(first).0.stored.id
    _ = try await perform(first, .delete(deleted))
    try file.replaceDamaged(stamp: "now")
    _ = try await perform(first, .change(made, PortfolioCall.Form(name: "renamed")))
    await end(first)
    file.close()
    let second = desk(try self.file())
    let kept = try await create(second, key: "k").0.stored
    #expect(kept.id == made && kept.name == "renamed" && kept.entries.count == 1)
    #expect(try await create(second).0.stored.id > deleted, "a number is never used twice")
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("nobody reads, changes or deletes what is another's; nor is a stream of it to be had")
  func owners() async throws {
    let desk = desk(nil)
    let id = try await create(desk).0.stored.id
    _ = try await perform(desk, .add(id, transaction(.buy, 1, at: 1, time: 1)))
    let form = PortfolioCall.Form(name: "mine")
    let actions: [PortfolioCall.Action] = [
      .change(id, form), .delete(id), .add(id, transaction(.buy, 1, at: 1, time: 1)),
      .replace(id, 1, transaction(.buy, 2, at: 1, time: 1)), .remove(id, 1),
    ]
    for action in actions {
      await expect(.unknownPortfolio) { _ = try await perform(desk, action, owner: "key:b") }
    }
    await expect(.unknownPortfolio) { _ = try await read(desk, id, owner: "key:b") }
    #expect(!desk.exists(String(id), of: "key:b") && desk.exists(String(id), of: "key:a"))
    #expect(try await read(desk, id).stored.revision == 2)
  }

  @Test("a change at another revision, an oversold one and one beyond a limit change nothing")
  func refusals() async throws {
    var limits = PortfolioDesk.Limits()
    (limits.perOwner, limits.transactions) = (1, 2)
    let desk = desk(nil, limits: limits)
    let id = try await create(desk).0.stored.id
    let buy = PortfolioCall.Action.add(id, transaction(.buy, 1, at: 1, time: 10))
    _ = try await perform(desk, buy, revision: 1)
    await expect(.changed) { _ = try await perform(desk, buy, revision: 1) }
    await expect(.invalidPortfolio) {
      _ = try await perform(desk, .add(id, transaction(.sell, 2, at: 1, time: 20)))
    }
    // Before it was bought.
    await expect(.invalidPortfolio) {
      _ = try await perform(desk, .add(id, transaction(.sell, 1, at: 1, time: 5)))
    }
    _ = try await perform(desk, .add(id, transaction(.sell, 1, at: 1, time: 20)))
    await expect(.invalidPortfolio) { _ = try await perform(desk, .remove(id, 1)) }
    await expect(.tooManyPortfolios) { _ = try await perform(desk, buy) }
    await expect(.tooManyPortfolios) { _ = try await create(desk) }
    await expect(.unknownPortfolio) { _ = try await perform(desk, .remove(id, 9)) }
    #expect(try await read(desk, id).stored.revision == 3)
  }

  @Test("values are made of one gathering for all, published when they change, and say when they are stale")
  func values() async throws {
    let desk = desk(nil)
    outlet.setPrice(110)
    let id = try await create(desk).0.stored.id
    _ = try await perform(desk, .add(id, transaction(.buy, 2, at: 50, time: 1)))
    let sent = PortfolioContents(
      currency: "USD", holdings: [.init(asset: "BTC", quantity: Decimal64(mantissa: 5, scale: 1))])
    let subjects = [
      PortfolioSubject(.sent(sent), currency: nil, scope: []),
      PortfolioSubject(.kept(id: String(id), owner: "key:a"), currency: nil, scope: []),
    ]
    for subject in subjects { desk.demand(.wanted(StreamDocumentName(subject))) }
    var patience = Patience()
    while outlet.published.withLock({ $0.count }) < 2 { try await patience.wait(for: "two values") }
    let first = outlet.published.withLock { $0 }
    #expect(first[0].text.contains("\"state\":\"live\",\"value\":\"55\",\"day_profit\":\"5\",\"day_percent\":\"10\""))
    #expect(first[1].text.contains("\"value\":\"220\"") && first[1].text.contains("\"unrealised\":\"120\""))
    let gatherings = outlet.gathered.withLock { $0 }
    #expect(gatherings.first == .some(nil) && gatherings.count <= 2, "\(gatherings)")
    outlet.setPrice(120, isLive: false)
    while !outlet.published.withLock({ $0.contains { $0.text.contains("\"state\":\"stale\"") } }) {
      try await patience.wait(for: "a stale value")
    }
    // From then on only what the values go through is gathered.
    #expect(outlet.gathered.withLock { $0.last } == .some(["test:BTC-USD"]))
    let stale = outlet.published.withLock { $0.first { $0.text.contains("stale") }?.text }
    #expect(stale?.contains("\"price_time\":7") == true, "\(stale ?? "")")
    _ = try await perform(desk, .delete(id))
    while !outlet.published.withLock({ $0.contains { $0.text.contains("\"state\":\"deleted\"") } }) {
      try await patience.wait(for: "the end of a portfolio")
    }
    for subject in subjects { desk.demand(.unwanted(StreamDocumentName(subject))) }
    #expect(desk.queue.sync { desk.board.order.isEmpty })
  }
}
