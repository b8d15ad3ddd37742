import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Every venue, under everything that can go wrong, for as many seeds as one likes: `TIDEGATE_SEEDS=20000` for a long
/// run, `TIDEGATE_SEED=<number>` for the one of a failure, `TIDEGATE_VENUES=deribit,okx` for some venues only.
@Suite("A live book is the venue's book", .longComputation)
struct BookPropertyTests {
  struct Setup: Sendable, CustomTestStringConvertible {
    let name: String
    let venue: Venue
    let symbols: [String]
    /// Levels a side of each symbol's book; more than the venue shows for one of them, where that is possible at a
    /// price.
    let levels: [Int]
    let oversight: VenueTrial.Oversight
    var testDescription = ""

    /// - Parameter symbols: of one of the venue's connections.
    init(_ name: String, _ symbols: [String], levels: [Int], _ oversight: VenueTrial.Oversight) {
      self.name = name
      self.levels = levels
      venue = VenueRegistry.venue(named: name)!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      self.symbols = symbols
      self.oversight = oversight
      testDescription = venue.label
    }

    /// - Parameter venue: speaks to the simulation of that name in another way than the registry's.
    init(
      _ venue: Venue, _ manner: String, _ symbols: [String], levels: [Int], _ oversight: VenueTrial.Oversight
    ) {
      testDescription = "\(venue.label), \(manner)"
      name = venue.name
      self.venue = venue
      self.symbols = symbols
      self.levels = levels
      self.oversight = oversight
    }
  }

  static let setups = SimulationRegistry.trials.flatMap { $0.setups }

  /// The setups that are run.
  static let chosen: [Setup] = {
    guard let names = environment("TIDEGATE_VENUES")?.split(separator: ",").map(String.init) else { return setups }
    return setups.filter { names.contains($0.name) }
  }()

  /// All that a feed subscribes to, learned from one that nothing happens to.
  private func asked(_ setup: Setup) throws -> Set<SimulatedStream> {
    let trial = try VenueTrial(
      setup.venue, simulation: setup.name, symbols: setup.symbols,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels), oversight: setup.oversight, asked: nil,
      seed: 1)
    try #require(trial.run().problems == [])
    return trial.subscriptions
  }

  static let seedCount = environment("TIDEGATE_SEEDS").flatMap { Int($0) } ?? 200

  @Test("whatever happens to it", arguments: chosen)
  func trials(_ setup: Setup) throws {
    var total = VenueTrial.Figures()
    let asked = try asked(setup)
    try #require(setup.symbols.indices.allSatisfy { index in asked.contains { $0.instrument == index } })
    for seed in testSeeds(Self.seedCount) {
      let trial = try VenueTrial(
        setup.venue, simulation: setup.name, symbols: setup.symbols,
        excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels), oversight: setup.oversight,
        asked: asked, seed: seed)
      let figures = trial.run()
      for problem in figures.problems {
        Issue.record("TIDEGATE_SEED=\(seed), \(setup.testDescription): \(problem)")
      }
      total = total + figures
      if total.problems.count >= 3 { break }
    }
    print(
      "\(setup.testDescription): \(total.messages) messages, \(total.faults) faults, \(total.connections) connections,",
      "\(total.resyncs) resyncs, \(total.comparisons) books compared whole and \(total.comparisonsInPart) in part")
    #expect(total.comparisons > total.messages / 20, "the truth was hardly ever looked at")
    #expect(total.faults > 0 && total.connections > 0)
  }
}
