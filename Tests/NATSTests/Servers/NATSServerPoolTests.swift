import TestSupport
import Testing

@testable import NATS

@Suite("The servers of a cluster")
struct NATSServerPoolTests {
  private func pool(_ names: [String], seed: UInt64 = 1) -> NATSServerPool {
    NATSServerPool(names.compactMap { NATSServerAddress($0) }, seed: seed)
  }

  @Test("after a failure, the next server is tried at once, and a failed one after a wait that grows to a limit")
  func failures() {
    var pool = pool(["a", "b"])
    let first = pool.next(now: 0)
    #expect(first.at == 0)
    pool.failed(first.address, now: 0, random: 7)
    let second = pool.next(now: 0)
    #expect(second.at == 0 && second.address != first.address)
    pool.failed(second.address, now: 0, random: 9)
    var now: Int64 = 0
    var waits: [Int64] = []
    for attempt in 0..<40 {
      let next = pool.next(now: now)
      waits.append(next.at - now)
      now = next.at
      pool.failed(next.address, now: now, random: UInt64(attempt) &* 0x9E37_79B9_7F4A_7C15)
    }
    #expect(waits[0] > 0 && waits[0] <= 100_000)
    #expect(waits.allSatisfy { $0 <= 5_000_000 })
    // Two servers, each at least half of the last ceiling apart from itself.
    #expect(waits.suffix(10).reduce(0, +) >= 10_000_000)
  }

  @Test("a connection forgets the failures of its server")
  func success() {
    var pool = pool(["a"])
    for _ in 0..<10 { pool.failed(pool.next(now: 0).address, now: 0, random: 3) }
    #expect(pool.next(now: 0).at > 1_000_000)
    pool.connected(pool.next(now: 0).address)
    #expect(pool.next(now: 0).at == 0)
    pool.failed(pool.next(now: 0).address, now: 0, random: 3)
    #expect(pool.next(now: 0).at <= 100_000)
  }

  @Test("clients spread over the servers")
  func spread() {
    var counts: [NATSServerAddress: Int] = [:]
    for seed in testSeeds(300) { counts[pool(["a", "b", "c"], seed: seed).next(now: 0).address, default: 0] += 1 }
    #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 60 }, "\(counts)")
  }

  @Test("named servers replace those named before; configured ones and the present one stay; the number is bounded")
  func discovered() throws {
    var pool = pool(["a"])
    let a = try #require(NATSServerAddress("a"))
    pool.discovered(["b:1", "c:1", "nats://u:p@x:1", "a"], from: a, seed: 1)
    #expect(pool.addresses.map(\.description) == ["nats://a:4222", "nats://b:1", "nats://c:1"])
    pool.discovered([], from: a, seed: 1)
    #expect(pool.addresses.count == 3)
    pool.discovered(["d:1"], from: try #require(NATSServerAddress("c:1")), seed: 1)
    #expect(pool.addresses.map(\.description) == ["nats://a:4222", "nats://c:1", "nats://d:1"])
    pool.discovered((0..<500).map { "h\($0):1" }, from: a, seed: 1)
    #expect(pool.addresses.count <= 1 + NATSServerPool.discoveredLimit)
  }

  @Test("a server in lame duck mode is avoided while there is another")
  func lameDuck() {
    var pool = pool(["a", "b"])
    let current = pool.next(now: 0).address
    pool.isLameDuck(current, now: 0)
    for now in [0, 60_000_000] as [Int64] {
      let next = pool.next(now: now)
      #expect(next.address != current && next.at == now)
    }
  }
}
