import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

@Suite("Replays tell what went wrong, and go on with the rest")
struct ReplayReportTests {
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path + "/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private func write(_ lines: [String], _ path: String) throws {
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: false, encoding: .utf8)
  }

  private func replay(_ lines: [String]) throws -> ReplayResult {
    var result: ReplayResult?
    try withFolder { folder in
      try write(lines, folder + "a.ndjson")
      result = try ReplayRun(try ReplayPlan([folder + "a.ndjson"])).run().first
    }
    return try #require(result)
  }

  private func header(
    _ venue: String = "coinbase", _ symbols: String = #""BTC-USD""#, market: String = "spot"
  ) -> String {
    #"{"recording":1,"venue":"\#(venue)","market":"\#(market)","symbols":[\#(symbols)],"channels":[],"started":1}"#
  }

  private func text(_ message: String, _ time: Int) -> String {
    var out = ByteBuffer()
    out.append(json: message)
    return #"{"t":\#(time),"c":0,"k":"text","m":\#(out.description)}"#
  }

  private func snapshot(_ symbol: String = "BTC-USD", at time: Int) -> String {
    text(#"{"type":"snapshot","product_id":"\#(symbol)","asks":[["20.5","0.2"]],"bids":[["20.0","0.5"]]}"#, time)
  }

  private func update(_ price: String, at time: Int) -> String {
    text(
      #"{"type":"l2update","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z","changes":[["buy","\#(price)","1"]]}"#,
      time)
  }

  private func exitCode(
    _ results: ReplayResult..., skipped: [RecordingError] = [], isStrict: Bool = false
  )
    -> ReplayReport.ExitCode
  {
    ReplayReport(results, skipped: skipped).exitCode(isStrict: isStrict)
  }

  @Test("a recording that ends with its connection shows the books as they were before")
  func closed() throws {
    let close = #"{"t":30,"c":0,"k":"close"}"#
    let result = try replay([header(), snapshot(at: 10), update("20.1", at: 20), close])
    #expect(result.isClosedAtEnd && !result.isDead && result.isFlawless)
    let symbol = try #require(result.symbols.first)
    #expect(symbol.isLiveAtEnd && symbol.bidLevels == 2 && symbol.askLevels == 1 && symbol.outOfSyncBecause == nil)
    #expect(symbol.finalBids.map(\.price) == ["20.1", "20.0"] && symbol.resyncs.isEmpty)
    let report = ReplayReport([result], skipped: [])
    #expect(report.text.contains("the connection is closed at the end"))
    #expect(exitCode(result, isStrict: true) == .replayed)

    // Another connection that brings nothing is another matter.
    let again = try replay([
      header(), snapshot(at: 10), close, text(#"{"type":"subscriptions","channels":[]}"#, 40),
    ])
    #expect(!again.isClosedAtEnd && again.isDead)
    #expect(again.symbols.first?.outOfSyncBecause == "connection lost")
    #expect(again.symbols.first?.resyncs == [.disconnected: 1])
    #expect(exitCode(again) == .nothing)
  }

  @Test("why a book is out of sync is told, how often and for what cause it was")
  func causes() throws {
    let bad = text(#"{"type":"l2update","product_id":"BTC-USD","changes":"?"}"#, 30)
    let result = try replay([
      header("coinbase", #""BTC-USD","ETH-USD","LTC-USD""#), snapshot(at: 10),
      text(
        #"{"type":"l2update","product_id":"ETH-USD","time":"2026-08-25T03:35:57Z","changes":[["buy","1","1"]]}"#, 15),
      bad, snapshot(at: 40), bad.replacing("30", with: "50"),
      text(
        #"{"type":"match","trade_id":7,"side":"sell","size":"0.1","price":"20","product_id":"LTC-USD","time":"2026-08-25T03:35:57Z"}"#,
        60),
      text("no JSON", 70), text("no JSON", 80),
    ])
    let reasons = result.symbols.map { "\($0.name): \($0.outOfSyncBecause ?? "")" }
    #expect(reasons == ["BTC-USD: unreadable message", "ETH-USD: no snapshot came", "LTC-USD: no book came"])
    #expect(result.symbols[0].resyncs == [.malformed: 2] && result.symbols[1].resyncs.isEmpty)
    #expect(result.unreadable.reduce(0) { $0 + $1.count } == 4)
    #expect(result.unreadable.first { $0.kind == .json }?.count ?? 0 >= 2)
    #expect(result.isDead, "trades came, but every book is dead")
    let text = ReplayReport([result], skipped: []).text
    #expect(text.contains("out of sync: unreadable message") && text.contains("2 × unreadable message"))
    #expect(text.contains("4 rejected messages") && text.contains("NO BOOK IS IN SYNC"))
    #expect(exitCode(result) == .nothing)
  }

  @Test("a recording without a book has none in sync, whatever else it has")
  func trades() throws {
    let trade =
      #"{"type":"match","trade_id":7,"side":"sell","size":"0.1","price":"20","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z"}"#
    for isStrict in [false, true] {
      #expect(exitCode(try replay([header(), text(trade, 5)]), isStrict: isStrict) == .nothing)
    }
    #expect(exitCode(try replay([header(), #"{"t":5,"c":0,"k":"open","url":"wss://h"}"#])) == .nothing)
  }

  @Test("lines that cannot be read are left out and told; books are out of sync behind them until a snapshot")
  func badLines() throws {
    let garbage = [
      "garbage", "{}", #"{"t":1,"c":0,"k":"text","m":"back in time"}"#, #"{"t":20,"c":0,"k":"odd"}"#, "\u{0}\u{1}",
    ]
    for line in garbage {
      let result = try replay([
        header(), snapshot(at: 10), line, update("20.1", at: 30), snapshot(at: 40), update("20.2", at: 50),
      ])
      #expect(result.badLines == 1 && result.firstBadLine?.line == 3 && result.lostRecords == 0, "\(line)")
      #expect(result.symbols[0].isLiveAtEnd && result.symbols[0].bidLevels == 2, "\(line)")
      #expect(result.symbols[0].resyncs == [.gap: 1] && result.stoppedBy == nil)
      #expect(exitCode(result) == .replayed && exitCode(result, isStrict: true) == .flawed)
    }
    let dead = try replay([header(), snapshot(at: 10), "garbage"])
    #expect(dead.symbols[0].outOfSyncBecause == "sequence gap" && exitCode(dead) == .nothing)
    let endless = try replay([header(), snapshot(at: 10)] + Array(repeating: "x", count: 10_001) + [snapshot(at: 20)])
    #expect(endless.badLines == 10_000 && endless.stoppedBy?.line == 10_003 && exitCode(endless) == .stopped)
  }

  @Test("damaged data end the recording with what was read before")
  func damaged() throws {
    try withFolder { folder in
      let path = folder + "a.ndjson.gz"
      let writer = try RecordingWriter(
        path: path,
        header: RecordingHeader(
          venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: Timestamp(microseconds: 1)))
      let message = #"{"type":"snapshot","product_id":"BTC-USD","asks":[["20.5","0.2"]],"bids":[["20.0","0.5"]]}"#
      try Array(message.utf8).withUnsafeBytes {
        try writer.text($0, connection: 0, at: Timestamp(microseconds: 5))
      }
      try writer.flush()
      try writer.finish()
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      // A member of which only the header is right.
      try (whole + Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])).write(
        to: URL(fileURLWithPath: path))
      let run = try ReplayRun(try ReplayPlan([path]))
      let result = try #require(try run.run().first)
      #expect(result.stoppedBy?.reason.contains("damaged gzip data") == true)
      #expect(result.symbols.first?.isLiveAtEnd == true && exitCode(result) == .stopped)
      // Longer than any line may be: the rest of it is not looked for.
      let long = folder + "b.ndjson"
      try write([header(), snapshot(at: 10), String(repeating: "x", count: 17 << 20), snapshot(at: 20)], long)
      let other = try #require(try ReplayRun(try ReplayPlan([long])).run().first)
      #expect(other.stoppedBy?.reason == "longer than 16 MiB" && other.symbols.first?.isLiveAtEnd == true)
    }
  }

  @Test("a foreign file is left out of a folder and told, a foreign market out of a file")
  func foreign() throws {
    try withFolder { folder in
      try write([header(), snapshot(at: 10)], folder + "a.ndjson")
      try write([header("bitmex", #""XBTUSD""#, market: "perp")], folder + "b.ndjson")
      try write(["# notes"], folder + "c.ndjson")
      try write([header("deribit", #""BTC-24JUN22-15000-C""#)], folder + "d.ndjson")
      _ = FileManager.default.createFile(atPath: folder + "e.ndjson.gz", contents: nil)
      for paths in [[folder], ["a", "b", "c", "d"].map { "\(folder)\($0).ndjson" } + [folder + "e.ndjson.gz"]] {
        let run = try ReplayRun(try ReplayPlan(paths))
        #expect(run.replayers.count == 1)
        let names = run.skipped.map { $0.path.dropFirst(folder.count) }.sorted()
        #expect(names == ["b.ndjson", "c.ndjson", "d.ndjson", "e.ndjson.gz"])
        let results = try run.run()
        let report = ReplayReport(results, skipped: run.skipped)
        #expect(report.exitCode(isStrict: false) == .replayed && report.exitCode(isStrict: true) == .flawed)
      }
      for name in ["b.ndjson", "c.ndjson", "d.ndjson"] {
        #expect(throws: RecordingError.self) { try ReplayRun(try ReplayPlan([folder + name])) }
      }
    }
    let pair = #"{"s":"XRPPAX","E":1,"e":"depthUpdate"}"#
    let option = try replay([header("okx", #""BTC-USD-220325-40000-C","BTC-USDT""#, market: "mixed"), text(pair, 5)])
    #expect(option.symbols.map(\.name) == ["BTC-USDT"] && option.failed.isEmpty)
    #expect(option.skipped["BTC-USD-220325-40000-C"]?.contains("options are not supported") == true)
    #expect(!option.isFlawless)
    let odd = try replay([header("binance", #""BTCUSDT","ODDODD""#), text(pair, 5)])
    #expect(odd.symbols.map(\.name).contains("BTCUSDT") && Array(odd.skipped.keys) == ["ODDODD"])
  }

  @Test("where a header names no market, the frames do")
  func unnamed() throws {
    let result = try replay([header("coinbase", "", market: "mixed"), snapshot("ETH-EUR", at: 10), snapshot(at: 20)])
    #expect(result.symbols.map(\.name) == ["BTC-USD", "ETH-EUR"] && result.symbols.allSatisfy(\.isLiveAtEnd))
    // Beside those of the header, as long as no list says what there is.
    let beside = try replay([header(), snapshot("ETH-EUR", at: 10), snapshot(at: 20)])
    #expect(beside.symbols.map(\.name) == ["BTC-USD", "ETH-EUR"])
    let list =
      #"{"t":1,"c":0,"k":"http","url":"https://api.exchange.coinbase.com/products","status":200,"m":"[{\"id\":\"BTC-USD\",\"base_currency\":\"BTC\",\"quote_currency\":\"USD\"}]"}"#
    let listed = try replay([header(), list, snapshot("ETH-EUR", at: 10), snapshot(at: 20)])
    #expect(listed.symbols.map(\.name) == ["BTC-USD"])
    #expect(listed.unreadable.map(\.kind) == [.unknownSymbol])
    let advanced =
      #"{"channel":"l2_data","client_id":"","timestamp":"2026-04-07T14:30:00Z","sequence_num":0,"events":[{"type":"snapshot","product_id":"BTC-USD","updates":[{"side":"offer","event_time":"1970-01-01T00:00:00Z","price_level":"20.5","new_quantity":"1"}]}]}"#
    let other = try replay([header("coinbase", "", market: "mixed"), text(advanced, 5)])
    #expect(other.symbols.first?.isLiveAtEnd == true, "frames tell which of Coinbase's protocols it is")
    #expect(throws: RecordingError.self) { try replay([header("coinbase", ""), text("[]", 5)]) }
  }

  @Test("numbers at their limits end nothing")
  func limits() throws {
    let most = Int64.max
    let gaps = (2...4).map { #"{"t":\#($0),"c":\#(most),"k":"gap","lost":\#(most)}"# }
    let result = try replay([header(), snapshot(at: 1)] + gaps + [#"{"t":9,"c":-1,"k":"gap","lost":-\#(most)}"#])
    #expect(result.lostRecords == 3 << 40)
    let parted = header().dropLast() + #","set":"x","run":1,"part":\#(most),"follows":"y"}"#
    try withFolder { folder in
      for name in ["a", "b"] { try write([String(parted), snapshot(at: 5)], folder + name + ".ndjson") }
      let result = try ReplayRun(try ReplayPlan([folder])).run()
      #expect(result.count == 1 && result[0].symbols[0].isLiveAtEnd)
    }
    let last: Int64 = 253_402_300_799_999_999
    let slow = try #require(ReplaySpeed("0.01x"))
    #expect(slow.wait(for: last) == 36_500 * Microseconds.day && slow.wait(for: 10) == 1_000)
    #expect(ReplaySpeed.recorded.wait(for: last) == 36_500 * Microseconds.day)
    #expect(UInt64(slow.wait(for: last)).multipliedReportingOverflow(by: 1_000).overflow == false)
  }

  @Test("answers that a recording repeats without end do not fill the memory")
  func answers() {
    let body = [UInt8](repeating: 0x20, count: 1 << 20)
    var begin = RecordingBegin(
      RecordedStart(market: "spot", names: []), isNamed: true,
      VenueRegistry.replays(venue: "gemini", market: "spot").map(\.replay))
    var record = RecordingReader.Record(
      kind: .http, time: Timestamp(microseconds: 1), connection: 0, url: nil, status: 200)
    body.withUnsafeBytes { body in
      for number in 0..<400 {
        record.url = "https://h/v1/symbols/details/\(number)"
        begin.note(record, body)
      }
    }
    #expect(begin.details.count == 128, "128 MB")
  }

  @Test("JSON is one document, whatever is reported")
  func json() throws {
    var good = try replay([header("coinbase", #""BTC-USD","odd""#), snapshot(at: 10), "garbage", text("?", 20)])
    good.stoppedBy = RecordingError(path: "a \"b\"", line: 3, "damaged")
    let report = ReplayReport(
      [good, try replay([header(), snapshot(at: 10)])],
      skipped: [RecordingError(path: "x", line: 1, field: "venue", "no")],
      published: (messages: 3, bytes: 5, digest: 0xAB))
    let object = try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any]
    let json = try #require(object)
    let recordings = try #require(json["recordings"] as? [[String: Any]])
    #expect(recordings.count == 2 && recordings[0]["bad_lines"] as? Int == 1)
    #expect((recordings[0]["skipped"] as? [String: String])?["odd"] != nil)
    #expect((recordings[0]["unreadable"] as? [String: Int])?["json"] == 1)
    #expect((recordings[0]["stopped"] as? String)?.contains("damaged") == true)
    let symbol = try #require((recordings[0]["symbols"] as? [String: [String: Any]])?["BTC-USD"])
    #expect(symbol["in_sync_at_end"] as? Bool == false && symbol["out_of_sync_because"] as? String == "sequence gap")
    #expect(symbol["resyncs"] as? [String: Int] == ["sequence gap": 1])
    #expect((json["skipped"] as? [[String: String]])?.first == ["file": "x", "reason": "line 1, field venue: no"])
    #expect((json["published"] as? [String: Any])?["digest"] as? String == "00000000000000ab")
  }

  @Test(
    "every recording is replayed or refused in words",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func recorded() throws {
    let folder = try #require(recordingsFolder)
    var replayed = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    where name.hasSuffix(".ndjson.gz") && !name.contains("20240808") {
      do throws(RecordingError) {
        let result = try Replayer(path: "\(folder)/\(name)").run()
        #expect(!result.symbols.isEmpty || !result.failed.isEmpty || !result.skipped.isEmpty, "\(name): an empty table")
        for symbol in result.symbols { #expect(symbol.isLiveAtEnd || symbol.outOfSyncBecause != nil, "\(name)") }
        replayed += 1
      } catch {
        #expect(error.reason.contains("can") || error.reason.contains("no frame"), "\(error.description)")
      }
    }
    #expect(replayed >= 35)
  }
}
