import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("What happens to slow clients, by itself")
struct SlowClientPolicyTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)
  private let policy = SlowClientPolicy(ClientLimits())

  private func load(
    _ bytes: Int = 0, replayed: Int = 0, age: Int64? = nil, isBehind: Bool = false, isBusy: Bool = false
  ) -> SlowClientPolicy.Load {
    .init(
      waitingBytes: bytes, replayedBytes: replayed, oldest: age.map { now + -$0 } ?? .distantFuture,
      isBehind: isBehind, isBusy: isBusy)
  }

  private func flow(progressAge: Int64 = 0, _ fill: (inout ClientFlow) -> Void = { _ in }) -> ClientFlow {
    var flow = ClientFlow()
    flow.progress = now + -progressAge
    fill(&flow)
    return flow
  }

  @Test("nothing waits: the client has caught up, unless it is in a slower class")
  func caughtUp() {
    var idle = flow()
    #expect(policy.look(at: &idle, load(), now: now) == .caughtUp)
    var degraded = flow {
      $0.degraded = 250
      $0.steppedAt = now
    }
    #expect(policy.look(at: &degraded, load(), now: now) == .keepWatching)
    #expect(policy.look(at: &degraded, load(isBusy: true), now: now + SlowClientPolicy.calmTime) == .keepWatching)
    #expect(policy.look(at: &degraded, load(), now: now + SlowClientPolicy.calmTime) == .restore)
  }

  @Test("too old or too much: one step down, a second apart, never while a request is being answered")
  func steps() {
    var old = flow()
    #expect(policy.look(at: &old, load(10, age: SlowClientPolicy.ageLimit), now: now) == .keepWatching)
    #expect(
      policy.look(at: &old, load(10, age: SlowClientPolicy.ageLimit + 1, isBusy: true), now: now) == .keepWatching)
    #expect(policy.look(at: &old, load(10, age: SlowClientPolicy.ageLimit + 1), now: now) == .stepDown)
    old.steppedAt = now
    #expect(policy.look(at: &old, load(10, age: SlowClientPolicy.ageLimit + 1), now: now) == .keepWatching)
    var much = flow { $0.unsent = ClientLimits().softQueuedBytes }
    #expect(policy.look(at: &much, load(1, age: 0), now: now) == .stepDown)
  }

  @Test("one that an operator holds goes to that class at once, is never given back more, and is then left alone")
  func held() {
    var held = flow { $0.held = 1_000 }
    #expect(policy.look(at: &held, load(isBusy: true), now: now) == .keepWatching)
    #expect(policy.look(at: &held, load(), now: now) == .hold)
    held.degraded = 1_000
    #expect(policy.look(at: &held, load(), now: now) == .caughtUp)
    held.degraded = 5_000
    held.steppedAt = now
    #expect(policy.look(at: &held, load(), now: now) == .keepWatching)
    #expect(policy.look(at: &held, load(), now: now + SlowClientPolicy.calmTime) == .restore)
  }

  @Test("over the hard bound, without what was replayed, or without progress: the end")
  func ends() {
    let hard = ClientLimits().hardQueuedBytes
    var replayed = flow()
    #expect(
      policy.look(at: &replayed, load(hard + 5, replayed: 5, age: 0), now: now)
        != .disconnect(why: "over \(hard) bytes"))
    #expect(
      policy.look(at: &replayed, load(hard + 6, replayed: 5, age: 0), now: now)
        == .disconnect(why: "over \(hard) bytes"))
    let stall = Int64(ClientLimits().stallSeconds) * Microseconds.second
    var stalled = flow(progressAge: stall - 1)
    #expect(policy.look(at: &stalled, load(isBehind: true), now: now) == .keepWatching)
    stalled.progress = now + -stall
    #expect(policy.look(at: &stalled, load(isBehind: true), now: now) == .disconnect(why: "no progress for 60 s"))
  }

  @Test("each watched client has its turn within ten looks, and what is booked adds up", arguments: testSeeds(10))
  func watchList(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var list = WatchList()
    var flows: [UInt32: ClientFlow] = [:]
    for step in 0..<400 {
      let slot = UInt32.random(in: 0..<60, using: &random)
      var flow = flows[slot] ?? ClientFlow()
      if flow.isWatched {
        if let moved = list.remove(&flow) { flows[moved.slot]?.watchIndex = moved.index }
        flows[slot] = nil
      } else {
        list.insert(slot, &flow, bytes: step)
        flows[slot] = flow
      }
      #expect(Set(list.slots) == Set(flows.keys) && list.slots.count == flows.count, "seed \(seed)")
      #expect(list.bytes == flows.values.reduce(0) { $0 + $1.countedBytes }, "seed \(seed)")
      for (slot, flow) in flows { #expect(list.slots[flow.watchIndex] == slot, "seed \(seed)") }
    }
    var seen: Set<UInt32> = []
    for _ in 0..<10 {
      for _ in 0..<list.looksDue {
        if let slot = list.next() { seen.insert(slot) }
        list.keepLast()
      }
    }
    #expect(seen == Set(flows.keys), "seed \(seed)")
  }
}
