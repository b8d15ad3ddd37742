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
      #expect(world.hubs[0].state(of: client.id)!.queue.count <= 1)
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

  @Test("an operator holds a client in a class, whatever it asks for; let go, it has its rate back at once")
  func held() {
    let world = World()
    world.quote(1, 2)
    let client = subscribed(world, "quote")
    let hub = world.hubs[0]
    hub.hold(client.id, in: 1_000)
    world.run(milliseconds: 200)
    #expect(client.notices.map { $0["interval_ms"] as? Int } == [1_000])
    _ = client.ask(
      #"{"op":"subscribe","streams":[{"channel":"book","symbols":["kraken:BTC-USD"],"depth":10}]}"#)
    let subscriptions = ClientSubscription.list(of: client.id, in: hub, limit: 10) ?? []
    #expect(subscriptions.map(\.key.intervalMilliseconds) == [1_000, 1_000])
    #expect(subscriptions.map(\.wantedMilliseconds) == [0, 0])
    #expect(ClientSubscription.list(of: client.id, in: hub, after: subscriptions[0].stream, limit: 10)?.count == 1)
    // Calm changes nothing while it is held.
    world.run(milliseconds: 40_000)
    #expect(client.notices.count == 1)
    #expect(ClientFigures(client.id, of: hub)?.heldMilliseconds == 1_000)
    hub.hold(client.id, in: 0)
    world.run(milliseconds: 200)
    #expect(client.notices.last?["action"] as? String == "restored")
    #expect(ClientFigures(client.id, of: hub)?.degradedMilliseconds == 0)
    #expect(client.faults.isEmpty)
  }

  @Test("no progress for 60 s closes with 4108 and what was unsent")
  func stall() {
    let world = World()
    let client = subscribed(world, "trades")
    client.isStuck = true
    client.unsent(500)
    world.run(milliseconds: 59_900)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 400)
    #expect(world.closed.map(\.code) == [4108])
    #expect(world.closed.first?.reason == "slow: no progress for 60 s, 500 bytes unsent, 0 messages merged, 0 lost")
    #expect(world.closed.allSatisfy { $0.reason.utf8.count <= 123 })
  }

  @Test("more slow clients than one advance looks after: each has its turn within a second, and nothing is left booked")
  func manyStalled() {
    let world = World()
    let clients = (0..<600).map { _ in subscribed(world, "trades") }
    for client in clients {
      client.isStuck = true
      client.unsent(500)
    }
    world.trade(id: 1, price: 1)
    world.run(milliseconds: 1_000)
    let hub = world.hubs[0]
    #expect(hub.watchList.slots.count == 600)
    #expect(hub.queuedBytes >= 600 * 500)
    // Half of them go on in time.
    for client in clients.prefix(300) {
      client.isStuck = false
      client.unsent(0)
    }
    world.run(milliseconds: 58_800)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 1_400)
    #expect(Set(world.closed.map(\.client)) == Set(clients.suffix(300).map(\.id)))
    #expect(world.closed.count == 300 && world.closed.allSatisfy { $0.code == 4108 })
    // The others were slowed down for a while, and have their rate back.
    world.run(milliseconds: 1_000)
    #expect(hub.watchList.slots.isEmpty)
    #expect(hub.queuedBytes == 0)
    #expect(clients.prefix(300).allSatisfy { $0.tradeIDs[1] == [1] && $0.faults.isEmpty })
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
    // A kernel's queue that stays or grows is no progress.
    for more in 0..<61 {
      world.run(milliseconds: 1_000)
      world.hubs[0].noteKernelQueue(30_000 + more / 30, of: client.id, now: world.now)
    }
    #expect(world.closed.map(\.code) == [4108])
  }

  @Test("over the hard limit, which only replies can reach, closes with 4108")
  func hardLimit() {
    var limits = ClientLimits()
    limits.hardQueuedBytes = 2000
    let world = World(limits: limits)
    let client = subscribed(world, "trades")
    client.isStuck = true
    client.unsent(500)
    for id in 1...400 {
      world.trade(id: UInt64(id), price: 1)
      world.carry()
    }
    #expect(world.closed.isEmpty, "what is published waits in the stream's backlog")
    for _ in 0..<20 { client.send("{\"op\":\"list\"}") }
    world.run(milliseconds: 100)
    #expect(world.closed.map(\.code) == [4108])
  }
}

@Suite("Clients that read a little")
struct TrickleTests {
  /// A connection that takes `rate` bytes per 100 ms and has some room behind that, as the kernel's queue.
  private final class Trickle {
    let client: ModelClient
    let rate: Int
    /// Handed over and not yet read.
    var pipe = 0
    static let room = 16 << 10

    init(_ client: ModelClient, rate: Int) {
      self.client = client
      self.rate = rate
      client.isStuck = true
    }

    /// Reads, and takes more once half of the room is free, as a socket becomes writable.
    func turn() {
      pipe = max(0, pipe - rate)
      if pipe > 0 { client.world.hubs[0].noteKernelQueue(pipe, of: client.id, now: client.world.now) }
      guard pipe < Self.room / 2 else { return client.unsent(0) }
      client.unsent(0)
      while pipe < Self.room {
        let before = client.bytes
        client.take(byteLimit: 4 << 10)
        pipe += client.bytes - before
        if client.world.hubs[0].isAwaitingSnapshots(client.id) {
          client.world.carry()
        } else if client.bytes == before {
          break
        }
      }
      if pipe >= Self.room { client.unsent(1) }
    }

    var held: Int {
      let state = client.world.hubs[0].state(of: client.id)
      return (state?.queue.bytes ?? 0) + pipe
    }
  }

  @Test("are never closed, hold little, get the newest prices beside old trades, and are told of every loss")
  func trickle() {
    let world = World(instruments: 8)
    for instrument in 0..<8 {
      world.book(
        0, .snapshot, bids: (1...100).map { (1000 - $0, 1_000_000) }, asks: (1...100).map { (1000 + $0, 1_000_000) },
        instrument: instrument)
    }
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]},{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]},{\"channel\":\"book\",\"symbols\":[\"kraken:*\"],\"depth\":100,\"interval_ms\":0}]}"
    )
    let trickle = Trickle(client, rate: 205)
    var most = 0
    var id: UInt64 = 1
    var bid: Int64 = 1
    var oldest = 0
    for turn in 0..<600 {
      for _ in 0..<20 {
        world.trade(id: id, price: 100)
        id += 1
      }
      for instrument in 0..<8 {
        world.book(0, .delta, bids: [(Int64(900 + turn % 99), Int64(turn + 1))], asks: [], instrument: instrument)
      }
      world.quote(bid, bid + 1)
      bid += 1
      world.now = world.now + 100 * Microseconds.millisecond
      world.tick()
      world.carry()
      trickle.turn()
      world.carry()
      trickle.turn()
      for hub in world.hubs { hub.removeDirty() }
      most = max(most, trickle.held)
      if turn > 100, let seen = client.lastQuote { oldest = max(oldest, Int(bid - 1) - seen) }
    }
    #expect(world.closed.isEmpty, "\(world.closed)")
    #expect(most < 160 << 10, "\(most) bytes")
    // The pipe has room every 40 turns at this rate.
    #expect(oldest < 100, "the newest quote was \(oldest) turns old")
    #expect(client.notices.contains { $0["code"] as? String == "lost" })
    #expect(client.notices.contains { $0["action"] as? String == "degraded" })
    #expect(client.snapshotReasons.contains("slow"))
    #expect(client.texts.of("heartbeat").last?.contains("\"merged\":") == true)
    #expect(client.faults.isEmpty, "\(client.faults.first ?? "")")
  }

  @Test("a subscription to more than fits is filled in as there is room, not closed")
  func large() {
    let world = World(instruments: 200)
    for instrument in 0..<200 {
      world.book(
        0, .snapshot, bids: (1...100).map { (1000 - $0, 1_000_000) }, asks: (1...100).map { (1000 + $0, 1_000_000) },
        instrument: instrument)
    }
    let client = world.client()
    client.isStuck = true
    client.send(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:*\"],\"depth\":100}]}")
    world.carry()
    let state = world.hubs[0].state(of: client.id)!
    #expect(state.queue.bytes < 160 << 10)
    #expect(state.queue.bytes > 128 << 10)
    world.hubs[0].removeDirty()
    world.run(milliseconds: 500)
    #expect(world.closed.isEmpty)
    client.isStuck = false
    for _ in 0..<400 { world.settle() }
    #expect(Set(client.snapshotReasons.prefix(200)) == ["subscribe"])
    #expect(client.streams.values.filter { !$0.bids.isEmpty }.count == 200)
    #expect(client.faults.isEmpty, "\(client.faults.first ?? "")")
  }

  @Test("what the kernel passes on is progress, also where nothing is handed over for long")
  func kernelProgress() {
    let world = World()
    let client = world.client()
    client.isStuck = true
    client.unsent(500)
    world.hubs[0].noteKernelQueue(100_000, of: client.id, now: world.now)
    for step in 1...70 {
      world.run(milliseconds: 1_000)
      #expect(world.hubs[0].stallingClients(now: world.now) == [client.id])
      world.hubs[0].noteKernelQueue(100_000 - 1_000 * step, of: client.id, now: world.now)
    }
    #expect(world.closed.isEmpty)
    // A kernel's queue that stays or grows is no progress.
    for more in 0..<61 {
      world.run(milliseconds: 1_000)
      world.hubs[0].noteKernelQueue(30_000 + more / 30, of: client.id, now: world.now)
    }
    #expect(world.closed.map(\.code) == [4108])
  }

  @Test("the event bound counts bytes, too, and the loss is exact")
  func bytes() {
    var limits = ClientLimits()
    limits.softQueuedBytes = 16 << 10
    let world = World(limits: limits)
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    client.isStuck = true
    client.unsent(500)
    for id in 1...200 {
      world.trade(id: UInt64(id), price: 1)
      world.carry()
      #expect(world.hubs[0].state(of: client.id)!.queue.events.bytes <= limits.queuedEventBytes)
    }
    client.isStuck = false
    client.unsent(0)
    world.settle()
    let got = client.tradeIDs[1] ?? []
    #expect(got.last == 200)
    #expect(got.count + client.lostEvents == 200)
    #expect(client.faults.isEmpty)
  }
}
