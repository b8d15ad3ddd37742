import MarketData
import PubSub
import Testing

@testable import HTTPAPI

@Suite("Answers about markets")
struct MarketAnswerTests {
  private static func content(_ loop: Int) -> MarketAnswer.Item.Content {
    .market(
      loop: loop, MarketRoute(market: 0, instrument: InstrumentID(0)),
      DataState(venue: "kraken", state: .live, source: .live))
  }

  @Test("no turn makes more than its share, and every item is made once, on its own loop")
  func pieces() {
    let failed = MarketAnswer.Item.Content.failed(ProtocolError(.unknownSymbol, "x"))
    for (points, most) in [(2, 16), (96, 14), (288, 4), (1_440, 1)] {
      let cost = MarketView.snapshot(points: points).cost
      let contents = (0..<100).map { $0 % 10 == 9 ? failed : Self.content($0 % 3) }
      let pieces = MarketAnswer.pieces(contents, cost: cost)
      #expect(pieces.flatMap(\.indices).sorted() == (0..<100).filter { $0 % 10 != 9 })
      for piece in pieces {
        #expect(piece.indices.allSatisfy { $0 % 3 == piece.loop } && (1...most).contains(piece.indices.count))
        #expect(piece.indices.count * cost <= max(MarketAnswer.pieceCost, cost))
      }
    }
    #expect(MarketAnswer.pieces([failed], cost: 5).isEmpty)
  }

  @Test("what a client may ask for at once is bounded by what it costs to make")
  func bounds() {
    // 100 symbols with the usual line, and with three times as many points.
    #expect(100 * 96 <= MarketAnswer.pointLimit && 100 * 288 <= MarketAnswer.pointLimit)
    #expect(100 * 1_440 > MarketAnswer.pointLimit)
    // A request for one small part pays for itself alone.
    for view in [MarketView.ticker, .trades(limit: 50), .sparkline(points: 1_440), .book(depth: 100)] {
      #expect(view.cost / MarketAnswer.pieceCost == 0, "\(view)")
    }
    #expect(MarketView.book(depth: 0).cost == MarketView.book(depth: 5_000).cost)
  }
}

@Suite("Bodies that are kept")
struct ResponseCacheTests {
  @Test("both forms are found by tag; small and huge ones are not kept, and the oldest go first")
  func keeping() {
    var cache = ResponseCache()
    let body = [UInt8](repeating: 7, count: 1 << 20)
    cache.keep([1, 2, 3], as: "small")
    cache.keep([UInt8](repeating: 1, count: ResponseCache.byteLimit / 4 + 1), as: "huge")
    #expect(cache.count == 0 && cache.bytes == 0 && cache.body("small") == nil)
    cache.keep(compressed: [9], as: "unknown")
    #expect(cache.bytes == 0)
    for number in 0..<1_000 {
      cache.keep(body, as: "\(number)")
      cache.keep(compressed: [UInt8](repeating: 3, count: 1 << 18), as: "\(number)")
      #expect(cache.bytes <= ResponseCache.byteLimit)
      #expect(cache.body("\(number)") == body && cache.compressed("\(number)")?.count == 1 << 18)
    }
    #expect(cache.count == 6 && cache.body("0") == nil && cache.body("995") != nil)
    #expect(cache.bytes == 6 * (1 << 20 + 1 << 18))
  }
}
