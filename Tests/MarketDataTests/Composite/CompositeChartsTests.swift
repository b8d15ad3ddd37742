import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite("Lines of a composite")
struct CompositeChartsTests {
  private static let id = InstrumentID(0)

  /// Candles of an interval up to `now`, with pauses.
  private static func candles(
    _ interval: CandleInterval, _ count: Int, now: Timestamp, _ random: inout SeededGenerator
  ) -> [Candle] {
    let newest = interval.start(of: now)
    return (0..<Int64(count)).reversed().compactMap { back in
      guard Int.random(in: 0..<10, using: &random) > 0 else { return nil }
      let close = Int64.random(in: 1_000...9_000, using: &random)
      return Candle(
        instrument: id, interval: interval, time: newest + -back * interval.length, open: close - 1, high: close + 2,
        low: close - 3, close: close, volume: 1, quoteVolume: 1, trades: 1,
        source: Int.random(in: 0..<20, using: &random) == 0 ? .partial : .own, isClosed: back > 0)
    }
  }

  @Test("under seeds, a line of candles is the line that a market's rings make of them", arguments: testSeeds(60))
  func againstRings(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for range in ChartRange.allCases {
      let now = Timestamp(microseconds: 1_795_348_800_000_000 + Int64.random(in: 0...90_000_000_000, using: &random))
      let most = range.candles.count
      let count = Bool.random(using: &random) ? most : Int.random(in: 0...most, using: &random)
      let candles = Self.candles(range.candles.interval, count, now: now, &random)
      var chart = Chart()
      _ = chart.restore(candles, of: Self.id, now: now)
      let points = Int.random(in: 1...1_440, using: &random)
      let expected = chart.line(range, points: points, now: now)
      let line = Sparkline(range, points: points, of: candles, price: nil, now: now)
      let comment: Comment = "seed \(seed) \(range.name) \(count) candles \(points) points"
      #expect(line.points == expected.points, comment)
      #expect(line.open == expected.open && line.step == expected.step, comment)
      if !line.points.isEmpty { #expect(line.from == expected.from, comment) }
      // A price is the last point, and nothing else changes.
      let priced = Sparkline(range, points: points, of: candles, price: 77, now: now)
      #expect(priced.points.last == 77 && priced.points.dropLast() == line.points.dropLast(), comment)
    }
  }

  @Test("what was not observed is a gap of whole candles; the present one is none")
  func coverage() {
    let now = Timestamp(microseconds: 1_795_348_800_000_000) + 90 * Microseconds.minute + 30 * Microseconds.second
    let first = CandleInterval.minute.start(of: now) + -90 * Microseconds.minute
    let candles = (0..<Int64(91)).filter { $0 < 20 || $0 >= 25 }.map { minute in
      Candle(
        instrument: Self.id, interval: .minute, time: first + minute * Microseconds.minute, open: 5, high: 5, low: 5,
        close: 5, volume: 0, quoteVolume: 0, trades: 0, source: .own, isClosed: minute < 90)
    }
    let line = Sparkline(.day, points: 96, of: candles, price: 5, now: now)
    #expect(line.coveredFrom == first)
    #expect(
      line.gaps == [
        TimeSpan(from: first + 20 * Microseconds.minute, to: first + 25 * Microseconds.minute)
      ])
    // A member that is lost leaves a gap that grows by whole minutes.
    let later = now + 10 * Microseconds.minute
    let open = Sparkline(.day, points: 96, of: candles.filter(\.isClosed), price: 5, now: later)
    #expect(open.gaps.last == TimeSpan(from: candles[85].time, to: CandleInterval.minute.start(of: later)))
    #expect(
      open == Sparkline(.day, points: 96, of: candles.filter(\.isClosed), price: 5, now: later + 1_000_000))
  }

  @Test("a line leads to the next exactly if the update makes it of the first", arguments: testSeeds(60))
  func leads(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let range: ChartRange = [.hour, .day].randomElement(using: &random)!
    let points = [12, 60, 96, 333].randomElement(using: &random)!
    var now = Timestamp(microseconds: 1_795_348_800_000_000)
    var candles = Self.candles(.minute, range.candles.count, now: now, &random)
    for index in candles.indices { candles[index].source = .own }
    var shown = Sparkline(range, points: points, of: candles, price: 4_000, now: now)
    for step in 0..<60 {
      now = now + Int64.random(in: 1...120, using: &random) * Microseconds.second
      let price = Int64.random(in: 3_000...5_000, using: &random)
      for minute in CandleInterval.minute.missing(after: candles[candles.count - 1].time, now: now) {
        candles[candles.count - 1].isClosed = true
        var next = candles[candles.count - 1]
        (next.time, next.close, next.isClosed) = (minute, [price, next.close].randomElement(using: &random)!, false)
        candles.append(next)
      }
      if Int.random(in: 0..<6, using: &random) == 0 {
        candles[Int.random(in: candles.indices, using: &random)].close = price
      }
      let next = Sparkline(range, points: points, of: candles, price: price, now: now)
      let made = Self.apply(next, to: shown)
      let isSame = made == next.points && shown.step == next.step
      // More may be sent whole than must be; never less.
      let leads = shown.leads(to: next, now: now)
      if leads { #expect(isSame, "seed \(seed) step \(step)") }
      if isSame, shown.gaps == next.gaps, shown.coveredFrom ?? now <= next.coveredFrom ?? now {
        #expect(leads, "seed \(seed) step \(step): it need not be sent whole")
      }
      shown = next
    }
  }

  /// The points of a client after the update to `next`, by the rules of the protocol.
  private static func apply(_ next: Sparkline, to line: Sparkline) -> [Int64] {
    guard let tip = next.tip else { return [] }
    var points = line.points
    let moved = Int((Double(tip.from - line.from) / Double(line.step)).rounded())
    let last = points.last
    points.removeFirst(min(max(0, moved), points.count))
    if points.isEmpty, let last { points = [last] }
    while points.count < tip.index { points.append(points.last ?? tip.price) }
    points.removeLast(max(0, points.count - tip.index - 1))
    if points.count == tip.index { points.append(tip.price) } else { points[tip.index] = tip.price }
    return points
  }
}

extension CandleInterval {
  /// The beginnings of candles after one, up to the present one.
  fileprivate func missing(after time: Timestamp, now: Timestamp) -> [Timestamp] {
    Array(stride(from: time.microseconds + length, through: start(of: now).microseconds, by: Int(length)))
      .map { Timestamp(microseconds: $0) }
  }
}
