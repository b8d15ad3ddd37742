import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

@Suite("Recordings are written and read")
struct RecordingTests {
  private func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz").path
  }

  private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let path = temporaryPath()
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  private let header = RecordingHeader(
    venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: ["matches"],
    started: Timestamp(microseconds: 1000),
    note: "a \"note\"")
  private let headerLine =
    #"{"recording":1,"venue":"coinbase","market":"spot","symbols":["BTC-USD"],"channels":[],"started":1}"#

  @Test("what is written is read back to the byte, control characters and long frames included")
  func roundTrip() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let writer = try RecordingWriter(path: path, header: header)
    let frames = [
      #"{"a":"b\\\"c"}"#, "tab\tline\nreturn\r\u{1}\u{1F}", "币安 🙂", "",
      String(repeating: #"["1.0","2.0"],"#, count: 100_000),
    ]
    try writer.open(url: "wss://x/y", connection: 0, at: Timestamp(microseconds: 1000))
    try writer.sent(#"{"type":"subscribe"}"#, connection: 0, at: Timestamp(microseconds: 1001))
    for frame in frames {
      try Array(frame.utf8).withUnsafeBytes { try writer.text($0, connection: 0, at: Timestamp(microseconds: 1002)) }
    }
    try Array("[]".utf8).withUnsafeBytes {
      try writer.http(url: "https://x/products", status: 200, body: $0, at: Timestamp(microseconds: 900))
    }
    try writer.close(connection: 0, at: Timestamp(microseconds: 1003))
    try writer.finish()
    #expect(writer.records == frames.count + 4)

    let reader = try RecordingReader(path: path)
    #expect(reader.header == header)
    #expect(try reader.next()?.url == "wss://x/y")
    #expect(try reader.next()?.kind == .sent)
    for frame in frames {
      #expect(try reader.next()?.kind == .text)
      #expect(reader.payload.description == frame)
    }
    let http = try #require(try reader.next())
    #expect(http.status == 200)
    // Time does not go back in a recording, whatever the clock did.
    #expect(http.time.microseconds == 1002)
    #expect(try reader.next()?.kind == .close)
    #expect(try reader.next() == nil)
  }

  @Test("plain files, unknown keys, empty lines and a last line without its break are accepted")
  func tolerance() throws {
    let text = headerLine + "\n\n" + #"{"t":5,"c":0,"k":"text","m":"A\u20ac\ud83d\ude42","n":"x","z":{"a":[1]}}"#
    try withFile(text) { path in
      let reader = try RecordingReader(path: path)
      #expect(try reader.next()?.time.microseconds == 5)
      #expect(reader.payload.description == "A€🙂")
      #expect(try reader.next() == nil)
    }
  }

  @Test(
    "what is wrong is named by file, line and field",
    arguments: [
      (#"{"t":5,"c":0,"k":"wave","m":""}"#, "line 2, field k"),
      (#"{"c":0,"k":"text","m":""}"#, "line 2, field t"),
      (#"{"t":5,"c":0,"k":"text"}"#, "line 2, field m"),
      (#"{"t":5,"c":0,"k":"text","m":"\q"}"#, "line 2, field m"),
      (#"{"t":5,"c":0,"k":"http","m":""}"#, "line 2, field status"),
      (#"{"t":5,"c":0,"k":"open"}"#, "line 2, field url"),
      (#"{"t":"x","c":0,"k":"close"}"#, "line 2, field t"),
      (#"{"t":-5,"c":0,"k":"close"}"#, "line 2, field t: -5 is not a time"),
      (#"{"t":9223372036854775807,"c":0,"k":"close"}"#, "line 2, field t"),
      (#"{"t":5,"c":0,"k":"close""#, "line 2"),
      (#"{"t":5,"c":0,"k":"close"}"# + "\n" + #"{"t":4,"c":0,"k":"close"}"#, "line 3, field t: goes back by 1 µs"),
    ])
  func errors(_ lines: String, _ index: String) throws {
    try withFile(headerLine + "\n" + lines + "\n") { path in
      let reader = try RecordingReader(path: path)
      var thrown: RecordingError?
      do throws(RecordingError) { while try reader.next() != nil {} } catch { thrown = error }
      #expect(thrown?.description.contains(index) == true, "\(thrown?.description ?? "nothing thrown")")
      #expect(thrown?.path == path)
    }
  }

  @Test(
    "a header that is none is refused",
    arguments: [
      "", "hello", "{}", #"{"recording":2,"venue":"x","market":"spot"}"#, #"{"recording":1,"market":"spot"}"#,
      #"{"recording":1,"venue":"x"}"#,
    ])
  func headers(_ text: String) throws {
    try withFile(text) { path in
      #expect(throws: RecordingError.self) { _ = try RecordingReader(path: path) }
    }
  }

  @Test(
    "a compressed file that was cut off anywhere reads up to its last whole record and says so", arguments: testSeeds(6)
  )
  func cutOff(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let writer = try RecordingWriter(path: path, header: header)
    try writer.flush()
    let headerBytes = writer.savedBytes
    for time in 0..<200 {
      let noise = (0..<Int.random(in: 0...400, using: &random)).map { _ in UInt8.random(in: 0x20...0x7A, using: &random)
      }
      try noise.withUnsafeBytes { try writer.text($0, connection: 0, at: Timestamp(microseconds: Int64(time))) }
      if Int.random(in: 0..<20, using: &random) == 0 { try writer.flush() }
    }
    try writer.finish()
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    var last = 0
    for _ in 0..<12 {
      let length = Int.random(in: headerBytes..<data.count, using: &random)
      // A file system may have left zeros where it had not written yet.
      let tail = Data(count: Bool.random(using: &random) ? 100 : 0)
      try (data.prefix(length) + tail).write(to: URL(fileURLWithPath: path))
      let reader = try RecordingReader(path: path)
      var next: Int64 = 0
      do throws(RecordingError) {
        while let record = try reader.next() {
          #expect(record.time.microseconds == next, "seed \(seed)")
          next += 1
        }
      } catch {
        // Zeros in the middle of a member are no deflate stream.
        #expect(!tail.isEmpty, "seed \(seed): \(error)")
        continue
      }
      #expect(next < 200, "seed \(seed)")
      last = max(last, Int(next))
    }
    #expect(last > 0, "seed \(seed)")
    try data.prefix(headerBytes / 2).write(to: URL(fileURLWithPath: path))
    #expect(throws: RecordingError.self) { _ = try RecordingReader(path: path) }
  }

  @Test("a plain file that was cut off reads up to its last whole record")
  func cutOffPlain() throws {
    let text = headerLine + "\n" + #"{"t":5,"c":0,"k":"text","m":"a"}"# + "\n" + #"{"t":6,"c":0,"k":"text","m":"b"#
    try withFile(text) { path in
      let reader = try RecordingReader(path: path)
      #expect(try reader.next()?.time.microseconds == 5)
      #expect(!reader.isCutOff)
      #expect(try reader.next() == nil)
      #expect(reader.isCutOff)
    }
  }

  @Test("a gap is written and read")
  func gap() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    var header = header
    header.part = .init(set: "coinbase-spot", run: 7, number: 3, follows: "x.ndjson.gz")
    let writer = try RecordingWriter(path: path, header: header)
    try writer.open(url: "wss://x", connection: 2, at: Timestamp(microseconds: 1), isRepeated: true)
    try writer.gap(records: 17, reason: "No \"space\"", connection: 2, at: Timestamp(microseconds: 2))
    try writer.finish()
    let reader = try RecordingReader(path: path)
    #expect(reader.header == header)
    let open = try #require(try reader.next())
    #expect(open.isRepeated && open.connection == 2)
    let gap = try #require(try reader.next())
    #expect(gap.kind == .gap && gap.lost == 17 && !gap.isRepeated)
    #expect(reader.payload.description == "No \"space\"")
  }

  @Test("a missing file is told as such")
  func missing() {
    #expect(throws: RecordingError.self) { _ = try RecordingReader(path: "/nowhere/at/all.gz") }
  }

  @Test("a venue that cannot be replayed is told what can be")
  func unsupported() throws {
    let text = #"{"recording":1,"venue":"bitmex","market":"perp","symbols":["XBTUSD"],"channels":[],"started":1}"#
    try withFile(text) { path in
      var thrown: RecordingError?
      do throws(RecordingError) { _ = try Replayer(path: path) } catch { thrown = error }
      #expect(thrown?.description.contains("bitmex perp cannot be replayed") == true)
      #expect(thrown?.description.contains("Coinbase") == true)
    }
  }

  @Test("a recording is replayed step by step, its instruments made from the header, and adds up")
  func replay() throws {
    func record(_ t: Int, _ message: String) -> String {
      var out = ByteBuffer()
      out.append(json: message)
      return #"{"t":\#(t),"c":0,"k":"text","m":\#(out.description)}"#
    }
    let lines = [
      headerLine, #"{"t":1000000,"c":0,"k":"open","url":"wss://ws-feed.exchange.coinbase.com"}"#,
      record(
        1_000_001,
        #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#),
      record(
        1_500_000,
        #"{"type":"match","trade_id":7,"side":"sell","size":"0.1","price":"80691.53","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z"}"#
      ),
      #"{"t":2000000,"c":0,"k":"close"}"#,
    ]
    try withFile(lines.joined(separator: "\n")) { path in
      let replayer = try Replayer(path: path)
      #expect(replayer.nextTime?.microseconds == 1_000_000)
      try replayer.step()
      let played = try replayer.step()
      #expect(played)
      #expect(replayer.pipeline.market.instruments.map(\.instrument.symbol) == ["coinbase:BTC-USD"])
      #expect(replayer.pipeline.market.instruments[0].bookState == .live)
      let result = try replayer.run()
      #expect(replayer.nextTime == nil)
      #expect(replayer.pipeline.market.instruments[0].bookState == .syncing(.disconnected))
      #expect(result.symbols[0].lastTradePrice == "80691.53")
      #expect(result.symbols[0].counts.trades == 1)
      var out = ByteBuffer()
      result.append(to: &out)
      let json = try JSONSerialization.jsonObject(with: Data(out.description.utf8)) as? [String: Any]
      #expect((json?["totals"] as? [String: Any])?["trades"] as? Int == 1)
      #expect(json?["seconds"] as? Double == 1)
      #expect((json?["records"] as? [String: Int]) == ["open": 1, "text": 2, "close": 1])
    }
  }
}
