import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

/// Recordings of Deribit and Hyperliquid.
@Suite("Recordings of Deribit and Hyperliquid replay")
struct ReplayContractsTests {
  private static func value(_ text: String) throws -> Decimal64 {
    try DecimalText.parse(Array(text.utf8).span.bytes)
  }

  @Test(
    "a recorded session of Hyperliquid, which has no list of markets, comes out",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func hyperliquid() throws {
    let folder = try #require(recordingsFolder)
    let name = "hyperliquid-perp-20250126-btc"
    let sums = try JSONSerialization.jsonObject(
      with: Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).expected.json")))
    let expected = try #require(sums as? [String: Any])
    let want = try #require((expected["symbols"] as? [String: [String: Any]])?["BTC"])
    let result = try Replayer(path: "\(folder)/\(name).ndjson.gz").run()
    #expect(result.failed.isEmpty && result.frames == 55)
    #expect(result.frameBytes == expected["frame_bytes"] as? Int)
    let got = try #require(result.symbols.first { $0.name == "BTC" })
    #expect(got.counts.snapshots == want["snapshots"] as? Int)
    // The expectation does not tell what the first message repeats from what is new.
    #expect(got.counts.trades + got.counts.backlogTrades == want["trades"] as? Int)
    #expect([got.bidLevels, got.askLevels] == want["levels"] as? [Int])
    #expect(got.isLiveAtEnd && !got.isCrossedAtEnd)
    for (levels, key) in [(got.finalBids, "final_bids"), (got.finalAsks, "final_asks")] {
      let texts = try #require(want[key] as? [[String]])
      #expect(
        try levels.map { [try Self.value($0.price), try Self.value($0.size)] }
          == texts.map { try $0.map(Self.value) }, "\(key)")
    }
    let last = try #require(want["last_trade_price"] as? String)
    #expect(try got.lastTradePrice.map(Self.value) == Self.value(last))
  }

  private func replay(_ lines: [String]) throws -> ReplayResult {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson")
      .path
    try lines.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try Replayer(path: path).run()
  }

  private func text(_ message: String, at time: Int) -> String {
    let escaped = message.replacing("\"", with: "\\\"")
    return #"{"t":\#(time),"c":0,"k":"text","m":"\#(escaped)"}"#
  }

  private func header(_ venue: String, _ symbol: String) -> String {
    #"{"recording":1,"venue":"\#(venue)","market":"mixed","symbols":["\#(symbol)"],"channels":[],"started":1790133840000000}"#
  }

  @Test("Deribit, by its names and as symbols were configured", arguments: ["BTC_USDC-PERPETUAL", "BTC-USDC-PERP"])
  func deribit(_ name: String) throws {
    let book =
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133840448,"type":"snapshot","change_id":5,"instrument_name":"BTC_USDC-PERPETUAL","bids":[["new",86775.8,0.216]],"asks":[["new",86776.0,9.0e-4]]}}}"#
    let change =
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133840548,"type":"change","change_id":9,"prev_change_id":5,"instrument_name":"BTC_USDC-PERPETUAL","bids":[["change",86775.8,1.0]],"asks":[]}}}"#
    let result = try replay([
      header("deribit", name), text(book, at: 1_790_133_840_448_000), text(change, at: 1_790_133_840_548_000),
    ])
    #expect(result.failed.isEmpty)
    let symbol = try #require(result.symbols.first)
    #expect(symbol.name == "BTC_USDC-PERPETUAL" && symbol.counts.sequenceOK == 1 && symbol.isLiveAtEnd)
    #expect(symbol.finalBids == [.init(price: "86775.8", size: "1.0000")])
  }

  @Test("dated futures need the list that says when they expire; options and inverse contracts are not supported")
  func refusals() throws {
    for (name, reason) in [
      ("BTC_USDC-25DEC26", "has no instrument list"), ("BTC-PERPETUAL", "not supported"),
      ("BTC-24JUN22-15000-C", "not supported"),
    ] {
      let error = #expect(throws: RecordingError.self) { try replay([header("deribit", name)]) }
      #expect(error.map { "\($0)".contains(reason) } == true, "\(name)")
    }
    let list =
      #"{"result":[{"instrument_name":"BTC_USDC-25DEC26","kind":"future","instrument_type":"linear","base_currency":"BTC","quote_currency":"USDC","settlement_period":"month","expiration_timestamp":1798185600000}]}"#
    let answer =
      #"{"t":1,"c":0,"k":"http","url":"https://www.deribit.com/api/v2/public/get_instruments?currency=any","status":200,"m":"\#(list.replacing("\"", with: "\\\""))"}"#
    for name in ["BTC_USDC-25DEC26", "BTC-USDC-20261225"] {
      let heartbeat = text(#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#, at: 2)
      let result = try replay([header("deribit", name), answer, heartbeat])
      #expect(result.failed.isEmpty && result.symbols.map(\.name) == ["BTC_USDC-25DEC26"])
    }
  }

  @Test("Hyperliquid's spot markets by the list in the stream; without it they cannot be named")
  func spot() throws {
    let list =
      #"{"channel":"post","data":{"id":7,"response":{"type":"info","payload":{"type":"spotMeta","data":{"tokens":[{"name":"USDC","szDecimals":8,"index":0},{"name":"HYPE","szDecimals":2,"index":150}],"universe":[{"tokens":[150,0],"name":"@107","index":107}]}}}}}"#
    let book =
      #"{"channel":"l2Book","data":{"coin":"@107","time":1790133840448,"levels":[[{"px":"34.967","sz":"2.85","n":1}],[]],"fast":true}}"#
    let lines = [header("hyperliquid", "HYPE/USDC"), text(list, at: 1_790_133_840_000_000)]
    let result = try replay(lines + [text(book, at: 1_790_133_840_448_000)])
    #expect(result.failed.isEmpty && result.symbols.map(\.name) == ["@107"])
    #expect(result.symbols.first?.isLiveAtEnd == true && result.symbols.first?.finalBids.map(\.size) == ["2.85"])
    let error = #expect(throws: RecordingError.self) { try replay([lines[0], text(book, at: 1_790_133_840_448_000)]) }
    #expect(error.map { "\($0)".contains("is a spot market") } == true)
  }
}
