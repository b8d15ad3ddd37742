import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("How long what was made of a market stands")
struct PartStampTests {
  private static let route = MarketRoute(market: 0, instrument: InstrumentID(0))
  private static let views: [MarketView] = [
    .snapshot(points: 96), .snapshot(points: 1_440), .ticker, .trades(limit: 3), .sparkline(points: 24),
    .sparkline(.hour, points: 360), .sparkline(.week, points: 96), .sparkline(.all, points: 50), .book(depth: 1),
    .book(depth: 0),
  ]

  /// What was made once, and what of.
  private struct Made {
    var stamp: PartStamp
    var text: String?
    var step: Int
  }

  private static func text(_ view: MarketView, _ world: World) -> String? {
    world.publishers[0].text(of: view, at: route, now: world.now).map { String(decoding: $0.fields, as: UTF8.self) }
  }

  /// Something that happens to a market.
  private static func step(_ number: Int, _ world: World, _ random: inout SeededGenerator) {
    let id = InstrumentID(0)
    let price = Int64.random(in: 990...1_010, using: &random)
    switch Int.random(in: 0..<16, using: &random) {
    case 0:
      var ticker = Ticker(instrument: id, time: world.now)
      ticker.last = price
      if Bool.random(using: &random) { ticker.open = 1_000 }
      world.apply { $0.events.append(.ticker(ticker)) }
    case 1, 2: world.trade(id: UInt64(number), price: price)
    case 3:
      // Of an earlier time, as a venue tells it to who connects.
      var trade = Trade(
        instrument: id, id: TradeID(UInt64(number)), price: price, size: 5, side: .sell,
        time: world.now + -Int64.random(in: 0...(90 * Microseconds.minute), using: &random))
      trade.isBacklog = Bool.random(using: &random)
      world.apply { $0.events.append(.trade(trade)) }
    case 4: world.quote(price - 1, price + 1)
    case 5: world.book(0, .snapshot, bids: [(price - 1, 5)], asks: [(price + 1, 5)])
    case 6: world.book(0, .delta, bids: [(980, Int64(number % 3))], asks: [])
    // A book that is crossed, and one that has nothing new but its time.
    case 7: world.book(0, .delta, bids: [(1_020, 1)], asks: [])
    case 8: world.book(0, .delta, bids: [], asks: [])
    case 9:
      world.changes.removeAll()
      world.markets[0].disconnect(into: &world.changes)
      world.publish(0)
    case 10:
      let interval = CandleInterval.allCases.randomElement(using: &random) ?? .minute
      let span = Int64.random(in: 1...40, using: &random) * interval.length
      let candle = Candle(
        instrument: id, interval: interval, time: interval.start(of: world.now + -span), open: price, high: price + 2,
        low: price - 2, close: price, volume: 7, quoteVolume: nil, trades: nil, rev: 0, source: .venue, isClosed: true)
      world.changes.removeAll()
      _ = world.markets[0].restore([candle], of: id, now: world.now, into: &world.changes)
      world.publish(0)
    case 11:
      var trade = Trade(
        instrument: id, id: TradeID(UInt64(number)), price: price, size: 5, side: .sell,
        time: world.now + -Microseconds.minute)
      trade.isBacklog = true
      _ = world.markets[0].restore(lastTrade: trade)
      world.publishers[0].restore([trade], market: 0)
    case 12: world.tick()
    default: break
    }
  }

  private static func pass(_ world: World, _ random: inout SeededGenerator) {
    let longest: Int64 = [0, 2_000, 2_000_000, 80_000_000, 5_000_000_000, 90_000_000_000].randomElement(using: &random)!
    world.now = world.now + Int64.random(in: 0...longest, using: &random)
    // To a moment at which something may turn: the end of a second, of a minute, of a day.
    let length = [Microseconds.second, Microseconds.minute, 15 * Microseconds.minute, Microseconds.day]
      .randomElement(using: &random)!
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    world.now = Timestamp(microseconds: (world.now.microseconds / length + 1) * length)
    world.now = world.now + [-1, 0, 1].randomElement(using: &random)!
  }

  @Test("as long as a stamp is current, and wherever tags are equal, the text is the same", arguments: testSeeds(10))
  func currency(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let world = World(quotesFromBook: seed % 2 == 0)
    var made = Self.views.map { _ in [Made]() }
    var known = Self.views.map { _ in [UInt64: String]() }
    var upheld = 0
    for step in 0..<200 {
      Self.pass(world, &random)
      Self.step(step, world, &random)
      for (index, view) in Self.views.enumerated() {
        guard let stamp = world.publishers[0].stamp(of: view, at: Self.route, now: world.now) else {
          Issue.record("seed \(seed): the market is gone")
          return
        }
        let text = Self.text(view, world)
        #expect(stamp.isCurrent(at: world.now), "seed \(seed), step \(step), \(view): of no use at all")
        for old in made[index] where old.stamp.isCurrent(at: world.now) {
          #expect(old.text == text, "seed \(seed), steps \(old.step) and \(step), \(view): current, and another")
          upheld += 1
        }
        made[index].append(Made(stamp: stamp, text: text, step: step))
        if made[index].count > 8 { made[index].removeFirst() }
        guard let tag = stamp.tag, let text else { continue }
        if let before = known[index][tag] {
          #expect(before == text, "seed \(seed), step \(step), \(view): one tag for two texts")
        }
        known[index][tag] = text
      }
    }
    #expect(upheld > 150, "seed \(seed): stamps are of little use")
  }

  @Test("what another instrument shows, and what time leaves alone, keeps a stamp; a moment after its time it is over")
  func rest() throws {
    let world = World(instruments: 2, quotesFromBook: true)
    world.now = Timestamp(microseconds: world.now.microseconds / Microseconds.day * Microseconds.day)
    world.trade(id: 1, price: 15)
    // At the very moment at which a market is seen for the first time, nothing is certain of the next.
    world.now = world.now + 1
    let stamps = try Self.views.map {
      try #require(world.publishers[0].stamp(of: $0, at: Self.route, now: world.now))
    }
    for _ in 0..<9 {
      world.now = world.now + Microseconds.second
      world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)], instrument: 1)
      #expect(stamps.allSatisfy { $0.isCurrent(at: world.now) })
    }
    // A bucket of the hour's line is over, then a minute.
    world.now = world.now + (Microseconds.second - 1)
    let over = zip(Self.views, stamps).filter { !$1.isCurrent(at: world.now) }.map(\.0)
    #expect(over == [.sparkline(.hour, points: 360)])
    world.now = world.now + 50 * Microseconds.second
    #expect(!stamps[0].isCurrent(at: world.now) && !stamps[2].isCurrent(at: world.now))
    #expect(stamps[3].isCurrent(at: world.now) && stamps[8].isCurrent(at: world.now))
    // The book of a market is one thing, its trades another.
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    #expect(stamps[3].isCurrent(at: world.now) == false, "a quote came with the book")
    #expect(!stamps[8].isCurrent(at: world.now))
    #expect(
      world.publishers[0].stamp(of: .ticker, at: MarketRoute(market: 3, instrument: .init(0)), now: world.now) == nil)
  }
}
