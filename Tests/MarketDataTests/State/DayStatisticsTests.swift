import Bytes
import MarketData
import TestSupport
import Testing

@Suite struct DayStatisticsTests {
  private let instrument = Instrument(
    id: .init(0), venue: "test", venueSymbol: "BTCUSD", base: "BTC", quote: "USD", priceScale: 2, sizeScale: 4)

  @Test("the gateway's own ticker has every figure, rounded once")
  func ticker() {
    var ring = BucketRing.day()
    var statistics = DayStatistics()
    let start: Int64 = 1_700_000_040_000_000
    ring.add(price: 10_000, size: 10_000, time: Timestamp(microseconds: start))
    ring.add(price: 10_300, size: 20_000, time: Timestamp(microseconds: start + Microseconds.hour))
    ring.add(price: 9_933, size: 40_000, time: Timestamp(microseconds: start + 2 * Microseconds.hour))
    let now = Timestamp(microseconds: start + 3 * Microseconds.hour)
    let quote = Quote(instrument: .init(0), bid: 9_930, bidSize: 1, ask: 0, askSize: 0, time: now)
    let ticker = statistics.ticker(of: ring, instrument: instrument, quote: quote, now: now)
    #expect(ticker.last == 9_933)
    #expect(ticker.open == 10_000)
    #expect(ticker.high == 10_300)
    #expect(ticker.low == 9_933)
    #expect(ticker.bid == 9_930)
    #expect(ticker.ask == nil)
    #expect(ticker.volume == Decimal64(mantissa: 70_000, scale: 4))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 703_320_000, scale: 6))
    // 703.32 / 7 = 100.474…
    #expect(ticker.vwap == Decimal64(mantissa: 10_047, scale: 2))
    #expect(ticker.change == Decimal64(mantissa: -67, scale: 2))
    #expect(ticker.changePercent == Decimal64(mantissa: -67, scale: 2))
    #expect(ticker.trades == 3)
  }

  @Test("a day without trades has no prices but the last, and zero volume")
  func quietDay() {
    var ring = BucketRing.day()
    var statistics = DayStatistics()
    ring.add(price: 10_000, size: 1, time: Timestamp(microseconds: 0))
    let now = Timestamp(microseconds: 2 * Microseconds.day)
    let ticker = statistics.ticker(of: ring, instrument: instrument, quote: nil, now: now)
    #expect(ticker.last == 10_000)
    #expect(ticker.open == nil)
    #expect(ticker.high == nil)
    #expect(ticker.change == nil)
    #expect(ticker.volume?.mantissa == 0)
    #expect(ticker.vwap == nil)
    #expect(ticker.trades == 0)
  }

  @Test("quotients are rounded half to even, both signs")
  func rounding() {
    let cases: [(Int128, Int128, Int128)] = [
      (5, 2, 2), (7, 2, 4), (-5, 2, -2), (-7, 2, -4), (6, 4, 2), (2, 4, 0), (3, 4, 1), (-3, 4, -1), (1, 3, 0),
      (2, 3, 1),
      (.max, 1, .max), (.min, 1, .min), (.max, .max, 1),
    ]
    for (numerator, denominator, quotient) in cases {
      #expect(Ratio.divide(numerator, by: denominator) == quotient, "\(numerator)/\(denominator)")
    }
    #expect(Ratio.percent(-127, of: 10_000, digits: 2) == Decimal64(mantissa: -127, scale: 2))
    #expect(Ratio.percent(1, of: 0, digits: 2) == nil)
    #expect(Ratio.percent(.max, of: 1, digits: 2) == nil)
    #expect(Ratio.decimal(Int128(Int64.max) * 10 + 4, scale: 3, digits: 3) == Decimal64(mantissa: .max, scale: 2))
    #expect(Ratio.decimal(.max, scale: 2, digits: 2) == nil)
  }

  @Test("random windows have the figures of a list of all trades", arguments: testSeeds(6))
  func againstHistory(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ring = BucketRing(length: Microseconds.minute, count: 40)
    var history = TradeHistory(length: Microseconds.minute, count: 40)
    var statistics = DayStatistics()
    var now: Int64 = 1_700_000_000_000_000
    for step in 0..<300 {
      now += Int64(random.next() % 60_000_000)
      if random.next() % 50 == 0 { now += Int64(random.next() % 4_000_000_000) }
      if random.next() % 3 > 0 {
        let time = now - (random.next() % 3 == 0 ? Int64(random.next() % 3_000_000_000) : 0)
        let price = Int64(random.next() % 1_000) + 1
        let size = Int64(random.next() % 1_000) + 1
        ring.add(price: price, size: size, time: Timestamp(microseconds: time))
        history.add(price: price, size: size, time: time)
      }
      let trades = history.trades(inWindowAt: now)
      var expected = WindowFigures()
      expected.open = trades.first?.price
      expected.last = trades.last?.price
      expected.high = trades.map(\.price).max()
      expected.low = trades.map(\.price).min()
      for trade in trades {
        expected.volume += Int128(trade.size)
        expected.quoteVolume += Int128(trade.size) * Int128(trade.price)
      }
      expected.trades = Int64(trades.count)
      let figures = statistics.figures(of: ring, now: Timestamp(microseconds: now))
      guard figures == expected else {
        Issue.record("seed \(seed), step \(step): \(figures), expected \(expected)")
        return
      }
    }
  }
}
