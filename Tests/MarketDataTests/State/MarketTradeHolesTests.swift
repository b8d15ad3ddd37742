import Testing

@testable import MarketData

@Suite("Missing trades in the market")
struct MarketTradeHolesTests {
  /// The beginning of a minute and of five.
  private static let start = Timestamp(microseconds: 1_790_000_100_000_000)

  private final class World {
    let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    var now = MarketTradeHolesTests.start
    var changes = MarketChanges()

    init() {
      apply {
        $0.append(
          instrument: Instrument(
            id: InstrumentID(0), venue: "v", venueSymbol: "A", base: "A", quote: "USD", priceScale: 0, sizeScale: 0))
      }
    }

    func apply(_ fill: (inout EventBatch) -> Void) {
      var batch = EventBatch()
      fill(&batch)
      market.apply(batch, now: now, into: &changes)
    }

    func trade(_ id: UInt64, price: Int64, at second: Double, isLate: Bool = false) {
      let time = MarketTradeHolesTests.time(second)
      if !isLate { now = max(now, time) }
      apply {
        $0.events.append(
          .trade(
            Trade(
              instrument: InstrumentID(0), id: TradeID(id), price: price, size: 1, side: .buy, time: time,
              isLate: isLate)))
      }
    }

    func hole(_ from: Double, _ to: Double, isEnd: Bool = false, found: Int64 = 0) {
      let span = TimeSpan(from: MarketTradeHolesTests.time(from), to: MarketTradeHolesTests.time(to))
      var hole = TradeHole(first: 2, last: 3, count: 2, from: span.from, to: span.to, covers: span)
      hole.found = found
      let id = InstrumentID(0)
      apply { $0.events.append(isEnd ? .tradesSearched(id, hole) : .tradesMissing(id, hole)) }
    }

    func advance(to second: Double) {
      now = MarketTradeHolesTests.time(second)
      while market.nextDeadline <= now { market.advance(to: now, into: &changes) }
    }

    func candles(_ interval: CandleInterval = .minute) -> [Candle] {
      market.instruments[0].candles(interval, from: .distantPast, to: .distantFuture, limit: 100, now: now)
    }

    /// The candles that were published since the last call.
    func published() -> [Candle] {
      defer { changes.removeAll() }
      return changes.candles
    }
  }

  private static func time(_ second: Double) -> Timestamp {
    start + Int64(second * Double(Microseconds.second))
  }

  @Test("mark the candles of their time alone, and all that these are in")
  func marks() {
    let world = World()
    for second in stride(from: 0.0, through: 150, by: 10) { world.trade(UInt64(second) + 10, price: 5, at: second) }
    world.hole(70, 80)
    #expect(world.candles().map(\.source) == [.own, .partial, .own])
    #expect(world.candles(.fiveMinutes).map(\.source) == [.partial])
    world.hole(70, 80, isEnd: true, found: 1)
    #expect(world.candles().map(\.source) == [.own, .partial, .own], "one is missing still")
    world.hole(70, 80, isEnd: true, found: 2)
    #expect(world.candles().map(\.source) == [.own, .own, .own])
    #expect(world.candles(.fiveMinutes).map(\.source) == [.own])
  }

  @Test("over the end of a minute mark both")
  func twoMinutes() {
    let world = World()
    for second in stride(from: 0.0, through: 130, by: 5) { world.trade(UInt64(second) + 10, price: 5, at: second) }
    world.hole(59.9, 60.1)
    #expect(world.candles().map(\.source) == [.partial, .partial, .own])
  }

  @Test("between two trades of the same moment mark their minute")
  func sameMoment() {
    let world = World()
    world.trade(1, price: 5, at: 0)
    world.trade(4, price: 5, at: 10)
    world.hole(10, 10)
    #expect(world.candles().map(\.source) == [.partial])
    world.hole(10, 10, isEnd: true, found: 2)
    #expect(world.candles().map(\.source) == [.own])
  }

  @Test("at a time that is still to come mark their minute at once: the venue's clock is ahead")
  func future() {
    let world = World()
    world.trade(1, price: 5, at: 0)
    world.trade(2, price: 5, at: 10)
    world.hole(12, 13)
    #expect(world.candles().map(\.source) == [.partial])
    world.hole(12, 13, isEnd: true, found: 2)
    #expect(world.candles().map(\.source) == [.own])
    // Those of the next minute say nothing of this one.
    world.trade(4, price: 5, at: 58)
    world.hole(61, 61)
    #expect(world.candles().map(\.source) == [.own])
  }

  @Test("of a closed minute publish its candle again with a higher revision; found ones mend it")
  func closed() throws {
    let world = World()
    world.trade(1, price: 5, at: 0)
    world.trade(4, price: 6, at: 58)
    world.advance(to: 62)
    #expect(
      world.published().first { $0.interval == .minute }.map { [$0.source == .own, $0.rev == 0] } == [true, true])
    world.hole(10, 58)
    world.advance(to: 64)
    let partial = try #require(world.published().first { $0.interval == .minute })
    #expect(partial.source == .partial && partial.rev == 1 && partial.volume == 2)
    world.trade(2, price: 9, at: 20, isLate: true)
    world.trade(3, price: 2, at: 30, isLate: true)
    world.hole(10, 58, isEnd: true, found: 2)
    world.advance(to: 66)
    let whole = try #require(world.published().first { $0.interval == .minute })
    #expect(whole.source == .own && whole.rev == 2 && whole.volume == 4)
    #expect(whole.open == 5 && whole.high == 9 && whole.low == 2 && whole.close == 6)
  }

  @Test("that are found are published, move neither the last price nor a pulse, and count once in a venue's minute")
  func late() {
    let world = World()
    world.trade(1, price: 5, at: 0)
    world.trade(4, price: 6, at: 50)
    world.changes.removeAll()
    world.trade(2, price: 9, at: 20, isLate: true)
    #expect(world.changes.trades.map(\.isLate) == [true])
    let pulses = world.changes.items.filter { if case .pulse = $0 { true } else { false } }
    #expect(pulses.isEmpty && world.market.instruments[0].lastTrade?.price == 6)
    #expect(world.candles().map(\.volume) == [3])
  }

  @Test("of a time without a connection, once found, make whole the minute in which it ended; others' gaps stay")
  func disconnected() {
    let world = World()
    for second in stride(from: 0.0, through: 70, by: 5) { world.trade(UInt64(second) + 10, price: 5, at: second) }
    world.hole(69, 69.5)
    world.trade(100, price: 5, at: 70.5)
    world.market.disconnect(into: &world.changes)
    world.trade(200, price: 5, at: 80)
    world.trade(201, price: 5, at: 121)
    #expect(world.candles().map(\.source) == [.own, .partial, .own])
    world.hole(70.5, 80, isEnd: true, found: 2)
    #expect(world.candles().map(\.source) == [.own, .partial, .own], "one hole is there still")
    world.hole(69, 69.5, isEnd: true, found: 2)
    #expect(world.candles().map(\.source) == [.own, .own, .own])
  }

  @Test("as long as a bucket are a gap of the line")
  func gaps() {
    let world = World()
    for second in stride(from: 0.0, through: 300, by: 1) { world.trade(UInt64(second) + 10, price: 5, at: second) }
    world.hole(100, 130)
    let state = world.market.instruments[0]
    #expect(state.sparkline(.hour, points: 360, now: world.now).gaps.count == 1)
    #expect(state.sparkline(.day, points: 96, now: world.now).gaps.isEmpty)
    world.hole(100, 130, isEnd: true, found: 2)
    #expect(state.sparkline(.hour, points: 360, now: world.now).gaps.isEmpty)
  }
}
