import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Heartbeats")
struct HeartbeatTests {
  @Test("come at the cadence asked for, count the data frames before them, and tell the age of each feed")
  func cadence() {
    let world = World()
    let client = world.client()
    _ = client.ask("{\"op\":\"hello\",\"heartbeat_s\":2}")
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    world.hubs[0].feeds[0].lastMessage = world.now
    for id in 0..<100 {
      world.trade(id: UInt64(id), price: Int64(id + 1))
      world.run(milliseconds: 100)
    }
    let beats = client.texts.of("heartbeat")
    #expect(beats.count == 5)
    #expect(client.faults.isEmpty)
    #expect(beats[0].contains("\"feeds\":{\"kraken\":{\"state\":\"live\",\"indicator\":\"connected\",\"age_ms\":"))
  }

  @Test("are spread over the cadence")
  func spread() {
    let world = World()
    let clients = (0..<200).map { _ in world.client() }
    var most = 0
    var total = 0
    for _ in 0..<50 {
      let before = clients.reduce(0) { $0 + $1.texts.count }
      world.run(milliseconds: 100)
      let beats = clients.reduce(0) { $0 + $1.texts.count } - before
      most = max(most, beats)
      total += beats
    }
    #expect(total == 200)
    #expect(most <= 10)
  }

  @Test(
    "a client that comes after a step of the clock or a pause, before time has been let pass, gets its heartbeats",
    arguments: [86_400, 200])
  func afterStep(seconds: Int64) {
    for isStep in [true, false] {
      let world = World()
      world.run(milliseconds: 500)
      if isStep {
        world.step(by: seconds * Microseconds.second)
      } else {
        world.now = world.now + seconds * Microseconds.second
      }
      let client = world.client()
      _ = client.ask("{\"op\":\"hello\",\"heartbeat_s\":2}")
      world.run(milliseconds: 10_000)
      #expect((4...6).contains(client.texts.of("heartbeat").count), "\(client.texts.of("heartbeat").count)")
    }
  }

  @Test("a client that comes before the first advance gets them too")
  func beforeFirstAdvance() {
    let hub = SubscriberHub(loop: 0, loops: 1, identity: .init(node: "gw-a", version: "1.0"), heartbeatSeconds: 1)
    let start = Timestamp(microseconds: 1_790_000_000_000_000)
    _ = hub.open(secret: SessionSecret(high: 0, low: 1), now: start)
    var actions: [HubAction] = []
    var beats = 0
    for step in 4...40 {
      hub.advance(to: start + Int64(step) * 100_000, into: &actions)
      for client in hub.dirty {
        var frames: [SharedBytes] = []
        hub.take(
          from: client, byteLimit: .max, now: start + Int64(step) * 100_000, into: &frames, actions: &actions)
        beats += frames.count
      }
      hub.removeDirty()
    }
    #expect((3...5).contains(beats), "\(beats) heartbeats")
  }

  @Test("a change of a feed's state reaches everyone at once, and at most once a second")
  func round() {
    let world = World()
    let client = world.client()
    _ = client.ask("{\"op\":\"hello\",\"heartbeat_s\":60}")
    for state in [FeedState.reconnecting, .syncing, .stale, .live, .stale] {
      world.hubs[0].feeds[0].state = state
      world.run(milliseconds: 100)
    }
    #expect(client.texts.of("heartbeat").count == 1)
    #expect(client.texts.last?.contains("\"state\":\"reconnecting\"") == true)
    world.run(milliseconds: 1000)
    #expect(client.texts.of("heartbeat").count == 2)
    #expect(client.texts.last?.contains("\"state\":\"stale\"") == true)
  }
}
