import MarketData
import Testing

@testable import PubSub

@Suite("Clients that do not take what they asked for")
struct SlowClientTests {
  private func subscribed(_ world: World, _ channel: String, _ more: String = "") -> ModelClient {
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"\(channel)\",\"symbols\":[\"kraken:BTC-USD\"]\(more)}]}")
    return client
  }

  @Test("frames of one turn are never merged")
  func oneTurn() {
    let world = World()
    world.quote(1, 2)
    let client = subscribed(world, "quote")
    for price in 2...9 { world.quote(Int64(price), 10) }
    world.settle()
    #expect(client.texts.of("update").count == 8)
    #expect(client.faults.isEmpty)
  }

  @Test("of a state channel a blocked client never has two messages; once drained it gets a snapshot")
  func state() {
    let world = World()
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    let client = subscribed(world, "book")
    let before = client.texts.count
    client.isStuck = true
    client.unsent(500)
    for size in 2...30 {
      world.book(0, .delta, bids: [(10, Int64(size))], asks: [])
      world.carry()
      #expect(world.fanOuts[0].state(of: client.id)!.queue.count <= 1)
    }
    client.isStuck = false
    client.unsent(0)
    world.settle()
    #expect(client.texts.count == before + 1)
    #expect(client.snapshotReasons == ["subscribe", "slow"])
    #expect(client.streams[1]?.bids == ["1.0": "0.00000030"])
    world.book(0, .delta, bids: [(11, 1)], asks: [])
    world.settle()
    #expect(client.streams[1]?.bids.count == 2)
    #expect(client.faults.isEmpty)
  }

  @Test(
    "events wait up to the bound; past it a notice in their place says which were lost, and the next one links to it")
  func events() {
    var limits = ClientLimits()
    limits.queuedEvents = 10
    let world = World(limits: limits)
    let client = subscribed(world, "trades")
    client.isStuck = true
    client.unsent(500)
    for id in 1...35 {
      world.trade(id: UInt64(id), price: Int64(id))
      world.carry()
    }
    client.isStuck = false
    client.unsent(0)
    let before = client.texts.count
    world.settle()
    #expect(
      client.texts[before]
        == "{\"type\":\"notice\",\"code\":\"lost\",\"stream\":1,\"from_seq\":2,\"to_seq\":26,\"count\":25,\"events\":25}"
    )
    #expect(client.tradeIDs[1] == Array(26...35))
    #expect(client.faults.isEmpty)
  }

  @Test("a second of unsent data moves to the next class with a notice; 30 s of calm bring the rate back")
  func degrade() {
    let world = World()
    world.quote(1, 2)
    let client = subscribed(world, "quote")
    client.isStuck = true
    client.unsent(500)
    world.quote(2, 3)
    world.run(milliseconds: 1400)
    client.isStuck = false
    client.unsent(0)
    world.settle()
    #expect(client.notices.count == 1)
    #expect(client.notices[0]["action"] as? String == "degraded")
    #expect(client.notices[0]["interval_ms"] as? Int == 100)
    #expect(client.streams.count == 1)
    #expect(client.snapshotReasons == ["subscribe", "slow"])
    world.run(milliseconds: 29_000)
    #expect(client.notices.count == 1)
    world.run(milliseconds: 2_000)
    #expect(client.notices.count == 2)
    #expect(client.notices[1]["action"] as? String == "restored")
    #expect(client.ask("{\"op\":\"list\"}")[0].contains("\"stream\":1,"))
    #expect(client.faults.isEmpty)
  }

  @Test("no progress for 10 s closes with 4108 and what was unsent")
  func stall() {
    let world = World()
    let client = subscribed(world, "trades")
    client.isStuck = true
    client.unsent(500)
    world.run(milliseconds: 9_900)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 400)
    #expect(world.closed.map(\.code) == [4108])
    #expect(world.closed.first?.reason == "slow: no progress for 10 s, 500 bytes unsent, 0 messages merged, 0 lost")
    #expect(world.closed.allSatisfy { $0.reason.utf8.count <= 123 })
  }

  @Test("a degraded client that had nothing to take for long is not stalled by its next message")
  func quietThenBlocked() {
    let world = World()
    world.quote(1, 2)
    let client = subscribed(world, "quote")
    client.isStuck = true
    client.unsent(500)
    world.run(milliseconds: 1400)
    client.isStuck = false
    client.unsent(0)
    world.run(milliseconds: 20_000)
    #expect(client.notices.count == 1)
    client.isStuck = true
    world.quote(2, 3)
    world.run(milliseconds: 500)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 11_000)
    #expect(world.closed.map(\.code) == [4108])
  }

  @Test("over the hard limit closes with 4108 at once")
  func hardLimit() {
    var limits = ClientLimits()
    limits.hardQueuedBytes = 4000
    let world = World(limits: limits)
    let client = subscribed(world, "trades")
    client.isStuck = true
    client.unsent(500)
    for id in 1...40 {
      world.trade(id: UInt64(id), price: 1)
      world.carry()
    }
    #expect(world.closed.map(\.code) == [4108])
  }
}
