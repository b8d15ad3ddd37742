import Bytes
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Every venue with ids of trades that begin anew, jump or have other digits: over a restart of the gateway, over a
/// lost connection, and beside the same trades that the venue sends again.
@Suite("Trades under other ids", .longComputation)
struct RenumberedTests {
  typealias Setup = BookPropertyTests.Setup

  private static let start = Timestamp(microseconds: 1_795_000_000_000_000)

  /// A feed, and what it published.
  private final class Run {
    let simulated: SimulatedVenue
    private(set) var connection: WatchedConnection!
    /// By symbol, oldest first.
    private(set) var published: [String: [Trade]] = [:]
    private(set) var marks: [TradeBreak] = []
    private let earlier: [String: [Trade]]

    init(_ setup: Setup, _ origin: SimulatedOrigin, at start: Timestamp, after earlier: [String: [Trade]]? = nil) throws
    {
      simulated = try RenumberedTests.venue(setup, origin, at: start)
      self.earlier = earlier ?? [:]
      connection = WatchedConnection(
        setup.venue, symbols: setup.symbols, simulated, bridgesTrades: earlier != nil
      ) { [unowned self] in note($0) }
    }

    private func note(_ pipeline: FeedPipeline) {
      take(pipeline.changes, pipeline.market)
      guard pipeline.market.bridgesTrades else { return }
      for case .instrument(let id) in pipeline.changes.items {
        let symbol = pipeline.market[id].instrument.symbol
        let kept = (earlier[symbol] ?? []).suffix(50).map { trade in
          var trade = trade
          (trade.instrument, trade.isBacklog) = (id, true)
          return trade
        }
        var changes = MarketChanges()
        pipeline.market.bridge(after: kept, isCounted: pipeline.engine.countsTrades, of: id, into: &changes)
        take(changes, pipeline.market)
      }
    }

    private func take(_ changes: borrowing MarketChanges, _ market: Market) {
      for item in changes.items {
        guard case .trades(let id, let range) = item else { continue }
        published[market[id].instrument.symbol, default: []] += changes.trades[range]
      }
      marks += changes.trades.map(\.breakBefore).filter { $0 != .none }
    }

    var count: Int { published.values.reduce(0) { $0 + $1.count } }

    /// Whether the newest published trade of each market is the venue's newest, to 2 s.
    func isCurrent(_ setup: Setup, _ simulated: SimulatedVenue) -> String? {
      for symbol in setup.symbols {
        let index = simulated.market.index(named: symbol)!
        let newest = simulated.market.instruments[index].recentTrades.last!.time
        let own = published["\(setup.name):\(symbol)"]?.last?.time ?? .distantPast
        if newest - own > 2 * Microseconds.second { return "\(symbol): \(newest - own) µs behind" }
      }
      return nil
    }
  }

  private static func venue(_ setup: Setup, _ origin: SimulatedOrigin, at start: Timestamp) throws -> SimulatedVenue {
    try SimulatedVenue(
      venue: setup.name, seed: 5, rate: 20, faults: [], start: start,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels), origin: origin)
  }

  private static func keys(_ trades: [String: [Trade]]) -> [String] {
    trades.flatMap { symbol, trades in
      trades.map { "\(symbol) \($0.id.text) \($0.time.microseconds) \($0.price) \($0.size)" }
    }
  }

  /// Whether a venue that begins like this has lower ids than the run before.
  private static func isLower(_ origin: SimulatedOrigin) -> Bool {
    switch origin {
    case .own, .numbered(from: 1): true
    case .numbered, .continued: false
    }
  }

  static let origins: [SimulatedOrigin] = [
    .own, .numbered(from: 1), .numbered(from: 700_000_000_000), .numbered(from: 1_900_000_000_000_000),
    .continued(seed: 5),
  ]

  @Test("are news at once after a restart, each published once", arguments: BookPropertyTests.setups)
  func restarted(_ setup: Setup) throws {
    let first = try Run(setup, .own, at: Self.start)
    first.connection.run(20)
    try #require(first.connection.isLive && first.count > 0)
    for origin in Self.origins {
      let second = try Run(
        setup, origin, at: first.connection.now + 3 * Microseconds.second, after: first.published)
      second.connection.run(30) { second.connection.isLive }
      second.connection.run(2)
      #expect(second.connection.isLive)
      #expect(second.isCurrent(setup, second.simulated) == nil, "\(setup.testDescription) \(origin)")
      second.connection.run(5)
      let keys = Self.keys(first.published) + Self.keys(second.published)
      #expect(Set(keys).count == keys.count, "\(setup.testDescription) \(origin): twice")
      let isLower = Self.isLower(origin)
      let isSaid = isLower && second.connection.pipeline.engine.countsTrades
      #expect(second.marks.contains(.renumbered) == isSaid, "\(setup.testDescription) \(origin): \(second.marks)")
      #expect(second.marks.count <= setup.symbols.count, "\(setup.testDescription) \(origin): said more than once")
    }
  }

  @Test("are news at once after a lost connection, each published once", arguments: BookPropertyTests.setups)
  func reconnected(_ setup: Setup) throws {
    for origin in Self.origins {
      let run = try Run(setup, .own, at: Self.start)
      run.connection.run(20)
      try #require(run.connection.isLive && run.count > 0)
      let other = try Self.venue(setup, origin, at: run.connection.now + Microseconds.second)
      run.connection.move(to: other)
      run.connection.run(60) { run.connection.isLive }
      run.connection.run(2)
      #expect(run.connection.isLive)
      #expect(run.isCurrent(setup, other) == nil, "\(setup.testDescription) \(origin)")
      let keys = Self.keys(run.published)
      #expect(Set(keys).count == keys.count, "\(setup.testDescription) \(origin): twice")
      let isLower = Self.isLower(origin)
      let isSaid = isLower && run.connection.pipeline.engine.countsTrades
      #expect(run.marks.contains(.renumbered) == isSaid, "\(setup.testDescription) \(origin)")
      #expect(run.connection.pipeline.market.renumberingCount <= setup.symbols.count)
    }
  }

  @Test(
    "what a venue sends again at each connection is published and counted once", arguments: BookPropertyTests.setups)
  func repeated(_ setup: Setup) throws {
    let run = try Run(setup, .own, at: Timestamp(microseconds: Self.start.microseconds / 60_000_000 * 60_000_000))
    for _ in 0..<12 {
      run.connection.run(15)
      run.connection.lose("by the test")
    }
    run.connection.run(15)
    try #require(run.count > 0)
    let keys = Self.keys(run.published)
    #expect(Set(keys).count == keys.count, "\(setup.testDescription): twice")
    let market = run.connection.pipeline.market
    #expect(market.renumberingCount == 0 && run.marks.isEmpty)
    for state in market.instruments {
      let name = state.instrument.symbol.drop { $0 != ":" }.dropFirst()
      let day = run.simulated.market.instruments[run.simulated.market.index(named: String(name))!].day
      let candles = state.candles(
        .minute, from: Self.start, to: .distantFuture, limit: 10, now: run.connection.now)
      for candle in candles where candle.isClosed {
        let own = day.minute(candle.time.microseconds / Microseconds.minute)
        #expect(
          Int64(candle.trades ?? 0) <= own.trades,
          "\(state.instrument.symbol) at \(candle.time): \(candle.trades ?? 0) of \(own.trades) trades")
      }
    }
  }

  @Test("what the restored candles have is not counted again", arguments: BookPropertyTests.setups)
  func restored(_ setup: Setup) throws {
    let minute = Timestamp(microseconds: Self.start.microseconds / 60_000_000 * 60_000_000)
    let first = try Run(setup, .own, at: minute)
    first.connection.run(122)
    let kept = first.connection.pipeline.market.instruments.map { state in
      state.candles(.minute, from: minute, to: .distantFuture, limit: 10, now: first.connection.now)
        .filter(\.isClosed)
    }
    var isRestored = false
    // The same venue, two seconds into a minute: its last trades are mostly of the minute before.
    let second = WatchedConnection(setup.venue, symbols: setup.symbols, first.simulated) { pipeline in
      guard !isRestored, pipeline.market.instruments.count == kept.count else { return }
      isRestored = true
      var changes = MarketChanges()
      for (state, candles) in zip(pipeline.market.instruments, kept) {
        _ = pipeline.market.restore(
          candles, of: state.instrument.id, now: first.connection.now, into: &changes)
      }
    }
    second.run(3)
    try #require(isRestored)
    for (state, candles) in zip(second.pipeline.market.instruments, kept) {
      let now = state.candles(.minute, from: minute, to: .distantFuture, limit: 10, now: second.now)
      for candle in candles where candle.source == .own {
        let other = now.first { $0.time == candle.time }
        #expect(
          // Sizes may have other scales in another run.
          other?.trades == candle.trades,
          "\(state.instrument.symbol): \(other?.trades ?? 0) trades, not \(candle.trades ?? 0)")
      }
    }
  }
}
