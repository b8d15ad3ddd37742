import Bytes
import MarketData
import TestSupport
import Testing

@Suite struct MarketTests {
  @Test("trades of one instrument that stand together make one change, one pulse and one point of the line")
  func tradesMerge() {
    var scene = MarketScene(instruments: 2)
    for price in [100, 101, 102] as [Int64] { scene.trade(price) }
    scene.trade(7, instrument: 1)
    scene.trade(103)
    scene.apply()
    #expect(
      scene.words == [
        "trades 0 3", "pulse 100 ×1", "sparkline 0", "ticker 0", "trades 1 1", "pulse 7 ×1", "sparkline 1", "ticker 1",
        "trades 0 1", "sparkline 0",
      ])
    #expect(scene.changes.trades.map(\.price) == [100, 101, 102, 7, 103])
    scene.advance(100 * Microseconds.millisecond)
    #expect(scene.words == ["pulse 103 ×3"])
  }

  @Test("backlog fills the line and the last trade, but is no news and makes no pulse")
  func backlog() {
    var scene = MarketScene()
    scene.trade(90, at: -3 * Microseconds.hour, backlog: true)
    scene.trade(95, at: -2 * Microseconds.hour, backlog: true)
    scene.trade(85, at: -4 * Microseconds.hour, backlog: true)
    scene.apply()
    #expect(scene.words == ["sparkline 0", "ticker 0"])
    #expect(scene.market[.init(0)].lastTrade?.price == 95)
    let line = scene.market[.init(0)].sparkline(points: 24, now: scene.now)
    #expect(line.points == [85, 90, 95, 95, 95])
    #expect(scene.market.clockWarnings == 0)
  }

  @Test("backlog does not displace a newer last trade")
  func backlogOlder() {
    var scene = MarketScene()
    scene.trade(100)
    scene.apply()
    scene.trade(90, at: -Microseconds.minute, backlog: true)
    scene.apply()
    #expect(scene.market[.init(0)].lastTrade?.price == 100)
  }

  @Test("a venue clock that is off is held within 5 s and counted")
  func clock() {
    var scene = MarketScene()
    scene.trade(100, at: Microseconds.day)
    scene.trade(101, at: -Microseconds.day)
    scene.trade(102, at: 4 * Microseconds.second)
    scene.apply()
    #expect(scene.market.clockWarnings == 2)
    #expect(scene.market[.init(0)].clockWarnings == 2)
    #expect(scene.market[.init(0)].dayFigures(now: scene.now).trades == 3)
    #expect(scene.changes.trades[0].time == scene.now + Microseconds.day, "the trade keeps the venue's time")
  }

  @Test("quotes come from the book's top only when it changed")
  func quotes() {
    var scene = MarketScene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1), (90, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(90, 2)], asks: [])
    scene.book(.delta, bids: [(100, 0)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "delta 1/0", "delta 1/0", "quote 90/101"])
    scene.batch.events.append(.bookReset(.init(0), .gap))
    scene.apply()
    #expect(scene.words == ["syncing sequence gap"])
    #expect(scene.market[.init(0)].quote == nil)
  }

  @Test("a venue's quote is published when it changed, whatever its time")
  func venueQuotes() {
    var scene = MarketScene()
    for bid in [100, 100, 101] as [Int64] {
      scene.batch.events.append(
        .quote(Quote(instrument: .init(0), bid: bid, bidSize: 1, ask: 105, askSize: 1, time: scene.now + bid)))
    }
    scene.apply()
    #expect(scene.words == ["quote 100/105", "quote 101/105"])
  }

  @Test(
    "trades at a price or size of zero or less are left out: no trade, no pulse, no point of a line",
    arguments: [
      (0, 10), (-5, 10), (100, 0), (100, -1),
    ])
  func impossibleTrade(_ price: Int64, _ size: Int64) {
    var scene = MarketScene()
    scene.trade(100)
    scene.apply()
    for isBacklog in [false, true] {
      scene.batch.events.append(
        .trade(
          Trade(
            instrument: .init(0), id: TradeID(2), price: price, size: size, side: .buy, time: scene.now,
            isBacklog: isBacklog)))
    }
    scene.apply()
    #expect(scene.words.isEmpty && scene.market.refusedValues == 2)
    #expect(scene.market[.init(0)].lastTrade?.price == 100)
  }

  @Test(
    "a quote whose bid is not below its ask, or with an impossible side, is left out; an empty side is not",
    arguments: [
      (101, 1, 101, 1, false), (102, 1, 101, 1, false), (-1, 1, 101, 1, false), (100, 1, 0, 1, false),
      (100, -1, 101, 1, false), (100, 1, 101, 1, true), (0, 0, 101, 1, true), (100, 1, 0, 0, true), (0, 0, 0, 0, true),
    ])
  func impossibleQuote(_ bid: Int64, _ bidSize: Int64, _ ask: Int64, _ askSize: Int64, _ isPublished: Bool) {
    var scene = MarketScene()
    scene.batch.events.append(
      .quote(
        Quote(instrument: .init(0), bid: bid, bidSize: bidSize, ask: ask, askSize: askSize, time: scene.now)))
    scene.apply()
    #expect(scene.words.count == (isPublished ? 1 : 0) && scene.market.refusedValues == (isPublished ? 0 : 1))
  }

  @Test("wider scales multiply book, last trade, quote, ticker, line and pulse once")
  func widened() {
    var scene = MarketScene(quotesFromBook: true)
    scene.trade(100)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    var ticker = Ticker(instrument: .init(0), time: scene.now)
    ticker.high = 120
    scene.batch.events.append(.ticker(ticker))
    scene.apply()
    scene.batch.append(instrument: MarketScene.instrument(0, priceScale: 4, sizeScale: 5))
    scene.batch.append(instrument: MarketScene.instrument(0, priceScale: 4, sizeScale: 5))
    scene.apply()
    let state = scene.market[.init(0)]
    #expect(scene.words == ["instrument 0"])
    #expect(state.book.bestBid == PriceLevel(price: 10_000, size: 10))
    #expect(state.bookState == .live)
    #expect(state.lastTrade?.price == 10_000)
    #expect(state.lastTrade?.size == 100)
    #expect(state.quote?.ask == 10_100)
    #expect(state.quote?.askSize == 10)
    #expect(state.ticker?.high == 12_000)
    #expect(state.sparkline(points: 24, now: scene.now).points == [10_000])
    #expect(state.pulse.published == 10_000)
  }

  @Test("where the venue has no ticker, the gateway's own comes at most once a second")
  func ownTicker() {
    var scene = MarketScene()
    scene.trade(100)
    scene.apply()
    #expect(scene.words.last == "ticker 0")
    for _ in 0..<5 {
      scene.advance(10 * Microseconds.millisecond)
      scene.trade(100)
      scene.apply()
      #expect(!scene.words.contains("ticker 0"))
    }
    scene.advance(949 * Microseconds.millisecond)
    #expect(scene.words.isEmpty)
    scene.advance(Microseconds.millisecond)
    #expect(scene.words == ["ticker 0"])
    #expect(scene.market[.init(0)].ticker(now: scene.now).trades == 6)
  }

  @Test("where the venue has a ticker, it is published and served, with the gateway's own figures where it has none")
  func venueTicker() {
    var scene = MarketScene()
    var ticker = Ticker(instrument: .init(0), time: scene.now)
    ticker.volume = Decimal64(mantissa: 5, scale: 0)
    scene.batch.events.append(.ticker(ticker))
    scene.trade(100)
    scene.apply()
    #expect(scene.words == ["ticker 0", "trades 0 1", "pulse 100 ×1", "sparkline 0"])
    #expect(scene.market[.init(0)].ticker(now: scene.now).volume == Decimal64(mantissa: 5, scale: 0))
  }

  @Test("events of an instrument that was never announced have no effect")
  func unknownInstrument() {
    var scene = MarketScene()
    scene.trade(100, instrument: 9)
    scene.book(.snapshot, bids: [], asks: [], instrument: -1)
    scene.batch.append(instrument: MarketScene.instrument(5))
    scene.batch.events.append(.instrument(index: 77))
    scene.apply()
    #expect(scene.words.isEmpty)
    #expect(scene.market.ignoredEvents == 4)
  }

  @Test("random trades on many instruments give each the pulses of a merger of its own", arguments: testSeeds(4))
  func pulsesOfMany(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var scene = MarketScene(instruments: 20)
    var mergers = (0..<20).map { PulseMerger(instrument: .init($0)) }
    var expected: [Pulse] = []
    var got: [Pulse] = []
    func pulses(_ changes: borrowing MarketChanges) -> [Pulse] {
      changes.items.compactMap { if case .pulse(let pulse) = $0 { pulse } else { nil } }
    }
    for _ in 0..<1_500 {
      let target = scene.now + Int64(random.next() % 20_000)
      while scene.market.nextDeadline <= target {
        scene.advance(max(0, scene.market.nextDeadline - scene.now))
        got += pulses(scene.changes)
      }
      scene.now = target
      for index in mergers.indices where mergers[index].deadline <= target {
        if let pulse = mergers[index].advance(to: mergers[index].deadline) { expected.append(pulse) }
      }
      let index = Int(random.next() % 20)
      let price = Int64(100 + random.next() % 3)
      scene.trade(price, instrument: index)
      scene.apply()
      got += pulses(scene.changes)
      if let pulse = mergers[index].price(price, now: target) { expected.append(pulse) }
    }
    func order(_ a: Pulse, _ b: Pulse) -> Bool {
      (a.time, a.instrument.index) < (b.time, b.instrument.index)
    }
    #expect(got.count > 200)
    #expect(got.sorted(by: order) == expected.sorted(by: order), "seed \(seed)")
  }
}
