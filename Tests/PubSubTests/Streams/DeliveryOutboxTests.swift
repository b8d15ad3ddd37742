import Bytes
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Deliveries to a loop that does not take them")
struct DeliveryOutboxTests {
  private static func frame(_ stream: UInt32, _ seq: UInt64, events: UInt32 = 0) -> Delivery {
    .frame(
      StreamFrame(
        stream: StreamID(rawValue: stream), kind: .update, prev: seq - 1, seq: seq, events: events,
        bytes: SharedBytes(Array("0123456789".utf8))), loops: 1)
  }

  @Test("frames are merged by stream, answers stay in their order, and nothing grows with time")
  func merges() {
    var outbox = DeliveryOutbox(to: 0)
    for round in 0..<1_000 as Range<UInt64> {
      for stream in 1...5 as ClosedRange<UInt32> { outbox.append(Self.frame(stream, round + 1, events: 2)) }
      outbox.merge()
      #expect(outbox.deliveries.count == 5 && outbox.bytes == 0)
    }
    #expect(outbox.framesMissed == 5_000)
    outbox.append(.nothing(StreamID(rawValue: 3), loop: 0, client: ClientID(slot: 0, generation: 1)))
    outbox.append(Self.frame(3, 1_001, events: 2))
    outbox.append(Self.frame(4, 1_001, events: 2))
    outbox.merge()
    let missed = outbox.deliveries.map { delivery -> MissedFrames? in
      if case .missed(let missed, _) = delivery { missed } else { nil }
    }
    #expect(missed.count == 7 && missed[5] == nil)
    #expect(missed[2] == MissedFrames(stream: StreamID(rawValue: 3), first: 1, last: 1_000, events: 2_000))
    #expect(missed[3] == MissedFrames(stream: StreamID(rawValue: 4), first: 1, last: 1_001, events: 2_002))
    #expect(missed[6] == MissedFrames(stream: StreamID(rawValue: 3), first: 1_001, last: 1_001, events: 2))
    outbox.removeAll()
    #expect(outbox.isEmpty && outbox.bytes == 0)
  }

  @Test(
    "whoever subscribes on such a loop is told what is lost, and has the same book as everybody",
    arguments: testSeeds(3))
  func subscribers(seed: UInt64) {
    let world = World(loops: 2, instruments: 2)
    var random = SeededGenerator(seed: seed)
    func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    var price: Int64 = 1_000
    var trades: UInt64 = 0
    world.book(1, .snapshot, bids: [(900, 1), (899, 1)], asks: [(1_100, 1), (1_101, 1)])
    let wish =
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"coinbase:BTC-USD\"]},{\"channel\":\"book\",\"symbols\":[\"coinbase:BTC-USD\"],\"depth\":\"full\"},{\"channel\":\"quote\",\"symbols\":[\"coinbase:BTC-USD\"]}]}"
    let near = world.client(on: 1)
    _ = near.ask(wish)
    let far = (0..<3).map { _ in world.client(on: 0) }
    for client in far { _ = client.ask(wish) }
    // One of them is slow, too.
    var outbox = DeliveryOutbox(to: 0)
    var late: [ModelClient] = []
    for _ in 0..<10 {
      let isHeld = pick(2) == 0
      far[2].isStuck = pick(3) == 0
      for _ in 0..<(1 + pick(30)) {
        price += Int64(pick(21)) - 10
        trades += 1
        world.trade(1, id: trades, price: price)
        world.book(
          1, .delta, bids: [(800 + Int64(pick(90)), Int64(pick(3)))], asks: [(1_200 + Int64(pick(90)), Int64(pick(3)))]
        )
        guard isHeld else {
          world.settle()
          continue
        }
        // Whoever comes meanwhile has an answer among what is held.
        if pick(20) == 0 {
          let client = world.client(on: 0)
          client.send(wish)
          late.append(client)
        }
        world.step(1)
        var others: [World.Mail] = []
        for item in world.mail[0] {
          if case .delivery(let delivery) = item { outbox.append(delivery) } else { others.append(item) }
        }
        world.mail[0] = others
        outbox.merge()
        world.flush()
      }
      world.mail[0] = outbox.deliveries.map { .delivery($0) } + world.mail[0]
      outbox.removeAll()
      world.settle()
      world.run(milliseconds: 100 * (1 + pick(3)))
    }
    far[2].isStuck = false
    world.run(milliseconds: 3_000)
    let book = near.streams.values.first { $0.channel == "book" }
    for client in far + late + [near] {
      #expect(client.faults.isEmpty, "seed \(seed): \(client.faults)")
      let own = client.streams.values.first { $0.channel == "book" }
      // One that was slow may be in another rate class.
      #expect(own?.bids == book?.bids && own?.asks == book?.asks, "seed \(seed)")
    }
    for client in far[..<2] {
      let ids = client.tradeIDs.values.first ?? []
      #expect(
        UInt64(ids.count + client.lostEvents) == trades,
        "seed \(seed): \(ids.count), \(client.lostEvents) lost of \(trades)")
    }
    #expect(outbox.framesMissed > 0 && far[0].lostEvents > 0, "seed \(seed)")
  }
}
