import Foundation
import GRDB
import HTTP1
import History
import Logging
import Settings
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Gateway

/// A data file that another program, a broken disk or a later version wrote, under a whole gateway: any number in any
/// column, number of a text, or word of a blob. `TIDEGATE_EXTREMES=all` tries all of them, else the seed picks.
@Suite("A gateway with any number in its data file", .serialized, .realTime)
struct StoredExtremesTests {
  private static let isWhole = environment("TIDEGATE_EXTREMES") == "all"

  private struct Column {
    var table: String
    var name: String
    var type: String
  }

  private let folder = NSTemporaryDirectory() + "tidegate-extremes-" + UUID().uuidString
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  // MARK: Running

  /// Nil where the file is refused.
  private func gateway(_ folder: String) throws -> GatewayHarness? {
    let keeper: HistoryKeeper
    do throws(DataFileError) {
      keeper = try HistoryKeeper(directory: folder, isSimulated: false, retention: Retention(), log: log)
    } catch {
      #expect(!error.description.isEmpty)
      return nil
    }
    return try GatewayHarness(venues: ["kraken"], rate: 50, loops: 1, history: keeper) { configuration in
      configuration.data.directory = folder
      configuration.webhookNetworks = [IPNetwork("127.0.0.0/8")!]
    }
  }

  private func send(
    _ method: String, _ target: String, _ body: String, to harness: GatewayHarness
  ) async throws -> Answer {
    // Documents are published on the internal port.
    let address = target.hasPrefix("/v1/topics") ? harness.gateway.internalAddress : harness.gateway.address
    return try await HTTPProbe.send(
      method, target, to: address, fields: [HTTPField("Content-Type", "application/json")],
      body: Array(body.utf8), loop: harness.clientLoop)
  }

  /// What a run writes into an empty file: something in every table that is read at a start.
  private func fill() async throws {
    let harness = try #require(try gateway(folder + "/whole"))
    try await harness.waitUntilLive()
    for condition in [
      #"{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"1"}"#, #"{"type":"alarm","at":1}"#,
      #"{"type":"countdown","for_s":600}"#,
      #"{"type":"change","symbol":"kraken:BTC-USD","is":"above","percent":"0.01","window_min":1}"#,
    ] {
      let rule = #"{"name":"a","rule":{"condition":\#(condition)}}"#
      #expect(try await send("POST", "/v1/alerts", rule, to: harness).status == 201)
    }
    let webhook = try await send("POST", "/v1/webhooks", #"{"url":"https://127.0.0.1:9/x"}"#, to: harness)
    #expect(webhook.status == 201, "\(webhook.text)")
    let portfolio =
      #"{"name":"p","currency":"USD","positions":[{"symbol":"kraken:BTC-USD","side":"long","size":"1","#
      + #""leverage":"2","entry":"3"}]}"#
    let id = try #require(try await send("POST", "/v1/portfolios", portfolio, to: harness).json["id"] as? String)
    for asset in ["BTC", "USD"] {
      let transaction = #"{"kind":"deposit","asset":"\#(asset)","quantity":"2.5","price":"1","fee":"0.1"}"#
      let path = "/v1/portfolios/\(id)/transactions"
      #expect(try await send("POST", path, transaction, to: harness).status == 201)
    }
    for number in 1...3 {
      #expect(try await send("POST", "/v1/topics/news", "{\"n\":\(number)}", to: harness).status == 201)
    }
    let probe = try await harness.probe()
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]}]}"#)
    try await probe.first("a trade") { $0.type == "update" && $0["channel"] as? String == "trades" }
    await harness.stop()
  }

  /// All routes that read what was stored, and one writer of each kind.
  private func use(_ harness: GatewayHarness, _ location: String) async throws {
    try await harness.waitUntilLive()
    for path in [
      "/v1/alerts", "/v1/webhooks", "/v1/portfolios", "/v1/portfolios/1", "/v1/portfolios/1/value",
      "/v1/portfolios/1/curve", "/v1/portfolios/1/transactions", "/v1/topics", "/v1/topics/news?after=0",
      "/v1/candles/kraken:BTC-USD?interval=1m", "/v1/trades/kraken:BTC-USD", "/v1/tickers/kraken:BTC-USD",
      "/v1/sparklines/kraken:BTC-USD", "/v1/instruments", "/v1/assets",
    ] {
      let answer = try await harness.get(path)
      #expect(answer.status < 500 || answer.status == 503, "\(location): \(path): \(answer.status)")
    }
    let rule = #"{"name":"b","rule":{"condition":{"type":"countdown","for_s":1}}}"#
    let deposit = #"{"kind":"deposit","asset":"BTC","quantity":"1"}"#
    for (path, body) in [
      ("/v1/alerts", rule), ("/v1/portfolios/1/transactions", deposit), ("/v1/topics/news", "{}"),
      ("/v1/portfolios", #"{"name":"q","currency":"USD"}"#), ("/v1/webhooks", #"{"url":"https://127.0.0.1:9/y"}"#),
    ] {
      let answer = try await send("POST", path, body, to: harness)
      #expect(answer.status < 500 || answer.status == 503, "\(location): \(path): \(answer.status)")
    }
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]},{"channel":"alerts"},"#
        + #"{"channel":"candles","symbols":["kraken:BTC-USD"]},{"channel":"portfolio","portfolio":"1"}]}"#)
    try await probe.first("an answer, \(location)") { $0.id == 1 }
  }

  // MARK: Damage

  /// Every column of every table with rows, as the file itself says.
  private static func columns(_ db: Database) throws -> [Column] {
    try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%' ORDER BY name"
    ).flatMap { table in
      guard try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 > 0 else { return [Column]() }
      return try Row.fetchAll(db, sql: "PRAGMA table_info(\(table))").map {
        Column(table: table, name: $0["name"], type: $0["type"])
      }
    }
  }

  /// What may stand in a column in place of a value.
  private func damages(_ value: DatabaseValue, _ type: String) -> [DatabaseValue] {
    let integers = NumericExtremes.integers.map(\.databaseValue)
    switch value.storage {
    case .int64 where type == "ANY", .double:
      return integers + ["", "1e400", String(repeating: "9", count: 400)].map(\.databaseValue)
        + [Double.infinity.databaseValue, (-1e300).databaseValue, Data([1]).databaseValue]
    case .int64: return integers
    case .null: return type == "INTEGER" || type == "ANY" ? integers : []
    case .string(let text):
      let bytes = Array(text.utf8)
      return NumericExtremes.numbers(in: bytes).flatMap { number in
        NumericExtremes.texts.map {
          String(decoding: NumericExtremes.replacing(number, of: bytes, by: $0), as: UTF8.self).databaseValue
        }
      } + [String(text.dropLast(text.count / 2)).databaseValue, "".databaseValue, "\u{0}".databaseValue]
    case .blob(let data):
      let words = stride(from: 0, to: max(1, min(data.count, 512) - 7), by: 8).flatMap { location in
        [Int64.min, -1, .max].map { number in
          var copy = data
          let end = min(data.count, location + 8)
          copy.replaceSubrange(location..<end, with: withUnsafeBytes(of: number) { Array($0.prefix(end - location)) })
          return copy
        }
      }
      return (words + [data.prefix(data.count / 2), Data(), data + Data([0x80])]).map(\.databaseValue)
    }
  }

  private func open(_ folder: String) throws -> DatabaseQueue {
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".sqlite") })
    return try DatabaseQueue(path: folder + "/" + name)
  }

  @Test("starts, answers and goes on, or says why not", arguments: testSeeds(1))
  func start(seed: UInt64) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await fill()
    let source = try open(folder + "/whole")
    let columns = try await source.read { try Self.columns($0) }
    #expect(Set(columns.map(\.table)).count > 12 && columns.count > 80, "\(Set(columns.map(\.table)).sorted())")
    var random = SeededGenerator(seed: seed)
    var rounds: [[(Column, DatabaseValue)]] = []
    for column in columns {
      let values = try await source.read {
        try DatabaseValue.fetchAll($0, sql: "SELECT DISTINCT \(column.name) FROM \(column.table) LIMIT 4")
      }
      let all = values.flatMap { damages($0, column.type) }.shuffled(using: &random)
      for (round, damage) in all.prefix(Self.isWhole ? .max : 3).enumerated() {
        // One column of each table at a time, so that what is read after it is as it was.
        let location = (round..<rounds.count).first { location in
          !rounds[location].contains { $0.0.table == column.table }
        }
        if let location { rounds[location].append((column, damage)) } else { rounds.append([(column, damage)]) }
      }
    }
    try source.close()
    var refused = 0
    for round in rounds.shuffled(using: &random).prefix(Self.isWhole ? .max : 40) {
      let changes = round.map { "\($0.0.table).\($0.0.name)=\($0.1)".prefix(200) }.joined(separator: " ")
      let location = "TIDEGATE_SEED=\(seed): \(changes)"
      let copy = folder + "/copy"
      try? FileManager.default.removeItem(atPath: copy)
      try FileManager.default.copyItem(atPath: folder + "/whole", toPath: copy)
      let file = try open(copy)
      try await file.write { db in
        for (column, value) in round {
          // What the column does not take stays as it was.
          try? db.execute(sql: "UPDATE OR IGNORE \(column.table) SET \(column.name) = ?", arguments: [value])
        }
      }
      try file.close()
      guard let harness = try gateway(copy) else {
        refused += 1
        continue
      }
      try await use(harness, location)
      await harness.stop()
    }
    #expect(refused * 4 < rounds.count, "\(refused) of \(rounds.count) files were refused")
  }
}
