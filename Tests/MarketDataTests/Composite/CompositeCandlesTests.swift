import Bytes
import MarketData
import TestSupport
import Testing

@Suite("Candles of a composite")
struct CompositeCandlesTests {
  private static let start = Timestamp(microseconds: 1_795_348_800_000_000)

  private static func instrument(_ venue: String, _ priceScale: UInt8 = 2, _ sizeScale: UInt8 = 4) -> Instrument {
    Instrument(
      id: InstrumentID(7), venue: venue, venueSymbol: "BTCUSD", base: "BTC", quote: "USD", priceScale: priceScale,
      sizeScale: sizeScale)
  }

  private static func candle(
    _ minute: Int64, _ prices: (Int64, Int64, Int64, Int64), volume: Int128, quoteVolume: Int128? = 10,
    trades: Int64? = 1, source: CandleSource = .own, isClosed: Bool = true
  ) -> Candle {
    Candle(
      instrument: InstrumentID(7), interval: .minute, time: start + minute * Microseconds.minute, open: prices.0,
      high: prices.1, low: prices.2, close: prices.3, volume: volume, quoteVolume: quoteVolume, trades: trades,
      source: source, isClosed: isClosed)
  }

  @Test("volumes are summed at the widest scales; the busiest member opens and closes, all are between high and low")
  func merge() {
    let parts = [
      CompositeCandles.Part(
        instrument: Self.instrument("kraken"),
        candles: [Self.candle(0, (100, 130, 90, 110), volume: 5), Self.candle(1, (110, 110, 110, 110), volume: 0)]),
      CompositeCandles.Part(
        instrument: Self.instrument("coinbase", 3, 5),
        candles: [
          Self.candle(0, (1_010, 1_200, 800, 1_050), volume: 60, source: .venue),
          Self.candle(1, (1_050, 1_060, 1_040, 1_045), volume: 2, quoteVolume: nil, isClosed: false),
        ]),
    ]
    let merged = CompositeCandles("composite:BTC-USD", parts)
    #expect(merged.instrument.symbol == "composite:BTC-USD" || merged.instrument.venue == "composite")
    #expect(merged.instrument.priceScale == 3 && merged.instrument.sizeScale == 5)
    let first = merged.candles[0]
    // 5 at four digits are 50 at five, and 60 are more.
    #expect([first.open, first.high, first.low, first.close] == [1_010, 1_300, 800, 1_050])
    #expect(first.volume == 110 && first.trades == 2 && first.quoteVolume == 10 + 10 * 100)
    #expect(first.source == .venue && first.isClosed)
    let second = merged.candles[1]
    #expect([second.open, second.high, second.low, second.close] == [1_050, 1_060, 1_040, 1_045])
    #expect(second.volume == 2 && second.quoteVolume == nil && !second.isClosed)
  }

  @Test("a quiet interval repeats the close before it; one that a member lacks is partial")
  func quiet() {
    let parts = [
      CompositeCandles.Part(
        instrument: Self.instrument("kraken"),
        candles: [
          Self.candle(0, (100, 100, 100, 100), volume: 9), Self.candle(1, (100, 100, 100, 100), volume: 0),
          Self.candle(3, (140, 140, 140, 140), volume: 1),
        ]),
      CompositeCandles.Part(
        instrument: Self.instrument("okx"),
        candles: [
          Self.candle(0, (120, 120, 120, 120), volume: 1), Self.candle(1, (120, 120, 120, 120), volume: 0),
          Self.candle(3, (130, 130, 130, 130), volume: 0, source: .partial),
        ]),
    ]
    let merged = CompositeCandles("composite:BTC-USD", parts).candles
    #expect(merged.map(\.close) == [100, 100, 140] && merged.map(\.volume) == [10, 0, 1])
    #expect(merged.map(\.source) == [.own, .own, .partial])
    let alone = CompositeCandles(
      "composite:BTC-USD", Array(parts.prefix(1)) + [.init(instrument: Self.instrument("gate"), candles: [])])
    #expect(alone.candles.allSatisfy { $0.source == .partial })
  }

  @Test("what does not fit is left out, and no sum traps", arguments: testSeeds(50))
  func extremes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let numbers: [Int64] = [1, 7, 1 << 40, .max / 3, .max]
    let parts = (0..<4).map { venue in
      CompositeCandles.Part(
        instrument: Self.instrument(
          "v\(venue)", UInt8.random(in: 0...18, using: &random), UInt8.random(in: 0...18, using: &random)),
        candles: (0..<5).map { minute in
          let price = numbers.randomElement(using: &random)!
          return Self.candle(
            Int64(minute), (price, price, price, price),
            volume: [0, 1, Int128(Int64.max), .max].randomElement(using: &random)!,
            quoteVolume: [nil, 0, .max].randomElement(using: &random)!,
            trades: [nil, 1, .max].randomElement(using: &random)!)
        })
    }
    let merged = CompositeCandles("composite:BTC-USD", parts)
    #expect(merged.candles.allSatisfy { $0.volume >= 0 && $0.quoteVolume ?? 0 >= 0 && $0.trades ?? 0 >= 0 })
    #expect(zip(merged.candles, merged.candles.dropFirst()).allSatisfy { $0.time < $1.time })
  }

  @Test("the line ends at the price, and changes from the price at its beginning")
  func line() {
    let now = Self.start + 3 * Microseconds.hour
    let candles = (0..<180).map { Self.candle(Int64($0), (200, 210, 190, 200 + Int64($0)), volume: 1) }
    let merged = CompositeCandles("composite:BTC-USD", [.init(instrument: Self.instrument("kraken"), candles: candles)])
    let (line, figures) = merged.line(.day, points: 24, price: 500, now: now)
    #expect(line.open == 200 && line.points.last == 500)
    #expect(line.change?.change == Decimal64(mantissa: 300, scale: 2) && line.change?.percent == 15_000)
    #expect(figures.high == 500 && figures.low == 190)
    // The 60th minute of the line has just begun, so the first began 59 minutes ago.
    let hour = merged.line(.hour, points: 60, price: nil, now: now).line
    #expect(hour.from == now + -59 * Microseconds.minute && hour.open == 320, "the close before the line")
    #expect(hour.points == (321...379).map { $0 } + [379], "the close of each minute; nothing was traded in the last")
    let minute = Microseconds.minute
    let before = merged.line(.hour, points: 60, price: nil, now: now + -minute / 2).line
    #expect(before.open == 319 && before.points.first == 320 && before.points.last == 378)
  }

  @Test("the change of 24 h is that of the day, however many points a line has")
  func dayChange() {
    let now = Self.start + 26 * Microseconds.hour + 30 * Microseconds.second
    let candles = (0..<1_560).map { Self.candle(Int64($0), (5_000 + Int64($0), 9_000, 10, 5_001), volume: 1) }
    let merged = CompositeCandles("composite:BTC-USD", [.init(instrument: Self.instrument("kraken"), candles: candles)])
    for points in [2, 24, 95, 1_440] {
      let change = merged.line(.day, points: points, price: 6_000, now: now).line.change
      // The newest minute is the 1,561st, so the day began with the 122nd.
      #expect(change?.open == 5_121 && change?.change == Decimal64(mantissa: 879, scale: 2), "\(points) points")
    }
  }
}
