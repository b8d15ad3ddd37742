import MarketData
import TestSupport
import Testing

@testable import PubSub

/// A gateway has ten thousand clients, and most of them do nothing most of the time.
@Suite("What a client costs while it does nothing")
struct ClientStateTests {
  @Test("a client has 168 bytes, and nothing beyond them")
  func size() {
    #expect(instanceSize(of: ClientState.self) <= 168)
    #expect(MemoryLayout<ClientSlot>.stride <= 32)
    #expect(MemoryLayout<ClientRequests>.size <= 50)
    #expect(MemoryLayout<ClientAllowance>.size <= 24)
    #expect(MemoryLayout<Memberships>.size <= 16)
    #expect(MemoryLayout<ClientHeartbeat>.size <= 12)
    #expect(MemoryLayout<SessionToken>.size <= 24)
    let world = World()
    let client = world.client()
    #expect(world.hubs[0].state(of: client.id)?.hasExtras == false)
  }

  @Test("one that was behind and has caught up is as small as before; what it missed is still told")
  func caughtUp() throws {
    let world = World()
    let client = world.client()
    let items = ["trades", "quote"].map { "{\"channel\":\"\($0)\",\"symbols\":[\"kraken:BTC-USD\"]}" }
    _ = client.ask("{\"op\":\"subscribe\",\"id\":1,\"streams\":[\(items.joined(separator: ","))]}")
    let state = try #require(world.hubs[0].state(of: client.id))
    #expect(!state.hasExtras)
    client.isStuck = true
    client.unsent(500)
    for step in Int64(1)...200 {
      world.trade(id: UInt64(step), price: 1_000 + step)
      world.quote(1_000 + step, 1_001 + step)
      world.run(milliseconds: 100)
    }
    #expect(state.hasExtras && state.isWatched && state.memberships.marks > 0)
    client.isStuck = false
    client.unsent(0)
    world.run(milliseconds: 60_000)
    #expect(world.closed.isEmpty)
    #expect(!state.hasExtras && !state.isWatched && state.isDrained)
    #expect(state.merged + state.lost > 0)
  }

  @Test("one that an operator holds in a class is remembered, and forgotten with the hold")
  func held() throws {
    let world = World()
    let client = world.client()
    let state = try #require(world.hubs[0].state(of: client.id))
    world.hubs[0].hold(client.id, in: 1_000)
    world.run(milliseconds: 1_000)
    #expect(state.flow.degraded == 1_000 && state.hasExtras && !state.isWatched)
    world.hubs[0].hold(client.id, in: 0)
    world.run(milliseconds: 1_000)
    #expect(state.flow.degraded == 0 && !state.hasExtras)
  }

  @Test("one that was over its rate is forgotten by the second heartbeat after")
  func overRate() throws {
    let world = World()
    let client = world.client()
    let state = try #require(world.hubs[0].state(of: client.id))
    for _ in 0..<40 { client.send("{\"op\":\"list\"}") }
    world.settle()
    #expect(state.requests.allowance.remembersExcess)
    world.run(milliseconds: 10_000)
    #expect(!state.requests.allowance.remembersExcess && !state.hasExtras)
  }
}
