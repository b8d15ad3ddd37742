import Simulation
import TestSupport
import Testing

@Suite("The whole gateway on a simulated network")
struct SimulationTests {
  private static let prints = environment("TIDEGATE_TRACE") != nil
  /// `TIDEGATE_SEEDS` runs as many as one has time for.
  private static let seeds = testSeeds(environment("TIDEGATE_SEEDS").flatMap(Int.init) ?? 200)

  @Test("connect, subscribe, stream, break, settle, drain: every client has every update accounted for or was told why")
  func worlds() {
    for seed in Self.seeds {
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
