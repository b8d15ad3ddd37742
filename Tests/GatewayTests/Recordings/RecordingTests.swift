import Bytes
import Foundation
import MarketData
import Testing
import Venues

@testable import Gateway

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
      (#"{"t":-5,"c":0,"k":"close"}"#, "line 2, field t: -5 is no time"),
      (#"{"t":9223372036854775807,"c":0,"k":"close"}"#, "line 2, field t"),
      (#"{"t":5,"c":0,"k":"close""#, "line 2"),
      (#"{"t":5,"c":0,"k":"close"}"# + "\n" + #"{"t":4,"c":0,"k":"close"}"#, "line 3, field t"),
    ])
  func errors(_ lines: String, _ place: String) throws {
    try withFile(headerLine + "\n" + lines) { path in
      let reader = try RecordingReader(path: path)
      var thrown: RecordingError?
      do throws(RecordingError) { while try reader.next() != nil {} } catch { thrown = error }
      #expect(thrown?.description.contains(place) == true, "\(thrown?.description ?? "nothing thrown")")
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

  @Test("a compressed file that was cut off says so")
  func cutOff() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let writer = try RecordingWriter(path: path, header: header)
    var text = ""
    for index in 0..<20_000 { text += "\(index &* 7919) " }
    try Array(text.utf8).withUnsafeBytes { try writer.text($0, connection: 0, at: Timestamp(microseconds: 5)) }
    try writer.finish()
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    try data.prefix(data.count / 2).write(to: URL(fileURLWithPath: path))
    var thrown: RecordingError?
    do throws(RecordingError) {
      let reader = try RecordingReader(path: path)
      while try reader.next() != nil {}
    } catch {
      thrown = error
    }
    #expect(thrown?.reason.contains("ends too early") == true)
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
