import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Draining")
struct DrainTests {
  private func drain(_ world: World, window: Int64) {
    for loop in 0..<world.loops {
      var actions: [HubAction] = []
      world.hubs[loop].drain(window: window, now: world.now, into: &actions)
      world.post(actions, from: loop)
    }
    world.settle()
  }

  @Test("everybody is told a moment of its own, spread evenly over the window and all loops, and closed then with 4201")
  func spread() {
    let world = World(loops: 2)
    let clients = (0..<90).map { world.client(on: $0 % 3 == 0 ? 1 : 0) }
    let start = world.now
    drain(world, window: 10 * Microseconds.second)
    let told = clients.map { $0.notices.last?["reconnect_in_ms"] as? Int ?? -1 }
    for client in clients {
      #expect(client.notices.map { $0["code"] as? String } == ["drain"])
      #expect(client.notices.last?["deadline"] as? Int == Int(start.microseconds) + 10_000_000)
    }
    // 9 s for 60 clients of one loop and 30 of the other: in each second about ten go.
    for second in 0..<9 {
      let count = told.count { $0 > second * 1000 && $0 <= (second + 1) * 1000 }
      #expect((8...12).contains(count), "\(count) in second \(second)")
    }
    #expect(Set(told).count > 85)
    var closedBySecond: [Int] = []
    for _ in 0..<10 {
      world.run(milliseconds: 1000)
      closedBySecond.append(world.closed.count)
    }
    for (second, count) in closedBySecond.enumerated() {
      let due = told.count { $0 <= (second + 1) * 1000 }
      #expect(abs(due - count) <= 2, "\(count) closed after \(second + 1) s, \(due) were due")
    }
    #expect(world.closed.count == 90)
    #expect(world.closed.allSatisfy { $0.code == 4201 })
    #expect(world.hubs.reduce(0) { $0 + $1.evictedClients } == 90)
  }

  @Test(
    "a client whose connection takes nothing is closed with the notice still there to be handed over, without its data")
  func stuck() {
    let world = World()
    let client = world.client()
    _ = client.ask(#"{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]}]}"#)
    client.isStuck = true
    client.unsent(20_000)
    drain(world, window: 2 * Microseconds.second)
    for id in 0..<5 { world.trade(id: UInt64(id), price: 7) }
    world.run(milliseconds: 2000)
    #expect(world.closed.map(\.code) == [4201])
    var frames: [SharedBytes] = []
    world.hubs[0].takeControl(from: client.id, into: &frames)
    let texts = frames.map { String(decoding: $0.unsafeBytes, as: UTF8.self) }
    #expect(texts.contains { $0.contains(#""code":"drain""#) })
    #expect(!texts.contains { $0.contains(#""type":"update""#) })
    frames.removeAll()
    world.hubs[0].takeControl(from: client.id, into: &frames)
    #expect(frames.isEmpty)
  }

  @Test("who leaves by itself is not closed, who comes meanwhile goes with the last")
  func leavers() {
    let world = World()
    let clients = (0..<4).map { _ in world.client() }
    drain(world, window: 10 * Microseconds.second)
    clients[0].leave()
    world.run(milliseconds: 1000)
    let late = world.client()
    world.settle()
    #expect(late.notices.last?["reconnect_in_ms"] as? Int == 8000)
    world.run(milliseconds: 7900)
    #expect(world.closed.map(\.client) == clients[1...2].map(\.id))
    world.run(milliseconds: 200)
    #expect(Set(world.closed.map(\.client)) == Set((clients[1...] + [late]).map(\.id)))
  }

  @Test("data goes on until a client's moment")
  func dataGoesOn() {
    let world = World()
    world.quote(1, 2)
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    drain(world, window: 10 * Microseconds.second)
    world.run(milliseconds: 5000)
    world.quote(2, 3)
    world.settle()
    #expect(client.texts.of("update").count == 1)
    #expect(client.faults.isEmpty)
  }

  @Test("a wall clock that is set forward by an hour closes nobody early")
  func clockStep() {
    let world = World()
    let client = world.client()
    let slow = world.client()
    _ = slow.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    slow.isStuck = true
    slow.unsent(500)
    drain(world, window: 150 * Microseconds.second)
    world.run(milliseconds: 1000)
    world.step(by: 3600 * Microseconds.second)
    world.run(milliseconds: 58_000)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 5_000)
    #expect(world.closed.map(\.client) == [slow.id], "stalled for 60 s")
    #expect(world.closed.map(\.code) == [4108])
    world.run(milliseconds: 60_000)
    #expect(world.closed.map(\.client) == [slow.id, client.id])
  }
}
