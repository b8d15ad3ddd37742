import Bytes
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("What waits for clients that do not read")
struct BacklogTests {
  private func world(events: Int = 10) -> World {
    var limits = ClientLimits()
    limits.queuedEvents = events
    return World(limits: limits)
  }

  private func follower(_ world: World, _ channels: String...) -> ModelClient {
    let client = world.client()
    let items = channels.map { "{\"channel\":\"\($0)\",\"symbols\":[\"kraken:BTC-USD\"]}" }
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[\(items.joined(separator: ","))]}")
    return client
  }

  private func block(_ client: ModelClient) {
    client.isStuck = true
    client.unsent(500)
  }

  private func unblock(_ client: ModelClient) {
    client.isStuck = false
    client.unsent(0)
  }

  private func trade(_ world: World, _ ids: ClosedRange<UInt64>) {
    for id in ids {
      world.trade(id: id, price: Int64(id))
      world.carry()
    }
  }

  @Test("a client that takes nothing is out of its streams' lists, and back in them once it has taken what waited")
  func away() {
    let world = World()
    world.book(0, .snapshot, bids: [(10, 1)], asks: [(20, 1)])
    world.quote(10, 20)
    let client = follower(world, "trades", "quote", "book")
    let lists = { world.hubs[0].lists.lists.filter { !$0.epoch.isEmpty } }
    block(client)
    for turn in 1...4 {
      world.trade(id: UInt64(turn), price: 15)
      world.quote(10 - Int64(turn), 20)
      world.book(0, .delta, bids: [(10, Int64(turn) + 1)], asks: [])
      world.carry()
    }
    #expect(lists().count == 3)
    #expect(lists().allSatisfy { $0.slots.isEmpty && $0.away == 1 })
    #expect(lists().map(\.behind).reduce(0, +) == 1)
    unblock(client)
    world.settle()
    #expect(lists().allSatisfy { $0.slots.count == 1 && $0.away == 0 && $0.behind == 0 })
    #expect(lists().allSatisfy { $0.backlog.count == 0 })
    #expect(world.hubs[0].lists.backlogBytes == 0)
    #expect(client.tradeIDs.values.flatMap { $0 } == [1, 2, 3, 4])
    #expect(client.lastQuote == 6)
    #expect(client.faults.isEmpty, "\(client.faults)")
  }

  @Test("each gets what it missed from one backlog, wherever it fell behind and however much at a time it takes")
  func shared() throws {
    let world = world(events: 10)
    let clients = (0..<3).map { _ in follower(world, "trades") }
    trade(world, 1...2)
    world.settle()
    block(clients[0])
    trade(world, 3...5)
    world.flush()
    block(clients[1])
    trade(world, 6...14)
    world.flush()
    #expect(world.hubs[0].lists.lists.map(\.behind).max() == 2)
    // One message at a time, with more coming between.
    clients[0].take(byteLimit: 1)
    trade(world, 15...15)
    world.flush()
    for client in clients { unblock(client) }
    world.settle()
    #expect(clients[2].tradeIDs[1] == Array(1...15))
    #expect(clients[1].tradeIDs[1] == [1, 2, 3, 4, 5] + Array(6...15))
    #expect(try #require(clients[0].tradeIDs[1]).suffix(10) == Array(6...15)[...])
    for client in clients {
      #expect(client.tradeIDs[1]!.count + client.lostEvents == 15)
      #expect(client.faults.isEmpty, "\(client.faults)")
    }
    #expect(world.hubs[0].lists.backlogBytes == 0)
  }

  @Test("a client with many streams shares its bound among them, the newest of each")
  func share() {
    var limits = ClientLimits()
    limits.queuedEvents = 12
    let world = World(loops: 3, limits: limits)
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"*:BTC-USD\"]}]}")
    block(client)
    for id in 1...30 {
      for loop in 0..<3 { world.trade(loop, id: UInt64(id), price: 1) }
      world.carry()
    }
    unblock(client)
    world.settle()
    #expect(client.tradeIDs.count == 3)
    #expect(client.tradeIDs.values.allSatisfy { $0.last == 30 && $0.count >= 4 })
    // Who has caught up leaves its share to the others.
    #expect(client.tradeIDs.values.map(\.count).max()! <= 12)
    #expect(client.tradeIDs.values.map(\.count).reduce(0, +) + client.lostEvents == 90)
    #expect(client.faults.isEmpty, "\(client.faults)")
  }

  @Test("whoever leaves, unsubscribes or pauses while behind leaves nothing behind", arguments: 0..<3)
  func leaving(how: Int) {
    let world = world()
    let client = follower(world, "trades")
    block(client)
    trade(world, 1...5)
    #expect(world.hubs[0].lists.backlogBytes > 0)
    switch how {
    case 0: client.leave()
    case 1: client.send("{\"op\":\"unsubscribe\",\"streams\":[1]}")
    default: client.send("{\"op\":\"pause\"}")
    }
    world.carry()
    #expect(world.hubs[0].lists.backlogBytes == 0)
    #expect(world.hubs[0].lists.lists.allSatisfy { $0.behind == 0 && $0.backlog.count == 0 })
    if how == 0 { return }
    unblock(client)
    if how == 2 { client.send("{\"op\":\"resume\"}") }
    world.settle()
    trade(world, 6...6)
    world.settle()
    #expect(client.tradeIDs[1] ?? [] == (how == 2 ? [6] : []))
    #expect(client.snapshotReasons == (how == 2 ? ["subscribe", "resume"] : ["subscribe"]))
    #expect(client.faults.isEmpty, "\(client.faults)")
  }

  @Test("a stream whose only subscriber is away is not left, and one whose last goes is")
  func publisher() {
    let world = world()
    let client = follower(world, "trades")
    block(client)
    trade(world, 1...3)
    #expect(world.hubs[0].lists.count == 1)
    client.leave()
    // A session that may come back holds its event streams for two minutes.
    world.run(milliseconds: 121_000)
    #expect(world.hubs[0].lists.count == 0)
  }

  @Test("all backlogs together have a bound")
  func bound() {
    let world = World()
    let client = follower(world, "trades")
    block(client)
    trade(world, 1...1)
    let hub = world.hubs[0]
    let own = hub.lists.backlogBytes
    hub.lists.backlogBytes = SubscriberLists.backlogBytesLimit
    trade(world, 2...20)
    #expect(hub.lists.backlogBytes <= SubscriberLists.backlogBytesLimit)
    hub.lists.backlogBytes = hub.lists.backlogBytes - SubscriberLists.backlogBytesLimit + own
    unblock(client)
    world.settle()
    #expect(client.lostEvents > 0)
    #expect((client.tradeIDs[1] ?? []).count + client.lostEvents == 20)
    #expect(client.faults.isEmpty, "\(client.faults)")
  }
}

@Suite("The last messages of a stream")
struct ReplayRingTests {
  @Test("under random use it holds what a plain list would")
  func model() {
    for seed in testSeeds(50) {
      var random = SeededGenerator(seed: seed)
      let limits = ReplayRing.Limits(events: Int.random(in: 1...40, using: &random), bytes: 200)
      var ring = ReplayRing()
      var model: [(frame: StreamFrame, time: Timestamp)] = []
      var seq: UInt64 = 5
      var now = Timestamp(microseconds: 0)
      var added: UInt64 = 0
      for _ in 0..<300 {
        now = now + Int64.random(in: 0...(8 * Microseconds.second), using: &random)
        let bytes = [UInt8](repeating: 7, count: Int.random(in: 1...30, using: &random))
        let frame = StreamFrame(
          stream: StreamID(rawValue: 1), kind: .update, prev: seq, seq: seq + 1,
          events: UInt32.random(in: 1...4, using: &random), bytes: bytes.withUnsafeBytes { SharedBytes($0) })
        seq += 1
        added += UInt64(frame.events)
        ring.append(frame, time: now, limits: limits)
        model.append((frame, now))
        model = held(model, limits)
        model.removeAll { now - $0.time > ReplayRing.ageLimit }
        #expect(ring.count == model.count, "seed \(seed)")
        #expect(ring.bytes == model.reduce(0) { $0 + $1.frame.bytes.count }, "seed \(seed)")
        #expect(ring.totalEvents == added)
        let after = UInt64.random(in: 0...(seq + 1), using: &random)
        let some = ReplayRing.Limits(
          events: Int.random(in: 0...40, using: &random), bytes: Int.random(in: 0...200, using: &random))
        var expected = model.filter { $0.frame.seq > after }
        let near = held(expected, some)
        expected = near.isEmpty ? expected.suffix(1) : near
        #expect(ring.items(after: after, limits: some).map(\.frame.seq) == expected.map(\.frame.seq), "seed \(seed)")
        let whole = model.drop { $0.frame.prev < after }
        let frames = whole.first?.frame.prev == after ? whole.map(\.frame.seq) : nil
        #expect(ring.frames(after: after, now: now)?.map(\.seq) == frames, "seed \(seed)")
      }
    }
  }

  /// The newest within limits.
  private func held(
    _ list: [(frame: StreamFrame, time: Timestamp)], _ limits: ReplayRing.Limits
  ) -> [(frame: StreamFrame, time: Timestamp)] {
    var list = list[...]
    while list.reduce(0, { $0 + Int($1.frame.events) }) > limits.events
      || list.reduce(0, { $0 + $1.frame.bytes.count }) > limits.bytes
    {
      list.removeFirst()
    }
    return Array(list)
  }
}
