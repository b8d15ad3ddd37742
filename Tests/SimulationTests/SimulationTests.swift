import Simulation
import TestSupport
import TestTraits
import Testing
import VenueSimulator

@Suite("The whole gateway on a simulated network", .longComputation)
struct SimulationTests {
  private static let prints = environment("TIDEGATE_TRACE") != nil
  /// `TIDEGATE_SEEDS` runs as many as one has time for; in turns, so that every core has some.
  private static let parts: [[UInt64]] = {
    let seeds = testSeeds(environment("TIDEGATE_SEEDS").flatMap(Int.init) ?? 20)
    return (0..<6).map { part in seeds.indices.filter { $0 % 6 == part }.map { seeds[$0] } }.filter { !$0.isEmpty }
  }()

  @Test(
    "connect, subscribe, stream, break, settle, drain: every client has every update accounted for or was told why",
    arguments: parts)
  func worlds(seeds: [UInt64]) {
    for seed in seeds {
      let scenario = Scenario(seed: seed)
      let report = World.run(scenario, prints: Self.prints)
      for fault in report.faults {
        Issue.record("\(scenario)\n\(fault)\nagain: \(replayCommand(seed: seed, size: .small))")
      }
    }
  }

  @Test(
    "venues that announce their connections' ends: the next ones are made first, nobody notices, and no feed begins again",
    arguments: testSeeds(4))
  func plannedEnds(seed: UInt64) throws {
    var scenario = Scenario.steady(seed: seed)
    scenario.venues = ["binance", "okx"]
    scenario.rate = seed % 2 == 0 ? 60 : 5
    for venue in scenario.venues {
      scenario.venueFaults[venue] = [
        try Fault(parsing: "planned-shutdown=6@4"), try Fault(parsing: "planned-shutdown=0.4@14"),
      ]
    }
    scenario.storm = 20_000_000_000
    let report = World.run(scenario, prints: Self.prints)
    for fault in report.faults { Issue.record("seed \(seed): \(fault)") }
    #expect(report.linesReplaced == 4 && report.handoversFailed == 0, "seed \(seed): \(report.linesReplaced) replaced")
    #expect(report.clients.connects == scenario.clients, "seed \(seed): a client had to come back")
  }

  @Test(
    "a symbol that a venue refuses for a while is carried some time later, with nothing else disturbed",
    arguments: testSeeds(2))
  func refusedForAWhile(seed: UInt64) {
    for venue in ["kraken", "coinbase", "okx"] {
      var scenario = Scenario.steady(seed: seed)
      scenario.venues = [venue]
      scenario.bases = ["BTC", "ETH"]
      scenario.rate = 4
      scenario.storm = 3_000_000_000
      scenario.venueFaults[venue] = [Fault(.refuse, symbol: venue == "okx" ? "ETH-USDT" : "ETH-USD", seconds: 20)]
      let report = World.run(scenario, prints: Self.prints)
      for fault in report.faults { Issue.record("seed \(seed), \(venue): \(fault)") }
      // One for the stream; the others are instrument lists.
      #expect(report.venueConnections <= 4, "seed \(seed), \(venue): \(report.venueConnections) connections")
      #expect(report.span > 60_000_000_000, "seed \(seed), \(venue): it was never refused")
    }
  }

  @Test("the same seed gives the same world, byte for byte", arguments: testSeeds(3))
  func determinism(seed: UInt64) {
    let first = World.run(Scenario(seed: seed))
    let second = World.run(Scenario(seed: seed))
    #expect(first.hash == second.hash, "seed \(seed)")
    #expect(first.network == second.network, "seed \(seed)")
  }
}
