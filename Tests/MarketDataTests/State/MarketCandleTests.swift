import MarketData
import Testing

/// What the market makes of time: rolling windows, closing candles and gaps.
@Suite struct MarketCandleTests {
  @Test("the windows roll at the minute, also without trades")
  func roll() {
    var scene = MarketScene()
    #expect(scene.market.nextDeadline == .distantFuture)
    scene.trade(100)
    scene.apply()
    let minute = Timestamp(microseconds: (scene.now.microseconds / Microseconds.minute + 1) * Microseconds.minute)
    #expect(scene.market.nextDeadline == minute)
    scene.advance(minute - scene.now)
    #expect(scene.words == ["sparkline 0", "ticker 0"])
    #expect(scene.market.nextDeadline == minute + Chart.grace, "then the candles close")
    scene.advance(Chart.grace)
    #expect(scene.market.nextDeadline == minute + Microseconds.minute)
  }

  /// A scene at the beginning of an hour, with a trade at `price`.

  private func hour(_ price: Int64) -> MarketScene {
    var scene = MarketScene()
    let length = Microseconds.hour
    scene.now = Timestamp(microseconds: (scene.now.microseconds / length + 1) * length)
    scene.trade(price)
    scene.apply()
    return scene
  }

  @Test("a candle closes once, a second after its interval, whether or not a trade came")
  func candlesClose() {
    var scene = hour(100)
    scene.advance(Microseconds.minute)
    #expect(scene.changes.candles.isEmpty)
    scene.advance(Chart.grace - 1)
    #expect(scene.words.isEmpty)
    scene.advance(1)
    #expect(scene.words == ["candles 0 1"])
    #expect(scene.changes.candles[0].trades == 1)
    #expect(scene.changes.candles[0].isClosed && scene.changes.candles[0].source == .own)
    for minute in 2...15 {
      scene.advance(Microseconds.minute)
      let candles = scene.changes.candles
      let intervals: [CandleInterval] =
        minute % 15 == 0
        ? [.minute, .fiveMinutes, .quarterHour] : minute % 5 == 0 ? [.minute, .fiveMinutes] : [.minute]
      #expect(candles.map(\.interval) == intervals)
      #expect(candles[0].volume == 0 && candles[0].trades == 0, "a quiet minute")
      #expect([candles[0].open, candles[0].high, candles[0].low, candles[0].close] == [100, 100, 100, 100])
    }
    #expect(scene.changes.candles[1].volume == 0)
    #expect(scene.changes.candles[2].volume == 10)
  }

  @Test("late trades issue a closed candle again once, a second later, with a higher revision")
  func lateTrades() {
    var scene = hour(100)
    scene.advance(Microseconds.minute + Chart.grace)
    #expect(scene.changes.candles.map(\.rev) == [0])
    scene.advance(Microseconds.second)
    scene.trade(120, at: -3 * Microseconds.second)
    scene.trade(90, at: -4 * Microseconds.second)
    scene.apply()
    #expect(scene.changes.candles.isEmpty)
    scene.advance(Market.reissueInterval)
    #expect(scene.changes.candles.map(\.rev) == [1])
    #expect(scene.changes.candles[0].high == 120 && scene.changes.candles[0].low == 90)
    #expect(scene.changes.candles[0].close == 120 && scene.changes.candles[0].trades == 3)
    scene.advance(Microseconds.second)
    #expect(scene.changes.candles.isEmpty)
  }

  @Test("what came while the connection was gone is a gap, and no candle is made of it")
  func interrupted() {
    var scene = hour(100)
    let start = scene.now
    scene.advance(90 * Microseconds.second)
    scene.batch.events.append(.heartbeat)
    scene.apply()
    scene.advance(5 * Microseconds.second)
    scene.market.disconnect(into: &scene.changes)
    for _ in 0..<4 { scene.advance(Microseconds.minute) }
    scene.trade(110)
    scene.apply()
    let line = scene.market[.init(0)].sparkline(.hour, points: 360, now: scene.now)
    #expect(line.coveredFrom == start)
    #expect(line.gaps == [TimeSpan(from: start + 90 * Microseconds.second - Chart.grace, to: scene.now)])
    let candles = scene.market[.init(0)].candles(
      .minute, from: start, to: .distantFuture, limit: 100, now: scene.now)
    #expect(candles.map { ($0.time - start) / Microseconds.minute } == [0, 1, 5])
    #expect(candles.map(\.source) == [.own, .partial, .partial])
  }

  @Test("after the machine slept nothing is said to have been observed meanwhile")
  func slept() {
    var scene = hour(100)
    let start = scene.now
    scene.advance(3 * Microseconds.hour)
    scene.trade(110)
    scene.apply()
    let line = scene.market[.init(0)].sparkline(points: 24, now: scene.now)
    #expect(line.gaps == [TimeSpan(from: start + Chart.grace, to: scene.now)])
    #expect(scene.market[.init(0)].candles(.hour, from: start, to: .distantFuture, limit: 9, now: scene.now).count == 2)
  }

  @Test("restored candles are the past of an instrument before its first trade")
  func restored() {
    var scene = MarketScene()
    let hour = CandleInterval.hour.start(of: scene.now)
    let candles = (1...3).map { number in
      Candle(
        instrument: .init(0), interval: .hour, time: hour - Int64(number) * Microseconds.hour, open: 90, high: 99,
        low: 80,
        close: 100 - Int64(number), volume: 5, quoteVolume: nil, trades: nil, source: .venue, isClosed: true)
    }
    let restored = scene.market.restore(candles, of: .init(0), now: scene.now, into: &scene.changes)
    #expect(restored == 3)
    #expect(scene.words.last == "past 0")
    #expect(scene.market[.init(0)].lastPrice == 99)
    #expect(scene.market[.init(0)].sparkline(.month, points: 720, now: scene.now).points == [97, 98, 99, 99])
    #expect(scene.market.restore(candles, of: .init(7), now: scene.now, into: &scene.changes) == 0)
  }
}
