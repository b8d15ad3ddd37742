import Alerts
import Bytes
import GRDB
import MarketData
import Portfolio
import TestSupport
import TestTraits
import Testing

@testable import History

/// A file that another program, a broken disk or a later version wrote: each number in it may be any.
@Suite("A store with any number in any column", .longComputation)
struct StoreExtremesTests {
  private static let now = StoreWorld.time(86_500)
  /// 1970 to 9999.
  private static let years = Timestamp(microseconds: 0)..<Timestamp(microseconds: 253_402_300_800_000_000)
  private static let symbol = StoreWorld.symbol("ZEC")
  /// Most conversions of a column fail at one of these, if at any; `TIDEGATE_EXTREMES=all` puts in all.
  private static let extremes: [Int64] =
    environment("TIDEGATE_EXTREMES") == "all"
    ? NumericExtremes.integers : [.min, -1, 0, Int64(UInt32.max) + 1, 253_402_300_800_000_000, .max]

  private let folder: TemporaryFolder
  private let file: DataFile

  init() async throws {
    folder = try TemporaryFolder()
    file = try DataFile(path: folder.file, parts: SchemaPart.all, stamp: "then")
    try fill()
    try await submit {
      TopicStore(file: file, kept: 10, bytes: 1 << 20).submit([Self.document], epoch: "e", completion: $0)
    }
    let names = StoredNames(time: Self.now, names: ["ZEC": "Zcash"])
    try await submit { AssetNameStore(file: file).submit(names, of: "kraken", completion: $0) }
  }

  private static let document = StoredDocument(
    topic: "risk", number: 7, time: now, text: SharedBytes(Array("{}".utf8)))

  private func submit(
    _ body: (@escaping @Sendable (Result<Void, DataFileError>) -> Void) -> Bool
  ) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      _ = body { continuation.resume(with: $0.mapError { $0 as any Error }) }
    }
  }

  /// At least one row in every table.
  private func fill() throws {
    let store = try HistoryStore(file: file, retention: Retention())
    try store.begin(now: StoreWorld.time(0))
    try store.write(.observed("ZEC", 0), now: StoreWorld.time(0))
    try store.write(.observed("ZEC", 300, false), now: StoreWorld.time(300))
    try store.write(.observed("ZEC", 600), now: StoreWorld.time(600))
    for second in [60, 120, 660, 960] {
      let minute = StoreWorld.candle(second, volume: Int128(Int64.max) * 4)
      try store.write(.minute("ZEC", minute), now: StoreWorld.time(second + 66))
    }
    try store.write(.observed("ZEC", 86_400), now: Self.now)
    var latest = HistoryBatch()
    let trade = LatestState.LastTrade(id: "7", price: 5, size: 6, isBuy: true, time: Self.now)
    latest.latest = [
      LatestState(
        symbol: Self.symbol, time: Self.now, priceScale: 2, sizeScale: 8, trade: trade, trades: [trade],
        minutes: [.init(candle: StoreWorld.candle(86_400), closeTime: Self.now)])
    ]
    try store.write(latest, now: Self.now)
    let message = StoredStreams.Message(prev: 40, seq: 41, events: 2, time: Self.now, bytes: SharedBytes([0x81, 0]))
    try store.keepStreams(
      StoredStreams(
        epoch: "k7", highest: 1 << 40, loops: 2,
        streams: [
          .init(
            number: 4, symbol: Self.symbol, interval: 0, seq: 41, last: .init(id: "7", time: Self.now),
            messages: [message])
        ], sessions: [.init(token: "s_1.0.0.1", subject: nil, isPaused: false, expires: Self.now)]), now: Self.now)
    try store.end(now: Self.now)
    try fillAlerts()
    try fillPortfolios()
  }

  private func fillAlerts() throws {
    let store = AlertStore(file: file)
    let owner = try store.owner(of: "key:a")
    let id = AlertID(rawValue: 3 << 32 | 2)
    var batch = AlertBatch(now: Self.now)
    let rule = AlertRule(
      .threshold(AlertThreshold(Self.symbol, .price, .above, Decimal64(mantissa: 7, scale: 1))))
    batch.rules = [StoredAlert(id: id, owner: owner, name: "a", rule: rule, progress: .init(), created: Self.now)]
    let firing = AlertFiring(
      alert: id, owner: owner, number: 1, time: Self.now, value: Decimal64(mantissa: 7, scale: 1))
    batch.firings = [StoredFiring(firing, symbol: Self.symbol)]
    batch.live = [Self.symbol]
    batch.keys = [StoredRequestKey(owner: owner, key: "k", digest: [1], alert: id, time: Self.now)]
    batch.webhooks.made = [StoredWebhook(id: 5, owner: owner, url: "https://a", secret: "s", created: Self.now)]
    var delivery = StoredDelivery(id: 6, webhook: 5, alert: id, number: 1, body: "{}", created: Self.now)
    delivery.dead = Self.now
    batch.webhooks.deliveries = [6: delivery]
    try store.write(batch)
  }

  private func fillPortfolios() throws {
    var batch = PortfolioBatch(now: Self.now)
    batch.heads = [
      StoredPortfolio(
        id: 4, owner: "key:a", name: "a", currency: "EUR", method: .fifo, nextNumber: 2, created: Self.now)
    ]
    let one = Decimal64(mantissa: 1, scale: 0)
    let transaction = PortfolioTransaction(.buy, "ZEC", quantity: one, price: one, time: Self.now)
    batch.entries = [(4, .init(number: 1, transaction: transaction))]
    batch.keys = [
      StoredPortfolioKey(owner: "key:a", key: "k", digest: [1], portfolio: 4, number: 1, time: Self.now)
    ]
    try PortfolioStore(file: file).write(batch)
  }

  // MARK: Reading

  /// Everything that a start reads, and what is then computed with it.
  private func startUp() throws {
    try startHistory()
    let alerts = try AlertStore(file: file).load()
    let moment = AlertMoment(steady: 1_000_000, wall: Self.now)
    let engine = AlertEngine(firstGeneration: alerts.nextGeneration, at: moment)
    for stored in alerts.alerts {
      try? engine.restore(stored.rule, stored.id, owner: stored.owner, stored.progress, at: moment)
      #expect(stored.revision < Self.roomy && stored.revision >= 0)
    }
    engine.finishRestoring()
    for (symbol, time) in alerts.liveUntil { engine.wasLive(engine.source(symbol), until: time, at: moment) }
    _ = try engine.insert(AlertRule(.clock(.countdown(seconds: 5))), owner: AlertOwner(rawValue: 9), at: moment)
    engine.advance(to: AlertMoment(steady: 90_000_000, wall: Self.now + 89_000_000))
    for firing in alerts.newest.values {
      var out = ByteBuffer()
      if let value = firing.value { out.append(value) }
      #expect(Self.years.contains(firing.time))
    }
    #expect(alerts.webhooks.allSatisfy { $0.id >= 0 && $0.id < Self.roomy })
    #expect(alerts.deliveries.allSatisfy { $0.id < Self.roomy && (0...1_000_000).contains($0.attempts) })
    #expect(alerts.nextWebhook < Self.roomy && alerts.nextDelivery < Self.roomy)
    let portfolios = try PortfolioStore(file: file).load()
    #expect(portfolios.nextID < Self.roomy)
    for portfolio in portfolios.portfolios {
      _ = try? PortfolioLedger(currency: "EUR", method: .fifo, portfolio.entries.lazy.map(\.transaction))
      #expect(portfolio.id < Self.roomy && portfolio.nextNumber < Self.roomy && portfolio.revision < Self.roomy)
      #expect(portfolio.entries.allSatisfy { Self.years.contains($0.transaction.time) })
    }
    let topics = try TopicStore(file: file, kept: 10, bytes: 1 << 20).load(epoch: "e").documents
    #expect(topics.allSatisfy { $0.number < UInt64(Self.roomy) && Self.years.contains($0.time) })
    #expect(try AssetNameStore(file: file).load().values.allSatisfy { Self.years.contains($0.time) })
  }

  /// Above every number that is counted up from.
  private static let roomy: Int64 = 1 << 62 + 1

  private func startHistory() throws {
    let store = try HistoryStore(file: file, retention: Retention())
    try store.begin(now: Self.now + 60_000_000)
    let streams = try store.takeStreams(now: Self.now + 60_000_000)
    #expect(streams?.streams.allSatisfy { $0.seq < UInt64(Self.roomy) } ?? true)
    for kept in try store.kept() { #expect(Self.years.contains(kept.first)) }
    for symbol in store.symbols.sorted() {
      guard let instrument = try store.instrument(symbol) else { continue }
      #expect(instrument.priceScale <= 18 && instrument.sizeScale <= 18)
      let restored = try store.restore(symbol, now: Self.now)
      for range in restored?.ranges.values.map(\.candles) ?? [] {
        for candle in range {
          _ = HistoryText.line(symbol, .minute, candle, .csv)
          _ = candle.rescaled(priceScale: 18, sizeScale: 18)
        }
      }
      for interval in CandleInterval.allCases {
        let request = ChartPage.Request(interval: interval, from: StoreWorld.time(0), to: Self.now, limit: 20)
        _ = try store.page(request, of: symbol, instrument, rings: [], now: Self.now)
      }
      _ = try store.missing(symbol, .minute, in: StoreWorld.time(0)..<Self.now)
    }
    try store.write(.observed("ZEC", 86_700), now: Self.now + 90_000_000)
    try store.write(.minute("ZEC", StoreWorld.candle(86_640)), now: Self.now + 7_200_000_000)
    try store.end(now: Self.now + 7_300_000_000)
    _ = try store.inconsistencies()
  }

  // MARK: Columns

  private struct Column {
    var table: String
    var name: String
  }

  /// Every column that holds integers, as the file itself says.
  private func columns() throws -> [Column] {
    try file.read { db in
      try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%' ORDER BY name"
      ).flatMap { table in
        try Row.fetchAll(db, sql: "PRAGMA table_info(\(table))").compactMap { row in
          ["INTEGER", "ANY"].contains(row["type"] as String) ? Column(table: table, name: row["name"]) : nil
        }
      }
    }
  }

  @Test("a start reads it, and goes on")
  func start() async throws {
    try startUp()
    let columns = try columns()
    #expect(columns.count > 90)
    let tables = Set(columns.map(\.table)).sorted()
    // What the runs of this test write is taken back after each, by hand: a run spans several transactions.
    let rows = try file.read { db in
      try Dictionary(uniqueKeysWithValues: tables.map { ($0, try Row.fetchAll(db, sql: "SELECT * FROM \($0)")) })
    }
    for column in columns {
      for extreme in Self.extremes {
        try file.write { db in
          for (table, rows) in rows {
            try db.execute(sql: "DELETE FROM \(table)")
            for row in rows {
              let marks = row.columnNames.map { _ in "?" }.joined(separator: ",")
              try db.execute(
                sql: "INSERT INTO \(table) (\(row.columnNames.joined(separator: ","))) VALUES (\(marks))",
                arguments: StatementArguments(row.databaseValues))
            }
          }
          try db.execute(
            sql: "UPDATE OR IGNORE \(column.table) SET \(column.name) = ?",
            arguments: [extreme])
        }
        do {
          try startUp()
        } catch {
          Issue.record("\(column.table).\(column.name) = \(extreme): \(error)")
        }
      }
    }
  }
}
