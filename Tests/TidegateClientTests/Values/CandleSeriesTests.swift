import TestSupport
import Testing

@testable import TidegateClient

@Suite("Candle series")
struct CandleSeriesTests {
  private static func candle(_ time: Int64, _ close: Int, closed: Bool = true, rev: Int = 0) -> CandleSeries.Candle {
    CandleSeries.Candle(
      open: 1, high: 9, low: 1, close: ExactDecimal(close), volume: nil, quoteVolume: nil, trades: 3, isClosed: closed,
      revision: rev, source: .own, start: time)
  }

  private static func series(_ candles: [CandleSeries.Candle]) -> CandleSeries {
    var series = CandleSeries(symbol: "s", interval: .minute)
    series.merge(candles)
    return series
  }

  @Test("candles are merged by time and revision, oldest first")
  func merges() {
    var series = Self.series([Self.candle(60, 2), Self.candle(0, 1), Self.candle(120, 3, closed: false)])
    #expect(series.candles.map(\.start) == [0, 60, 120] && series.current?.close == 3)
    series.merge([Self.candle(120, 4, closed: false), Self.candle(60, 7, rev: 2)])
    #expect(series.candles.map(\.close) == [1, 7, 4])
    series.merge([Self.candle(60, 5, rev: 1), Self.candle(120, 5), Self.candle(120, 6, closed: false, rev: 1)])
    #expect(series.candles.map(\.close) == [1, 7, 5] && series.current == nil, "older ones change nothing")
  }

  @Test("as many as the limit are kept, the newest")
  func limit() {
    var series = Self.series((0..<1_000).map { Self.candle($0, 1) })
    series.merge([Self.candle(1_000, 2), Self.candle(-5, 9)])
    #expect(series.candles.count == CandleSeries.limit && series.candles.last?.start == 1_000)
    #expect(series.candles.first?.start == 1)
  }

  @Test("is what a dictionary by time is", arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var series = Self.series([])
    var model: [Int64: (rev: Int, close: Int)] = [:]
    for step in 0..<500 {
      let time = Int64.random(in: 0..<40, using: &random)
      let (rev, close) = (Int.random(in: 0..<4, using: &random), Int.random(in: 1...9, using: &random))
      series.merge([Self.candle(time, close, rev: rev)])
      if rev >= model[time]?.rev ?? 0 { model[time] = (rev, close) }
      #expect(
        series.candles.map { [$0.start, Int64($0.close.doubleValue)] }
          == model.sorted { $0.key < $1.key }.map { [$0.key, Int64($0.value.close)] }, "seed \(seed), step \(step)")
    }
  }
}
