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
    world.fanOuts[0].feeds[0].lastMessage = world.now
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

  @Test("a change of a feed's state reaches everyone at once, and at most once a second")
  func round() {
    let world = World()
    let client = world.client()
    _ = client.ask("{\"op\":\"hello\",\"heartbeat_s\":60}")
    for state in [FeedState.reconnecting, .syncing, .stale, .live, .stale] {
      world.fanOuts[0].feeds[0].state = state
      world.run(milliseconds: 100)
    }
    #expect(client.texts.of("heartbeat").count == 1)
    #expect(client.texts.last?.contains("\"state\":\"reconnecting\"") == true)
    world.run(milliseconds: 1000)
    #expect(client.texts.of("heartbeat").count == 2)
    #expect(client.texts.last?.contains("\"state\":\"stale\"") == true)
  }
}
