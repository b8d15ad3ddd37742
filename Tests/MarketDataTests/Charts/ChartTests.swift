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
    _ chart: inout Chart, _ naive: inout NaiveChart, _ now: Int64, _ random: inout SeededGenerator, _ index: String
  ) -> Bool {
    let lastPrice = chart.lastPrice
    #expect(lastPrice == naive.entries.last?.price, "\(index)")
    for range in ChartRange.allCases {
      let n = [1, 2, 7, 24, 96, 360, 1_440][Int(random.next() % 7)]
      let line = chart.line(range, points: n, now: at(now))
      let expected = naive.line(range, points: n, now: now)
      let tip = chart.tip(range, points: n, now: at(now))
      let isSame =
        line.points == expected.points && line.open == expected.open
        && chart.open(range, points: n, now: at(now)) == expected.open && line.from.microseconds == expected.from
        && line.step == expected.step
        && tip?.index ?? -1 == expected.points.count - 1 && tip?.price == expected.points.last
        && tip?.from ?? line.from == line.from && tip?.step ?? line.step == line.step
      guard isSame else {
        Issue.record("\(index), \(range.name), n \(n): \(line) \(String(describing: tip)), expected \(expected)")
        return false
      }
    }
    // Who reads figures or candles moves time on.
    naive.advance(to: now)
    let figures = chart.figures(now: at(now))
    guard figures == naive.figures(now: now) else {
      Issue.record("\(index): \(figures), expected \(naive.figures(now: now))")
      return false
    }
    return compareCandles(&chart, naive, now, &random, index)
  }

  private func compareCandles(
    _ chart: inout Chart, _ naive: NaiveChart, _ now: Int64, _ random: inout SeededGenerator, _ index: String
  ) -> Bool {
    let interval = CandleInterval.allCases[Int(random.next() % 6)]
    let head = naive.entries.isEmpty ? NaiveChart.minute(now) : NaiveChart.minute(naive.head)
    let start = NaiveChart.floor(head, interval.minutes) * interval.minutes
    let open = chart.openCandle(interval, of: id, now: at(now))
    guard open == naive.candle(interval, start, now: now) else {
      Issue.record(
        "\(index): \(String(describing: open)), expected \(String(describing: naive.candle(interval, start, now: now)))"
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
      Issue.record("\(index): \(interval.name) from \(from) to \(to): \(difference(candles, expected))")
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

  // MARK: Restoring

  private func candle(
    _ interval: CandleInterval, _ time: Int64, _ price: Int64, volume: Int128 = 10, source: CandleSource = .venue
  ) -> Candle {
    Candle(
      instrument: id, interval: interval, time: at(time), open: price, high: price + 5, low: price - 5, close: price,
      volume: volume, quoteVolume: volume * Int128(price), trades: 1, source: source, isClosed: true)
  }

  @Test("what was restored before the first trade is there as if it had been seen, in any order of candles")
  func restoreBefore() {
    let now = start / Microseconds.day * Microseconds.day + 5 * Microseconds.hour
    var candles: [Candle] = []
    for minute in 1...200 {
      candles.append(candle(.minute, now - Int64(minute) * Microseconds.minute, 1_000 + Int64(minute)))
    }
    for day in 1...40 {
      let time = CandleInterval.day.start(of: at(now)).microseconds - Int64(day) * Microseconds.day
      candles.append(candle(.day, time, 2_000 + Int64(day)))
    }
    var random = SeededGenerator(seed: 5)
    var charts: [(points: [Int64], figures: WindowFigures)] = []
    for _ in 0..<3 {
      var chart = Chart()
      chart.beginObserving(at: at(now))
      let restored = chart.restore(candles, of: id, now: at(now))
      #expect(restored == 240)
      charts.append((chart.line(.year, points: 365, now: at(now)).points, chart.figures(now: at(now))))
      let hour = chart.line(.hour, points: 360, now: at(now))
      #expect(hour.coveredFrom == at(now - Microseconds.hour + 10 * Microseconds.second) && hour.gaps.isEmpty)
      let week = chart.line(.week, points: 672, now: at(now))
      #expect(week.coveredFrom == at(now - 200 * Microseconds.minute))
      let year = chart.line(.year, points: 365, now: at(now))
      #expect(year.coveredFrom == CandleInterval.day.start(of: at(now)) - 40 * Microseconds.day)
      #expect(year.gaps.isEmpty, "the candles of minutes end where the days do not, but less than a day")
      candles.shuffle(using: &random)
    }
    #expect(charts[0].points == (1...40).reversed().map { 2_000 + $0 } + [1_001])
    #expect(charts[0].figures.trades == 200 && charts[0].figures.high == 1_205 && charts[0].figures.low == 996)
    #expect(charts[0].figures.open == 1_200 && charts[0].figures.last == 1_001 && charts[0].figures.volume == 2_000)
    #expect(charts.allSatisfy { $0.points == charts[0].points && $0.figures == charts[0].figures })
  }

  @Test("a minute that the gateway observed keeps its own figures; one that it saw in part takes the venue's")
  func restoreOver() {
    let minute = CandleInterval.hour.start(of: at(start)).microseconds
    var chart = Chart()
    chart.beginObserving(at: at(minute + 30 * Microseconds.second))
    _ = chart.add(
      price: 50, size: 1, time: at(minute + 40 * Microseconds.second), now: at(minute + 40 * Microseconds.second))
    let second = minute + Microseconds.minute
    _ = chart.add(price: 60, size: 1, time: at(second + 5), now: at(second + 5))
    let now = at(minute + 3 * Microseconds.minute)
    let candles = [candle(.minute, minute, 100), candle(.minute, second, 100)]
    let restored = chart.restore(candles, of: id, now: now)
    #expect(restored == 2)
    let own = chart.candles(.minute, from: at(minute), to: now, limit: 3, of: id, now: now)
    #expect(own.map(\.close) == [100, 60, 60])
    #expect(own.map(\.source) == [.venue, .own, .own])
    let hour = chart.candles(.hour, from: at(minute), to: now, limit: 1, of: id, now: now)
    #expect(hour[0].source == .venue && hour[0].volume == 11)
    #expect(chart.figures(now: now).high == 105)
  }

  @Test("candles that are open, of the future, misaligned or impossible are not restored")
  func restoreRefused() {
    let minute = CandleInterval.minute.start(of: at(start)).microseconds
    var chart = Chart()
    var open = candle(.minute, minute - Microseconds.minute, 100)
    open.isClosed = false
    var crossed = candle(.minute, minute - Microseconds.minute, 100)
    crossed.low = 101
    var worthless = candle(.minute, minute - Microseconds.minute, 100)
    worthless.low = 0
    var foreign = candle(.minute, minute - Microseconds.minute, 100)
    foreign.instrument = .init(3)
    let bad = [
      open, crossed, worthless, foreign, candle(.minute, minute, 100), candle(.minute, minute - 90_000_001, 100),
    ]
    let restored = chart.restore(bad, of: id, now: at(start))
    #expect(restored == 0)
    let price = chart.lastPrice
    #expect(price == nil)
  }

  @Test("a venue's minute without quote volume or count makes the day's unknown until it has left the window")
  func unknownFigures() {
    let minute = CandleInterval.minute.start(of: at(start)).microseconds
    var chart = Chart()
    var bare = candle(.minute, minute - Microseconds.minute, 100)
    bare.quoteVolume = nil
    bare.trades = nil
    _ = chart.restore([bare], of: id, now: at(start))
    _ = chart.add(price: 100, size: 3, time: at(start), now: at(start))
    let figures = chart.figures(now: at(start))
    #expect(figures.volume == 13 && figures.quoteVolume == nil && figures.trades == nil)
    let later = chart.figures(now: at(minute + 1_439 * Microseconds.minute))
    #expect(later.volume == 3 && later.quoteVolume == 300 && later.trades == 1)
  }

  @Test("volumes saturate instead of wrapping, and the sums come back when the minute leaves")
  func saturation() {
    var chart = Chart()
    for _ in 0..<3 { _ = chart.add(price: .max, size: .max, time: at(start), now: at(start)) }
    let figures = chart.figures(now: at(start))
    #expect(figures.volume == Int128(UInt64.max) && figures.quoteVolume == 1 << 112)
    _ = chart.add(price: 5, size: 2, time: at(start + Microseconds.minute), now: at(start + Microseconds.minute))
    let later = chart.figures(now: at(start + Microseconds.day))
    #expect(later.volume == 2 && later.quoteVolume == 10 && later.high == 5)
  }

  @Test("a price that does not fit at a wider scale is forgotten, and the chart goes on")
  func rescaleTooFar() {
    var chart = Chart()
    _ = chart.add(price: .max / 2, size: 1, time: at(start), now: at(start))
    let fits = chart.rescale(priceBy: 10, sizeBy: 1)
    #expect(!fits)
    var candles: [Candle] = []
    chart.closeCandles(of: id, now: at(start + Microseconds.hour), into: &candles)
    #expect(candles.isEmpty)
    _ = chart.add(price: 5, size: 1, time: at(start + Microseconds.hour), now: at(start + Microseconds.hour))
    let figures = chart.figures(now: at(start + Microseconds.hour))
    #expect(figures.high == 5 && figures.trades == 1)
  }

  @Test("all ranges together take at most 64 KiB, what was observed included; minutes and figures 99")
  func memory() {
    #expect(RangeLines.byteCount + ChartRange.allCases.count * Chart.coverageBytes <= 64 << 10)
    #expect(MinuteRing.byteCount <= 99 << 10)
    #expect(Chart.byteCount <= 163 << 10)
  }
}
