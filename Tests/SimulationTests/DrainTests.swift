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

  @Test(
    "a process that is stopped across the deadline tells every client all the same when it goes on",
    arguments: testSeeds(6))
  func stopped(seed: UInt64) {
    var scenario = Scenario.steady(seed: seed)
    scenario.clients = 12
    var plan = Scenario.Drain(seconds: 2)
    // For 1.5 to 4 s, from 0.6 s before the deadline on.
    plan.stop = (
      at: 1_400_000_000 + (seed % 60) * 10_000_000, span: 1_500_000_000 + (seed / 60 % 250) * 10_000_000
    )
    scenario.drain = plan
    let report = World.run(scenario)
    for fault in report.faults { Issue.record("seed \(seed): \(fault)") }
    #expect(report.clients.told == [4201: scenario.clients], "seed \(seed)")
    #expect(report.clients.cut == 0, "seed \(seed)")
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
