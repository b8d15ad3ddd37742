import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Every venue, under everything that can go wrong, for as many seeds as one likes: `TIDEGATE_SEEDS=20000` for a long run,
/// `TIDEGATE_SEED=<number>` for the one of a failure.
@Suite("A live book is the venue's book", .longComputation)
struct BookPropertyTests {
  struct Setup: Sendable, CustomTestStringConvertible {
    let name: String
    let venue: Venue
    let symbols: [String]
    /// Levels a side of each symbol's book; more than the venue shows for one of them, where that is possible at a price.
    let levels: [Int]
    let oversight: VenueTrial.Oversight
    var testDescription: String { venue.label }

    /// - Parameter symbols: of one of the venue's connections.
    init(_ name: String, _ symbols: [String], levels: [Int], _ oversight: VenueTrial.Oversight) {
      self.name = name
      self.levels = levels
      venue = VenueRegistry.venue(named: name)!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      self.symbols = symbols
      self.oversight = oversight
    }

    /// - Parameter venue: speaks to the simulation of that name in another way than the registry's.
    init(_ venue: Venue, _ symbols: [String], levels: [Int], _ oversight: VenueTrial.Oversight) {
      name = venue.name
      self.venue = venue
      self.symbols = symbols
      self.levels = levels
      self.oversight = oversight
    }
  }

  static let setups = [
    // The checksum covers ten levels of each side; a hundred are subscribed.
    Setup(
      "kraken", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(order: .delivered, blindTo: [.gap, .reorder], vouched: 10, depth: 100)),
    // Nothing numbers its updates; a time that goes back is all that shows.
    Setup(
      "coinbase", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(order: .delivered, blindTo: [.gap, .reorder], seesLate: true, vouched: 0, depth: .max)),
    Setup(
      "binance", ["BTC-USDT", "ZEC-USDT"], levels: [30, 110],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max)),
    Setup(
      "bybit", ["BTC-USDT", "ZEC-USDT"], levels: [30, 215],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 200)),
    Setup(
      "binance", ["BTC-USDT-PERP", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max)),
    Setup(
      "okx", ["BTC-USDT", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 400)),
    Setup(
      "bybit", ["BTC-USDT-PERP", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 200)),
    Setup(
      "gate", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], levels: [30, 40, 415],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 400)),
    Setup(
      "kucoin", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], levels: [30, 40, 515],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 500)),
    // Gate's older book, joined to REST snapshots.
    Setup(
      GateHandler.venue(.bridged), ["BTC-USDT", "ZEC-USDT"], levels: [30, 110],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max)),
  ]

  static let seedCount = environment("TIDEGATE_SEEDS").flatMap { Int($0) } ?? 200

  @Test("whatever happens to it", arguments: setups)
  func trials(_ setup: Setup) throws {
    var total = VenueTrial.Figures()
    for seed in testSeeds(Self.seedCount) {
      let trial = try VenueTrial(
        setup.venue, simulation: setup.name, symbols: setup.symbols,
        excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels), oversight: setup.oversight, seed: seed)
      let figures = trial.run()
      for problem in figures.problems {
        Issue.record("TIDEGATE_SEED=\(seed), \(setup.venue.label): \(problem)")
      }
      total = total + figures
      if total.problems.count >= 3 { break }
    }
    print(
      "\(setup.venue.label): \(total.messages) messages, \(total.faults) faults, \(total.connections) connections,",
      "\(total.resyncs) resyncs, \(total.comparisons) books compared whole and \(total.comparisonsInPart) in part")
    #expect(total.comparisons > total.messages / 20, "the truth was hardly ever looked at")
    #expect(total.faults > 0 && total.connections > 0)
  }
}
