import Bytes
import Foundation
import MarketData
import Testing
import Venues

@testable import Recordings

@Suite("Recordings of each venue's form")
struct ReplaySourceTests {
  private func withRecording(_ header: String, _ records: [String], _ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("tidegate-\(UUID().uuidString).ndjson").path
    try ([header] + records).joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  private func record(_ time: Int, _ message: String, http url: String? = nil) -> String {
    var out = ByteBuffer()
    out.append(json: message)
    guard let url else { return #"{"t":\#(time),"c":0,"k":"text","m":\#(out.description)}"# }
    return #"{"t":\#(time),"c":0,"k":"http","url":"\#(url)","status":200,"m":\#(out.description)}"#
  }

  @Test("Gemini: names are taken apart by recorded details, or by their quote currency; details answer by name")
  func gemini() throws {
    let header =
      #"{"recording":1,"venue":"gemini","market":"mixed","symbols":["ABCDUSD","BTCUSD","BTC-GUSD-PERP"],"channels":[],"started":1}"#
    func details(_ base: String, _ quote: String, _ kind: String) -> String {
      #"{"symbol":"\#(base)\#(quote)","base_currency":"\#(base)","quote_currency":"\#(quote)","tick_size":1E-8,"quote_increment":0.01,"status":"open","contract_type":"\#(kind)"}"#
    }
    let base = "https://api.gemini.com/v1/symbols"
    let records = [
      record(1, #"["abcdusd","btcusd","btcgusdperp"]"#, http: base),
      record(2, details("ABC", "DUSD", "vanilla"), http: base + "/details/abcdusd"),
      record(3, details("BTC", "GUSD", "linear"), http: base + "/details/btcgusdperp"),
      record(
        4,
        #"{"e":"depthUpdate","E":1789456740173524809,"s":"btcusd","U":7,"u":7,"b":[["80688.10","0.5"]],"a":[["80691.53","0.2"]]}"#
      ),
      record(
        5,
        #"{"e":"depthUpdate","E":1789456740173524809,"s":"btcgusdperp","U":8,"u":8,"b":[["80688.1","0.5"]],"a":[]}"#),
      record(
        6, #"{"e":"depthUpdate","E":1789456740273524809,"s":"btcusd","U":7,"u":9,"b":[],"a":[["80691.53","0.000"]]}"#),
      record(7, #"{"E":1789456740373524809,"s":"btcusd","t":5,"p":"80691.53000","q":"0.2","m":false}"#),
    ]
    try withRecording(header, records) { path in
      let source = try ReplaySource(path: path)
      #expect(source.symbols == ["ABC-DUSD", "BTC-USD", "BTC-GUSD-PERP"])
      #expect(source.answer(to: "/v1/symbols/details/btcusd") == nil)
      let result = try Replayer(path: path).run()
      let bitcoin = try #require(result.symbols.first { $0.name == "btcusd" })
      #expect(bitcoin.counts.snapshots == 1 && bitcoin.counts.sequenceOK == 1 && bitcoin.counts.trades == 1)
      #expect(bitcoin.isLiveAtEnd && bitcoin.bidLevels == 1 && bitcoin.askLevels == 0)
      #expect(bitcoin.lastTradePrice == "80691.53")
      let perpetual = try #require(result.symbols.first { $0.name == "btcgusdperp" })
      #expect(perpetual.isLiveAtEnd, "its details were recorded")
      #expect(result.failed.isEmpty)
    }
  }

  @Test("what Gemini has archived is not replayed, and told as such")
  func geminiArchived() throws {
    let header = #"{"recording":1,"venue":"gemini","market":"spot","symbols":["BTCUSD"],"channels":[],"started":1}"#
    let old = #"{"type":"l2_updates","symbol":"BTCUSD","changes":[["buy","9122.04","0.00121425"]]}"#
    try withRecording(header, [record(1, old)]) { path in
      var thrown: RecordingError?
      do throws(RecordingError) { _ = try ReplaySource(path: path) } catch { thrown = error }
      #expect(thrown?.description.contains("not its archived API") == true)
    }
  }

  @Test("Coinbase Advanced Trade: without a list, one is made from the header")
  func coinbaseAdvanced() throws {
    let header =
      #"{"recording":1,"venue":"coinbase-advanced","market":"spot","symbols":["BTC-USD"],"channels":[],"started":1}"#
    func book(_ type: String, _ number: Int, _ price: String, _ size: String) -> String {
      #"{"channel":"l2_data","timestamp":"2026-04-07T14:30:00Z","sequence_num":\#(number),"events":[{"type":"\#(type)","product_id":"BTC-USD","updates":[{"side":"offer","event_time":"1970-01-01T00:00:00Z","price_level":"\#(price)","new_quantity":"\#(size)"}]}]}"#
    }
    let records = [
      record(1_000_000, book("snapshot", 4, "80691.53", "0.20000001")),
      record(1_100_000, book("update", 5, "80691.54", "1")), record(1_200_000, book("update", 6, "80691.53", "0")),
    ]
    try withRecording(header, records) { path in
      let result = try Replayer(path: path).run()
      let symbol = try #require(result.symbols.first)
      #expect(symbol.name == "BTC-USD" && symbol.isLiveAtEnd)
      #expect(symbol.counts.sequenceOK == 2 && symbol.counts.gaps == 0)
      #expect(symbol.finalAsks.map { [$0.price, $0.size] } == [["80691.54", "1.00000000"]])
    }
  }
}
