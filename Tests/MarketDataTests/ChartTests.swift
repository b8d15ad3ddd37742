import Bytes
import MarketData
import TestSupport
import Testing

@Suite struct ChartTests {
  private let start: Int64 = 1_700_000_000_000_000
  private let id = InstrumentID(0)

  private func at(_ time: Int64) -> Timestamp { Timestamp(microseconds: time) }

  /// How fast a market trades, and how far back its late trades are, µs.
  struct Pace: Sendable, CustomStringConvertible {
    var step: UInt64
    var late: UInt64
    var jump: UInt64
    var description: String { "\(step / 1_000) ms" }
  }

  static let paces = [
    Pace(step: 40_000, late: 20_000_000, jump: 4_000_000_000),
    Pace(step: 20_000_000, late: 8_000_000_000, jump: 90_000_000_000),
    Pace(step: 40_000_000_000, late: 20_000_000_000_000, jump: 5_000_000_000_000),
  ]

  @Test(
    "lines, figures and candles are at every step those of a list of all trades", arguments: testSeeds(4), Self.paces)
  func againstEveryTrade(seed: UInt64, pace: Pace) {
    var random = SeededGenerator(seed: seed)
    var chart = Chart()
    var naive = NaiveChart()
    var now = start + Int64(random.next() % 86_400_000_000)
    var price: Int64 = 5_000
    for step in 0..<250 {
      now += Int64(random.next() % pace.step)
      if random.next() % 60 == 0 { now += Int64(random.next() % pace.jump) }
      switch random.next() % 40 {
      case 0:
        chart.beginObserving(at: at(now))
        naive.begin(at: now)
      case 1:
        chart.endObserving(at: at(now))
        naive.end(at: now)
      case 2 where step % 7 == 0 && step < 200:
        let priceBy: Int64 = random.next() % 2 == 0 ? 10 : 1
        let fits = chart.rescale(priceBy: priceBy, sizeBy: 10)
        #expect(fits)
        naive.rescale(priceBy: priceBy, sizeBy: 10)
        price *= priceBy
      default: break
      }
      // As a market does, candles are closed and issued again now and then; not always before the next trade.
      if random.next() % 3 > 0 {
        var closed: [Candle] = []
        chart.closeCandles(of: id, now: at(now), into: &closed)
        guard same(closed, naive.close(now: now), "closed candles", seed, step) else { return }
        #expect(!closed.contains { !$0.isClosed })
      }
      if random.next() % 5 == 0 {
        var again: [Candle] = []
        chart.reissue(of: id, now: at(now), into: &again)
        guard same(again, naive.reissue(now: now), "candles issued again", seed, step) else { return }
      }
      let isLate = random.next() % 4 == 0
      let time = isLate ? now - Int64(random.next() % pace.late) : now + Int64(random.next() % 2_000_000)
      price = max(1, price + Int64(random.next() % 101) - 50)
      let size = Int64(random.next() % 1_000) + 1
      if random.next() % 8 > 0 {
        let wasClosed = chart.add(price: price, size: size, time: at(time), now: at(now))
        naive.add(price: price, size: size, time: time, now: now)
        #expect(wasClosed == naive.late.contains(NaiveChart.minute(NaiveChart.floor(time, 1_000) * 1_000)))
      }
      if random.next() % 6 == 0 {
        chart.advance(to: at(now))
        naive.advance(to: now)
      }
      guard compare(&chart, &naive, now, &random, "seed \(seed), step \(step)") else { return }
    }
  }

  private func compare(
    _ chart: inout Chart, _ naive: inout NaiveChart, _ now: Int64, _ random: inout SeededGenerator, _ place: String
  ) -> Bool {
    let lastPrice = chart.lastPrice
    #expect(lastPrice == naive.entries.last?.price, "\(place)")
    for range in ChartRange.allCases {
      let n = [1, 2, 7, 24, 96, 360, 1_440][Int(random.next() % 7)]
      let line = chart.line(range, points: n, now: at(now))
      let expected = naive.line(range, points: n, now: now)
      let tip = chart.tip(range, points: n, now: at(now))
      let isSame =
        line.points == expected.points && line.from.microseconds == expected.from && line.step == expected.step
        && tip?.index ?? -1 == expected.points.count - 1 && tip?.price == expected.points.last
        && tip?.from ?? line.from == line.from && tip?.step ?? line.step == line.step
      guard isSame else {
        Issue.record("\(place), \(range.name), n \(n): \(line) \(String(describing: tip)), expected \(expected)")
        return false
      }
    }
    // Who reads figures or candles moves time on.
    naive.advance(to: now)
    let figures = chart.figures(now: at(now))
    guard figures == naive.figures(now: now) else {
      Issue.record("\(place): \(figures), expected \(naive.figures(now: now))")
      return false
    }
    return compareCandles(&chart, naive, now, &random, place)
  }

  private func compareCandles(
    _ chart: inout Chart, _ naive: NaiveChart, _ now: Int64, _ random: inout SeededGenerator, _ place: String
  ) -> Bool {
    let interval = CandleInterval.allCases[Int(random.next() % 6)]
    let head = naive.entries.isEmpty ? NaiveChart.minute(now) : NaiveChart.minute(naive.head)
    let start = NaiveChart.floor(head, interval.minutes) * interval.minutes
    let open = chart.openCandle(interval, of: id, now: at(now))
    guard open == naive.candle(interval, start, now: now) else {
      Issue.record(
        "\(place): \(String(describing: open)), expected \(String(describing: naive.candle(interval, start, now: now)))"
      )
      return false
    }
    let limit = [1, 3, 100][Int(random.next() % 3)]
    let from = now - Int64(random.next() % 100_000_000_000)
    let to = from + Int64(random.next() % 100_000_000_000)
    var expected: [Candle] = []
    let first = -NaiveChart.floor(-from, interval.length) * interval.minutes
    let end = min(start, NaiveChart.minute(to - 1))
    for minute in stride(from: first, through: max(end, first - 1), by: Int(interval.minutes)) {
      let isRecent = NaiveChart.floor(end - minute, interval.minutes) < limit
      if naive.isWhole(minute), isRecent, let candle = naive.candle(interval, minute, now: now) {
        expected.append(candle)
      }
    }
    let candles = chart.candles(interval, from: at(from), to: at(to), limit: limit, of: id, now: at(now))
    guard candles == expected else {
      Issue.record("\(place): \(interval.name) from \(from) to \(to): \(difference(candles, expected))")
      return false
    }
    return true
  }

  private func same(_ a: [Candle], _ b: [Candle], _ what: String, _ seed: UInt64, _ step: Int) -> Bool {
    guard a != b else { return true }
    Issue.record("seed \(seed), step \(step), \(what): \(difference(a, b))")
    return false
  }

  private func difference(_ a: [Candle], _ b: [Candle]) -> String {
    let index = zip(a, b).prefix { $0 == $1 }.count
    let words = [a, b].map { index < $0.count ? "\($0[index])" : "nothing" }
    return "\(a.count) and \(b.count) candles, at \(index) \(words[0]), expected \(words[1])"
  }
}
