import Simulation
import TestSupport
import TestTraits
import Testing

@Suite("Drains on a simulated network", .longComputation)
struct DrainTests {
  @Test("every client is told when to go, and goes then; nobody comes back, nothing is left", arguments: testSeeds(3))
  func steady(seed: UInt64) {
    var scenario = Scenario.steady(seed: seed)
    scenario.drain = Scenario.Drain(seconds: 4)
    let report = World.run(scenario)
    for fault in report.faults { Issue.record("seed \(seed): \(fault)") }
    #expect(report.drains == 1 && report.clients.drainNotices == scenario.clients, "seed \(seed)")
    #expect(report.clients.told == [4201: scenario.clients], "seed \(seed)")
    #expect(report.clients.streams == scenario.clients, "seed \(seed): a gateway that drains took somebody in")
  }

  @Test("also while the network does its worst, and when the drain is cut short", arguments: testSeeds(6))
  func storm(seed: UInt64) {
    var scenario = Scenario(seed: seed)
    var plan = Scenario.Drain(seconds: 1 + Int(seed % 4))
    plan.isInStorm = true
    plan.handsOver = seed % 2 == 0
    plan.isCutShort = seed % 3 == 0
    scenario.drain = plan
    let report = World.run(scenario)
    for fault in report.faults { Issue.record("seed \(seed): \(fault)") }
  }
}
