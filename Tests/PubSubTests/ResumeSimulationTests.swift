import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import PubSub

@Suite("Clients that disconnect and come back at random, under a seeded random market", .longComputation)
struct ResumeSimulationTests {
  /// One user: its connection of the moment, and those before it.
  private final class User {
    var client: ModelClient
    var before: [ModelClient] = []
    let subscription: String
    init(_ client: ModelClient, _ subscription: String) {
      self.client = client
      self.subscription = subscription
    }

    /// A new connection that goes on, and asks for what the one before may not have got, as the client library does.
    func comeBack(on loop: Int) {
      let back = client.resumeRequest(on: loop)
      back.send(subscription)
      before.append(client)
      client = back
    }
  }

  @Test(
    "every update was received, merged into a snapshot or announced lost, on whatever loop and at whatever moment they came back",
    arguments: testSeeds(16))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var limits = ClientLimits()
    limits.queuedEvents = 30
    let world = World(loops: 2, instruments: 1, limits: limits)
    world.book(
      0, .snapshot, bids: (1...30).map { (1000 - $0, 5) }, asks: (1...30).map { (1000 + $0, 5) })
    var users: [User] = []
    for index in 0..<8 {
      let client = world.client(on: index % 2, isBinary: index % 4 > 1)
      client.send("{\"op\":\"hello\"}")
      let subscription =
        "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]},{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"],\"depth\":\(index < 4 ? 10 : 25)}]}"
      client.send(subscription)
      users.append(User(client, subscription))
    }
    world.settle()
    var nextTrade: UInt64 = 1
    var takeOvers = 0
    for _ in 0..<1_200 {
      let user = users.randomElement(using: &random)!
      switch Int.random(in: 0..<30, using: &random) {
      case 0..<10:
        world.trade(id: nextTrade, price: Int64.random(in: 990...1010, using: &random))
        nextTrade += 1
      case 10..<16:
        world.book(
          0, .delta, bids: [(Int64.random(in: 970...999, using: &random), Int64.random(in: 0...9, using: &random))],
          asks: [])
      case 16..<20:
        world.step(Int.random(in: 0..<2, using: &random), count: Int.random(in: 1...6, using: &random))
      case 20..<23: world.flush()
      case 23:
        // A part of what waits, so that the cut is anywhere.
        user.client.take(byteLimit: Int.random(in: 1...900, using: &random))
      case 24: if !user.client.hasLeft, !user.client.session.isEmpty { user.client.leave() }
      case 25..<27:
        guard !user.client.session.isEmpty else { continue }
        if user.client.hasLeft || Bool.random(using: &random) {
          if !user.client.hasLeft {
            takeOvers += 1
            user.client.isStuck = true
          }
          user.comeBack(on: Int.random(in: 0..<2, using: &random))
        }
      case 27:
        // The connection that was taken over ends at last.
        if let old = user.before.last(where: { !$0.hasLeft }) { old.leave() }
      case 28:
        guard !user.client.hasLeft, world.hubs[user.client.loop].state(of: user.client.id) != nil else { continue }
        user.client.isStuck.toggle()
        user.client.unsent(user.client.isStuck ? 1000 : 0)
      default:
        world.now = world.now + Int64.random(in: 1...900, using: &random) * Microseconds.millisecond
        world.tick()
      }
    }
    for user in users {
      if user.client.hasLeft || world.hubs[user.client.loop].state(of: user.client.id) == nil {
        world.carry()
        user.comeBack(on: Int.random(in: 0..<2, using: &random))
      }
      user.client.isStuck = false
      user.client.unsent(0)
    }
    world.settle()
    world.run(milliseconds: 3_000)

    var recovered = 0
    for user in users {
      for client in user.before + [user.client] {
        #expect(client.faults.isEmpty, "seed \(seed): \(client.faults.first ?? "")")
        recovered += client.texts.filter { $0.contains("\"recovered\":true") }.count
      }
      for (number, stream) in user.client.streams {
        #expect(
          stream.seq == world.hubs[user.client.loop].lists[UInt32(number)].seq,
          "seed \(seed): \(stream.channel) stopped at \(stream.seq ?? 0)")
      }
    }
    for pair in zip(users[..<4], users[1..<4]) {
      #expect(
        pair.0.client.streams.values.first { $0.channel == "book" }.map { ModelClient.text(of: $0) }
          == pair.1.client.streams.values.first { $0.channel == "book" }.map { ModelClient.text(of: $0) },
        "seed \(seed)")
    }
    #expect(recovered > 0, "seed \(seed): nobody ever went on")
    #expect(world.closed.allSatisfy { $0.code == 4202 || $0.code == 4108 }, "seed \(seed)")
    #expect(takeOvers > 0, "seed \(seed)")
  }
}
