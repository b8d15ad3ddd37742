import Alerts
import Bytes
import Foundation
import GRDB
import History
import Logging
import MarketData
import PubSub
import Synchronization
import TestTraits
import Testing

@testable import Documents

/// What a desk says to the loops, as a test looks at it.
final class OutletProbe: AlertOutlet {
  struct Said {
    var watches: [AlertWatch] = []
    var updates: [(owner: String, text: String)] = []
    var documents: [(owner: String, entries: [String])] = []
    var deliveries: [StoredDelivery] = []
  }
  let said = Mutex(Said())

  func watch(_ watch: AlertWatch) { said.withLock { $0.watches.append(watch) } }
  func publish(_ update: StreamDocumentUpdate, of owner: String) {
    said.withLock { $0.updates.append((owner, String(decoding: update.data.unsafeBytes, as: UTF8.self))) }
  }
  func send(
    _ delivery: StoredDelivery, to webhook: StoredWebhook, seconds: Int64,
    completion: @escaping @Sendable (String?) -> Void
  ) {
    said.withLock { $0.deliveries.append(delivery) }
    // The first attempt of each fails.
    completion(delivery.attempts == 0 ? "answered 500" : nil)
  }
  func show(_ document: StreamDocument, of owner: String) {
    let entries = document.entries.map { String(decoding: $0.text.unsafeBytes, as: UTF8.self) }
    said.withLock { $0.documents.append((owner, entries)) }
  }
}

@Suite("The desk of alerts", .realTime)
struct AlertDeskTests {
  private static let symbol = "kraken:BTC-USD"
  private let folder = NSTemporaryDirectory() + "tidegate-desk-" + UUID().uuidString
  private let outlet = OutletProbe()

  private func file() throws -> DataFile {
    try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
  }

  private func desk(_ file: DataFile?, limits: AlertDesk.Limits = .init()) -> AlertDesk {
    let desk = AlertDesk.open(file, limits: limits, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    desk.start(outlet)
    desk.queue.sync {}
    return desk
  }

  private func rule(_ value: String = "100", _ frequency: String = "{\"every_s\":1}") -> String {
    """
    {"condition":{"type":"price","symbol":"\(Self.symbol)","is":"crosses_up","value":"\(value)"},\
    "frequency":\(frequency)}
    """
  }

  private func perform(
    _ desk: AlertDesk, _ request: ControlRequest, owner: String = "key:a"
  ) async throws -> AlertOutcome {
    let call = try AlertCall(request, Grant(subject: owner, owner: owner)) { _ in nil }
    return try await withCheckedThrowingContinuation { continuation in
      desk.perform(call) { continuation.resume(with: $0.mapError { $0 }) }
    }
  }

  private struct NoAlert: Error {}

  private func create(
    _ desk: AlertDesk, _ rule: String, name: String = "a", owner: String = "key:a", key: String? = nil
  ) async throws -> AlertText {
    let body = Array("{\"name\":\"\(name)\",\"rule\":\(rule)}".utf8)
    let outcome = try await perform(desk, .init(.create, key: key, body: body), owner: owner)
    guard case .alert(let text, _) = outcome else { throw NoAlert() }
    return text
  }

  private func code(_ body: () async throws -> Void) async -> ProtocolError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? ProtocolError)?.code
    }
  }

  private func list(_ desk: AlertDesk, _ owner: String = "key:a") async -> String {
    await withCheckedContinuation { continuation in
      desk.list(owner) { continuation.resume(returning: String(decoding: $0, as: UTF8.self)) }
    }
  }

  private func source(_ desk: AlertDesk) -> AlertSource { desk.queue.sync { desk.engine.source(Self.symbol) } }

  /// Waits until the desk has looked at its mail and what came of it is in the store.
  private func settle(_ desk: AlertDesk) {
    var isBusy = true
    while isBusy {
      isBusy = desk.queue.sync { !desk.writes.isIdle }
    }
  }

  private func firings(_ file: DataFile) throws -> [Int64] {
    try file.read { try Int64.fetchAll($0, sql: "SELECT number FROM alert_firing ORDER BY number") }
  }

  private func live(_ desk: AlertDesk, _ prices: [Int64]) {
    desk.add(
      source(desk), [.scales(price: 0, size: 0), .feed(isLive: true, isFirst: true)] + prices.map { .price($0) })
    settle(desk)
  }

  @Test("a change says from when on it is watched, and the minutes that a loop knows let it begin at once")
  func changes() async throws {
    let desk = desk(nil)
    let rule = """
      {"condition":{"type":"change","symbol":"\(Self.symbol)","is":"above","percent":"5","window_min":60},\
      "frequency":{"every_s":1}}
      """
    _ = try await create(desk, rule)
    let watch = outlet.said.withLock { $0.watches.last { $0.isWanted } }
    #expect(watch?.windows == [60], "the loop knows how far back the rule looks")
    live(desk, [100])
    #expect(await list(desk).contains("\"watching_from\":"))
    let now = desk.moment.wall.microseconds / 60_000_000 * 60_000_000
    let past = (0..<90).reversed().map { (time: Timestamp(microseconds: now - $0 * 60_000_000), price: Int64(90)) }
    desk.add(source(desk), [.past(past)])
    settle(desk)
    let text = await list(desk)
    #expect(!text.contains("\"watching_from\"") && text.contains("\"value\":\"11.1111\""), "\(text)")
  }

  @Test("a firing is in the store before a stream is told of it, and its rule shows it until it is acknowledged")
  func fires() async throws {
    let file = try file()
    let desk = desk(file)
    desk.demand(.wanted(StreamDocumentName(.alerts, "key:a")))
    let made = try await create(desk, rule())
    #expect(outlet.said.withLock { $0.watches.last?.symbol } == Self.symbol)
    live(desk, [99, 101])
    #expect(try firings(file) == [1])
    let told = outlet.said.withLock { $0.updates }
    #expect(told.count == 2 && told.allSatisfy { $0.owner == "key:a" })
    #expect(told.last?.text.contains("\"firings\":[{\"alert\":\"\(made.id.text)\",\"number\":1,") == true)
    #expect(told.last?.text.contains("\"value\":\"101\"") == true)
    #expect(told.last?.text.contains("late_by_ms") == false)
    #expect(await list(desk).contains("\"state\":\"alerting\""))
    _ = try await perform(desk, .init(.ack, alert: made.id.text))
    #expect(await list(desk).contains("\"state\":\"running\""))
    #expect(outlet.said.withLock { $0.updates.count } == 3)
  }

  @Test("what is not live never fires, and what crossed meanwhile says how late it is")
  func staleData() async throws {
    let desk = desk(nil)
    _ = try await create(desk, rule())
    live(desk, [99])
    desk.add(source(desk), [.feed(isLive: false), .price(101)])
    settle(desk)
    #expect(await list(desk).contains("\"firings\":0"))
    desk.add(source(desk), [.feed(isLive: true), .price(102)])
    settle(desk)
    let text = await list(desk)
    #expect(text.contains("\"firings\":1") && text.contains("\"late_by_ms\":"))
  }

  @Test("a full disk holds back what fired: nobody is told until it is written, and then it is told once")
  func fullDisk() async throws {
    let file = try file()
    let desk = desk(file)
    desk.demand(.wanted(StreamDocumentName(.alerts, "key:a")))
    let made = try await create(desk, rule())
    try file.write { db in try db.execute(sql: "ALTER TABLE alert_firing RENAME TO elsewhere") }
    desk.add(
      source(desk), [.scales(price: 0, size: 0), .feed(isLive: true, isFirst: true), .price(99), .price(101)])
    while desk.queue.sync(execute: { desk.writes.failure == nil }) { await Task.yield() }
    #expect(outlet.said.withLock { $0.updates.count } == 1, "only the new rule was told")
    #expect(await list(desk).contains("\"firings\":0"))
    #expect(await code { _ = try await create(desk, rule()) } == .unavailable)
    try file.write { db in try db.execute(sql: "ALTER TABLE elsewhere RENAME TO alert_firing") }
    settle(desk)
    #expect(try firings(file) == [1])
    let told = outlet.said.withLock { $0.updates }
    #expect(told.filter { $0.text.contains("\"alert\":\"\(made.id.text)\"") }.count == 1)
  }

  @Test("a desk that begins anew on the same file has rules, states and keys, and fires nothing twice")
  func restart() async throws {
    let file = try file()
    let first = desk(file)
    let made = try await create(first, rule("100", "\"once\""), key: "k")
    live(first, [99, 101])
    await withCheckedContinuation { continuation in first.finish { continuation.resume() } }
    let second = desk(file)
    #expect(await list(second).contains("\"state\":\"alerting\""))
    #expect(await list(second).contains("\"value\":\"101\""))
    live(second, [99, 101])
    #expect(try firings(file) == [1])
    let again = try await create(second, rule("100", "\"once\""), key: "k")
    #expect(again.id == made.id)
    #expect(await code { _ = try await create(second, rule("7"), key: "k") } == .keyReused)
    _ = try await perform(second, .init(.delete, alert: made.id.text))
    let third = desk(file)
    #expect(await list(third) == "{\"kept\":true,\"alerts\":[],\"limit\":200}")
    #expect(try await create(third, rule()).id != made.id, "numbers are never given twice")
  }

  @Test("a damaged file that was begun anew gets every rule again")
  func damaged() async throws {
    let file = try file()
    let desk = desk(file)
    let made = try await create(desk, rule())
    try file.replaceDamaged(stamp: "now")
    _ = try await perform(desk, .init(.pause, alert: made.id.text))
    settle(desk)
    let contents = try AlertStore(file: file).load()
    #expect(contents.alerts.map(\.id) == [made.id] && contents.alerts.first?.progress.isPaused == true)
    #expect(contents.owners.map(\.subject) == ["key:a"])
  }

  @Test("an owner's rules are nobody else's, whatever is asked of them")
  func owners() async throws {
    let desk = desk(nil)
    let made = try await create(desk, rule())
    for action in ControlRequest.Action.allCases where action != .create {
      var request = ControlRequest(action, alert: made.id.text)
      switch action {
      case .change, .replace: request.body = Array("{\"name\":\"mine\",\"rule\":\(rule("1"))}".utf8)
      case .snooze: request.body = Array("{\"for_s\":5}".utf8)
      default: break
      }
      #expect(
        await code { _ = try await perform(desk, request, owner: "key:b") } == .unknownAlert, "\(action)")
    }
    #expect(await list(desk, "key:b") == "{\"kept\":false,\"alerts\":[],\"limit\":200}")
    let untouched = await list(desk)
    #expect(untouched.contains("\"name\":\"a\"") && untouched.contains("\"revision\":1"))
    desk.demand(.wanted(StreamDocumentName(.alerts, "key:b")))
    live(desk, [99, 101])
    let said = outlet.said.withLock { (updates: $0.updates.count, entries: $0.documents.flatMap(\.entries).count) }
    #expect(said == (0, 0))
    #expect(await list(desk).contains("\"firings\":1"))
  }

  @Test("limits: rules of one owner, of all, the bytes of their texts, and revisions")
  func limits() async throws {
    var limits = AlertDesk.Limits()
    (limits.rulesOfOwner, limits.rules) = (2, 3)
    let desk = desk(nil, limits: limits)
    let first = try await create(desk, rule())
    _ = try await create(desk, rule())
    #expect(await code { _ = try await create(desk, rule()) } == .tooManyAlerts)
    _ = try await create(desk, rule(), owner: "key:b")
    #expect(await code { _ = try await create(desk, rule(), owner: "key:b") } == .tooManyAlerts)
    let change = ControlRequest(.change, alert: first.id.text, revision: 7, body: Array("{\"name\":\"b\"}".utf8))
    #expect(await code { _ = try await perform(desk, change) } == .changed)
    let bad = ["{}", "{\"name\":\"\",\"rule\":\(rule())}", "[1]", "{\"name\":\"a\",\"rule\":{\"condition\":{}}}"]
    for body in bad {
      let request = ControlRequest(.replace, alert: first.id.text, body: Array(body.utf8))
      let found = await code { _ = try await perform(desk, request) }
      #expect(found == .invalidAlert || found == .badRequest, "\(body)")
    }
    let zone = rule().dropLast() + ",\"time_zone\":\"../../etc/passwd\"}"
    #expect(await code { _ = try await create(desk, String(zone), owner: "key:c") } != nil)
  }

  private func makeWebhook(_ desk: AlertDesk) async throws -> (id: Int64, text: [UInt8]) {
    try await withCheckedThrowingContinuation { continuation in
      WebhookDesk(desk: desk).create("https://push.example.com/", of: "key:a") {
        continuation.resume(with: $0.mapError { $0 })
      }
    }
  }

  @Test("a delivery waits for its own transaction, not for the one before")
  func deliveriesAndTransactions() async throws {
    let file = try file()
    let desk = desk(file)
    _ = try await makeWebhook(desk)
    let (low, high) = (try await create(desk, rule("100")), try await create(desk, rule("200")))
    live(desk, [99])
    let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    _ = file.submit({ _ in first.wait() }, completion: { _ in })
    desk.add(source(desk), [.price(101)])
    while !desk.queue.sync(execute: { desk.writes.isWriting }) {}
    _ = file.submit({ _ in second.wait() }, completion: { _ in })
    desk.add(source(desk), [.price(201)])
    while desk.queue.sync(execute: { desk.writes.draft.firings.isEmpty }) {}
    first.signal()
    while outlet.said.withLock({ $0.deliveries.isEmpty }) { try await Task.sleep(for: .milliseconds(1)) }
    desk.queue.sync {}
    #expect(outlet.said.withLock { $0.deliveries.map(\.alert) } == [low.id])
    second.signal()
    settle(desk)
    #expect(outlet.said.withLock { $0.deliveries.map(\.alert) } == [low.id, high.id])
  }

  @Test("a file that replaced a damaged one gets rules, webhooks and keys again")
  func damage() async throws {
    let file = try file()
    let first = desk(file)
    let made = try await create(first, rule(), key: "k")
    _ = try await makeWebhook(first)
    try file.replaceDamaged(stamp: "now")
    let other = try await create(first, rule("7"))
    await withCheckedContinuation { continuation in first.finish { continuation.resume() } }
    file.close()
    let second = desk(try self.file())
    #expect(try await create(second, rule(), key: "k").id == made.id, "the key is known")
    let kept = try AlertStore(file: try self.file()).load()
    #expect(kept.alerts.map(\.id) == [made.id, other.id] && kept.webhooks.count == 1)
    #expect(kept.owners.map(\.subject) == ["key:a"])
  }

  @Test("a firing is in the store with its delivery before that is sent; one that fails is sent again after a restart")
  func webhooks() async throws {
    let file = try file()
    let first = desk(file)
    let made = try await makeWebhook(first)
    #expect(made.id == 1)
    #expect(String(decoding: made.text, as: UTF8.self).contains("\"secret\":\"whsec_"))
    _ = try await create(first, rule())
    live(first, [99, 101])
    settle(first)
    let sent = outlet.said.withLock { $0.deliveries }
    #expect(sent.count == 1 && sent[0].body.contains("\"firing\":{\"number\":1,"), "\(sent)")
    let kept = try AlertStore(file: file).load()
    #expect(kept.deliveries.map(\.reason) == ["answered 500"] && kept.deliveries.map(\.attempts) == [1])
    let list = await withCheckedContinuation { continuation in
      WebhookDesk(desk: first).list("key:a") { continuation.resume(returning: try? $0.get()) }
    }
    let text = String(decoding: list ?? [], as: UTF8.self)
    #expect(text.contains("\"waiting\":1") && !text.contains("whsec_"), "\(text)")
    await withCheckedContinuation { continuation in first.finish { continuation.resume() } }
    let second = desk(file)
    while outlet.said.withLock({ $0.deliveries.count }) < 2 { try await Task.sleep(for: .milliseconds(50)) }
    settle(second)
    #expect(outlet.said.withLock { $0.deliveries.map(\.id) } == [sent[0].id, sent[0].id])
    #expect(try AlertStore(file: file).load().deliveries.isEmpty)
    for (owner, code) in [("key:b", .unknownWebhook), ("key:a", nil)] as [(String, ProtocolError.Code?)] {
      let refusal: ProtocolError.Code? = await withCheckedContinuation { continuation in
        WebhookDesk(desk: second).delete("1", of: owner) { answer in
          var refusal: ProtocolError.Code?
          if case .failure(let error) = answer { refusal = error.code }
          continuation.resume(returning: refusal)
        }
      }
      #expect(refusal == code, "\(owner)")
    }
    #expect(try AlertStore(file: file).load().webhooks.isEmpty)
  }
}
