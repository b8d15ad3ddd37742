import Simulation
import TestSupport
import TestTraits
import Testing
import VenueSimulator

@Suite("Venues that fall silent before they are heard", .longComputation)
struct DeadVenueTests {
  @Test("a WebSocket handshake that is never answered is given up, and made anew", arguments: testSeeds(3))
  func handshake(seed: UInt64) {
    var scenario = Scenario.steady(seed: seed)
    scenario.venues = ["kraken", "coinbase"]
    scenario.storm = 6_000_000_000
    for venue in scenario.venues {
      // An hour is longer than the world lasts; from 5 s on answers come at once.
      scenario.venueFaults[venue] = [
        Fault(.slowHandshake, seconds: 3_600), Fault(.slowHandshake, seconds: 0.001, at: 5),
      ]
    }
    let report = World.run(scenario)
    for fault in report.faults { Issue.record("seed \(seed): \(fault)") }
    #expect(report.span < 40_000_000_000, "seed \(seed): \(report.span / 1_000_000_000) s")
  }
}
