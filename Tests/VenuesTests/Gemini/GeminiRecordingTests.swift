import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Recordings of the API that Gemini has archived (`/v2/marketdata`). No feed reads it any more, so its shapes are read here; the books are
/// the house's own.
@Suite("Gemini's archived protocol")
struct GeminiRecordingTests {
  private struct Tally {
    var book = OrderBook()
    var deltas = 0
    var snapshots = 0
    var trades = 0
    var backlog = 0
    var lastPrice = ""
    var texts: [Int64: String] = [:]
  }

  private static let scale: UInt8 = 10

  @Test(
    "every count, level and price of a recording comes out",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["gemini-spot-20210417-book10", "gemini-spot-20210624-book10"])
  func replays(_ name: String) throws {
    var tallies: [String: Tally] = [:]
    for record in try RecordedFrame.all(of: name) where record.kind == "text" {
      try Self.read(Array(record.text.utf8), into: &tallies)
    }
    let expected = try RecordedFrame.expected(of: name)
    #expect(expected.count == 10)
    for (symbol, want) in expected {
      let got = try #require(tallies[symbol])
      #expect(got.deltas == want["deltas"] as? Int && got.snapshots == want["snapshots"] as? Int, "\(symbol)")
      #expect(got.trades == want["trades"] as? Int && got.backlog == want["backlog_trades"] as? Int, "\(symbol)")
      #expect(got.book.unknownDeletes == want["unknown_deletes"] as? Int ?? 0, "\(symbol)")
      #expect([got.book.bids.count, got.book.asks.count] == want["levels"] as? [Int], "\(symbol)")
      #expect(got.lastPrice == want["last_trade_price"] as? String ?? "", "\(symbol)")
      #expect(!got.book.isCrossed)
      for (side, levels) in [("final_bids", got.book.bids), ("final_asks", got.book.asks)] {
        let best = try #require(want[side] as? [[String]])
        let values = try best.map { PriceLevel(price: try Self.value($0[0]), size: try Self.value($0[1])) }
        #expect(values == levels.suffix(best.count).reversed(), "\(symbol) \(side)")
      }
    }
  }

  @Test(
    "recorded details of symbols are read, steps with exponents too",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func details() throws {
    let handler = GeminiHandler(configuration: FeedConfiguration(symbols: []))
    var count = 0
    for record in try RecordedFrame.all(of: "gemini-spot-20210624-book10") where record.kind == "http" {
      let body = Array(record.text.utf8)
      if record.url.hasSuffix("/v1/symbols") {
        #expect(try handler.readNames(body.span.bytes).contains("zecltc"))
        continue
      }
      let details = try handler.readDetails(body.span.bytes)
      let name = try #require(record.url.split(separator: "/").last)
      #expect((details.base + details.quote).lowercased() == name)
      #expect(details.priceIncrement.map { $0.mantissa > 0 } == true, "\(name)")
      #expect(details.sizeIncrement.map { $0.mantissa > 0 && $0.scale > 0 } == true, "\(name)")
      count += 1
    }
    #expect(count == 71)
  }

  private static func value(_ text: String) throws -> Int64 {
    try DecimalText.parse(Array(text.utf8).span.bytes, scale: scale)
  }

  /// `l2_updates` with `trades` is the book, one without a change of it.
  private static func read(_ text: [UInt8], into tallies: inout [String: Tally]) throws {
    var json = JSONScanner(text.span.bytes)
    var kind = ""
    var symbol = ""
    var price = ""
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    var backlog: Int?
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        kind = try json.decoded(try json.string())
      } else if json.equals(key, "symbol") {
        symbol = try json.decoded(try json.string())
      } else if json.equals(key, "price") {
        price = try json.decoded(try json.string())
      } else if json.equals(key, "changes") {
        try json.arrayStart()
        while try json.nextElement() {
          try json.arrayStart()
          _ = try json.nextElement()
          let side = try json.string()
          let isBid = json.equals(side, "buy")
          #expect(isBid || json.equals(side, "sell"))
          _ = try json.nextElement()
          let price = try json.decimal(scale: scale)
          _ = try json.nextElement()
          let level = PriceLevel(price: price, size: try json.decimal(scale: scale))
          #expect(try !json.nextElement())
          if isBid { bids.append(level) } else { asks.append(level) }
        }
      } else if json.equals(key, "trades") {
        var count = 0
        try json.arrayStart()
        while try json.nextElement() {
          try json.skipValue()
          count += 1
        }
        backlog = count
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    var tally = tallies.removeValue(forKey: symbol) ?? Tally()
    switch kind {
    case "l2_updates":
      if let backlog {
        tally.snapshots += 1
        tally.backlog += backlog
        tally.book.replace(bids: bids[...], asks: asks[...])
      } else {
        tally.deltas += 1
        tally.book.update(bids: bids[...], asks: asks[...])
      }
    case "trade":
      tally.trades += 1
      tally.lastPrice = price
    case "heartbeat": return
    default: Issue.record("unknown type \(kind)")
    }
    tallies[symbol] = tally
  }
}
