import Bytes
import Testing

@testable import MarketData

@Suite("Trades that a venue sends again")
struct CountedTradesTests {
  private static let minute = Timestamp(microseconds: 1_700_000_040_000_000)

  /// A market, and what it published.
  private struct Scene: ~Copyable {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    let id = InstrumentID(0)
    var changes = MarketChanges()
    var published: [String] = []

    init() {
      var batch = EventBatch()
      batch.append(
        instrument: Instrument(
          id: id, venue: "test", venueSymbol: "I", base: "B", quote: "USD", priceScale: 2, sizeScale: 4))
      market.apply(batch, now: CountedTradesTests.minute, into: &changes)
    }

    /// Trades by id and second of the minute.
    mutating func trade(_ trades: [(String, Int64)], isBacklog: Bool = false, at second: Int64) {
      var batch = EventBatch()
      for (id, time) in trades {
        batch.events.append(
          .trade(
            Trade(
              instrument: self.id, id: TradeID(Array(id.utf8).span.bytes), price: 100, size: 1, side: .buy,
              time: CountedTradesTests.minute + time * Microseconds.second, isBacklog: isBacklog)))
      }
      changes.removeAll()
      market.apply(batch, now: CountedTradesTests.minute + second * Microseconds.second, into: &changes)
      published += changes.trades.map(\.id.text)
    }

    mutating func lose() { market.disconnect(into: &changes) }

    func count(at second: Int64) -> Int64? {
      market[id].openCandle(.minute, now: CountedTradesTests.minute + second * Microseconds.second)?.trades
    }
  }

  @Test("count once, whatever of them had come and in whatever pieces they come again")
  func again() {
    var scene = Scene()
    scene.trade([("a", 1), ("b", 2), ("c", 2)], isBacklog: true, at: 3)
    scene.trade([("d", 4), ("e", 5), ("f", 5)], at: 5)
    #expect(scene.count(at: 5) == 6)
    scene.lose()
    // `g` and `h` were traded meanwhile, `g` at the time of the last that came.
    scene.trade([("b", 2), ("c", 2), ("d", 4), ("e", 5), ("f", 5), ("g", 5), ("h", 6)], isBacklog: true, at: 7)
    #expect(scene.count(at: 7) == 8)
    scene.lose()
    scene.trade([("h", 6)], isBacklog: true, at: 8)
    scene.trade([("i", 9)], at: 9)
    #expect(scene.count(at: 9) == 9 && scene.market.repeatedTrades == 6)
    #expect(scene.published == ["d", "e", "f", "i"])
  }

  @Test("are not published again although they are not marked as old, and late trades are none of them")
  func live() {
    var scene = Scene()
    scene.trade([("a", 1), ("b", 3)], at: 3)
    // Late, and the same id and time as another connection's: nothing was lost, so it may be another trade.
    scene.trade([("c", 2), ("b", 3)], at: 3)
    #expect(scene.published == ["a", "b", "c", "b"])
    scene.lose()
    scene.trade([("b", 3), ("d", 3)], at: 5)
    scene.trade([("e", 6), ("e", 6)], at: 6)
    #expect(scene.published.suffix(3) == ["d", "e", "e"] && scene.market.repeatedTrades == 1)
  }

  @Test("count once where a restored candle has them, and the trades of a minute that was not restored count")
  func restored() {
    var scene = Scene()
    let candle = Candle(
      instrument: scene.id, interval: .minute, time: Self.minute + -Microseconds.minute, open: 100, high: 100, low: 100,
      close: 100, volume: 40, quoteVolume: 4_000, trades: 40, source: .own, isClosed: true)
    _ = scene.market.restore([candle], of: scene.id, now: Self.minute, into: &scene.changes)
    scene.trade([("a", -90), ("b", -20), ("c", -10), ("d", 1)], isBacklog: true, at: 2)
    let candles = scene.market[scene.id].candles(
      .minute, from: .distantPast, to: .distantFuture, limit: 5, now: Self.minute + 2 * Microseconds.second)
    #expect(candles.compactMap(\.trades).suffix(2) == [40, 1])
  }
}
