import Simulation
import TestSupport
import TestTraits
import Testing

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

  @Test("the same seed gives the same world, byte for byte", arguments: testSeeds(3))
  func determinism(seed: UInt64) {
    let first = World.run(Scenario(seed: seed))
    let second = World.run(Scenario(seed: seed))
    #expect(first.hash == second.hash, "seed \(seed)")
    #expect(first.network == second.network, "seed \(seed)")
  }
}
