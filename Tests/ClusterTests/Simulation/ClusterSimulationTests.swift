import TestSupport
import TestTraits
import Testing

@testable import Cluster

/// A whole cluster under faults, by seeds: two ingests, two edges, a network that loses, repeats and delays messages,
/// and nodes that are killed, stopped and cut off. `TIDEGATE_CLUSTER_SEEDS` sets how many seeds run.
@Suite("A simulated cluster", .longComputation)
struct ClusterSimulationTests {
  private static let count = environment("TIDEGATE_CLUSTER_SEEDS").flatMap { Int($0) } ?? 24

  @Test("without faults, one ingest publishes, and clients miss nothing")
  func calm() {
    let world = SimulatedCluster(seed: 1, faults: .init())
    world.run()
    #expect(world.violations == [])
    #expect(world.nodes.filter(\.isIngest).map(\.activations).reduce(0, +) == 1)
    #expect(world.delivered > 1_000 && world.green > 5_000 && world.notGreen == 0)
    #expect(world.longestSilence < 500_000)
    for node in world.nodes { for client in node.clients.values { #expect(client.saidLosses == 0) } }
  }

  @Test("three edges join 2,000 streams at once, and have all of them soon after an ingest is there")
  func manyStreams() {
    let world = SimulatedCluster(seed: 3, faults: .init(), edges: 3, keys: 2_000, end: 5_000_000)
    world.run()
    #expect(world.violations == [])
    // The first ingest claims after 1.0 to 1.2 s.
    #expect(world.wholeSince.map { $0 < 1_700_000 } == true, "\(world.wholeSince ?? 0)")
  }

  @Test("a rule that nodes break is seen to be broken", arguments: SimulatedCluster.Sabotage.allCases.dropFirst())
  func sabotage(_ sabotage: SimulatedCluster.Sabotage) {
    let found = testSeeds(60).contains { seed in
      let world = SimulatedCluster(
        seed: seed, faults: .init(loss: 0.06, duplication: 0.02, interval: 500_000, sabotage: sabotage))
      world.run()
      return !world.violations.isEmpty
    }
    #expect(found)
  }

  @Test("an ingest that is killed is replaced within two seconds, and clients miss no trade", arguments: testSeeds(10))
  func killedIngest(seed: UInt64) {
    let world = SimulatedCluster(seed: seed, faults: .init())
    world.schedule(.kill, at: 8_000_000)
    world.run()
    #expect(world.violations == [])
    #expect(world.longestSilence > 700_000 && world.longestSilence < 2_000_000, "\(world.longestSilence)")
    expectContinued(world)
  }

  @Test("an ingest that drains is replaced within 0.3 s, and clients miss no trade", arguments: testSeeds(10))
  func drainedIngest(seed: UInt64) {
    let world = SimulatedCluster(seed: seed, faults: .init())
    world.schedule(.drain, at: 8_000_000)
    world.run()
    #expect(world.violations == [])
    #expect(world.longestSilence < 300_000, "\(world.longestSilence)")
    #expect(world.notGreen == 0)
    expectContinued(world)
  }

  /// Another ingest has taken over, and every stream of trades goes on without a hole.
  private func expectContinued(_ world: SimulatedCluster) {
    #expect(world.nodes.map(\.activations).reduce(0, +) == 2)
    for node in world.nodes {
      for client in node.clients.values {
        #expect(client.saidLosses == 0)
        #expect(client.continuations == (SimulatedVenue.isBook(client.key) ? 0 : 1))
      }
    }
  }

  private func faulty(_ seed: UInt64) -> SimulatedCluster {
    let world = SimulatedCluster(
      seed: seed, faults: .init(loss: Double(seed % 4) * 0.03, duplication: 0.02, interval: 700_000))
    world.run()
    return world
  }

  /// Dots were green after a digest had waited in the socket of a stopped edge, where the first digests of an epoch
  /// were lost, and where late data of a feed was lost after a beacon had said that the feed is no longer late.
  @Test(
    "worlds in which a rule was broken once",
    arguments: [
      10_812_820_235_609_686_056, 11_567_191_032_942_212_320, 11_698_254_996_406_929_896,
      6_157_195_226_890_592_226, 6_980_267_759_517_059_012, 8_273_237_163_695_563_846,
    ] as [UInt64])
  func oldFaults(seed: UInt64) { #expect(faulty(seed).violations == []) }

  @Test("under faults of all kinds, no rule is broken")
  func faults() {
    var totals = (delivered: 0, green: 0, notGreen: 0, continued: 0, activations: 0)
    for seed in testSeeds(Self.count) {
      let world = faulty(seed)
      #expect(world.violations == [], "TIDEGATE_SEED=\(seed)")
      totals.delivered += world.delivered
      totals.green += world.green
      totals.notGreen += world.notGreen
      totals.activations += world.nodes.map(\.activations).reduce(0, +)
      for node in world.nodes { totals.continued += node.clients.values.map(\.continuations).reduce(0, +) }
    }
    // The rules had something to be checked on.
    guard Self.count >= 10 else { return }
    #expect(totals.delivered > Self.count * 1_000 && totals.green > Self.count * 1_000, "\(totals)")
    #expect(totals.notGreen > Self.count && totals.activations > Self.count * 2, "\(totals)")
    #expect(totals.continued > Self.count, "\(totals)")
  }
}
