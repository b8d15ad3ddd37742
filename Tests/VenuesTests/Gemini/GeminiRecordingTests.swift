import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Recordings of the API that Gemini has archived (`/v2/marketdata`). No feed reads it any more, so its shapes are read
/// here; the books are the house's own.
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
    let recording = try Recording(name)
    for record in recording.texts {
      try Self.read(Array(record.text.utf8), into: &tallies)
    }
    let expected = try recording.expected()
    #expect(expected.count == 10)
    for (symbol, want) in expected {
      let got = try #require(tallies[symbol])
      #expect(got.deltas == want.deltas && got.snapshots == want.snapshots, "\(symbol)")
      #expect(got.trades == want.trades && got.backlog == want.backlog_trades, "\(symbol)")
      #expect(got.book.unknownDeletes == want.unknown_deletes ?? 0, "\(symbol)")
      #expect(got.lastPrice == want.last_trade_price ?? "", "\(symbol)")
      #expect(!got.book.isCrossed)
      try want.check(got.book, priceScale: Self.scale, sizeScale: Self.scale, symbol)
    }
  }

  @Test(
    "recorded details of symbols are read, steps with exponents too",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func details() throws {
    var count = 0
    var closed: [String] = []
    for record in try Recording("gemini-spot-20210624-book10").answers {
      let body = Array(record.text.utf8)
      if record.url.hasSuffix("/v1/symbols") {
        #expect(try Gemini.listing.read(body.span.bytes).names.contains("zecltc"))
        continue
      }
      let name = String(try #require(record.url.split(separator: "/").last))
      let listed = ListedMarket(venueSymbol: name, symbol: try #require(GeminiName.symbol(name)))
      switch try Gemini.readDetails(body.span.bytes, listed) {
      case .market(let market):
        #expect(market.priceIncrement.map { $0.mantissa > 0 } == true, "\(name)")
        #expect(market.sizeIncrement.map { $0.mantissa > 0 && $0.scale > 0 } == true, "\(name)")
        count += 1
      case .refused(let reason): closed.append(reason)
      }
    }
    #expect(count == 67)
    // The name alone says less than the details do.
    #expect(closed.filter { $0.hasSuffix("is closed at Gemini") }.count == 3)
    #expect(closed.contains("Gemini's paxgusd is PAXG-USD, not PAX-GUSD"))
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
