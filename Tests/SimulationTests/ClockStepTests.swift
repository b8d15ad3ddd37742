import MarketData
import Simulation
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Gateway

@Suite("Steps of the wall clock", .longComputation)
struct ClockStepTests {
  private static let hour: Int64 = 3_600_000_000

  @Test(
    "the whole gateway: no connection is lost for a step in either direction, and heartbeats keep their cadence",
    arguments: testSeeds(3))
  func world(seed: UInt64) {
    var scenario = Scenario.steady(seed: seed)
    let before = World.run(scenario)
    scenario.clockSteps = [
      (2_000_000_000, 5 * Self.hour), (4_000_000_000, -10 * Self.hour), (7_000_000_000, 5_000_000),
      (9_000_000_000, -900_000),
    ]
    let report = World.run(scenario)
    for fault in before.faults + report.faults { Issue.record("seed \(seed): \(fault)") }
    #expect(report.venueConnections == before.venueConnections, "seed \(seed): a feed was given up")
    #expect(report.clients.connects == scenario.clients, "seed \(seed): a client had to come back")
    #expect(report.clients.told == [4201: scenario.clients], "seed \(seed)")
    // One a second and client; the world stands for longer than its clients do.
    #expect(report.clients.heartbeats >= scenario.clients * 15, "seed \(seed): \(report.clients.heartbeats) heartbeats")
  }

  @Test("the gateway's clock jumps forward with the wall clock, and never stands still or goes back when that does")
  func clock() {
    let network = FaultyTransport(seed: 1)
    let host = network.host("10.0.0.1")
    var clock = GatewayClock(kernel: host)
    #expect(clock.follow() == nil)
    let start = clock.now()
    host.wallError = Self.hour
    #expect(clock.follow() == Self.hour)
    #expect(clock.now() - start == Self.hour)

    host.wallError = 0
    #expect(clock.follow() == -Self.hour)
    var last = clock.now()
    for _ in 0..<100 {
      network.run(for: 1_000_000_000)
      #expect(clock.follow() == nil, "a step is told once")
      let now = clock.now()
      #expect((900_000...1_000_000).contains(now - last), "\(now - last) µs for a second")
      last = now
    }
  }
}
