import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Requests about alerts")
struct ControlRequestTests {
  @Test("a request goes out with its body as it was written, and its answer is the reply; what follows waits for it")
  func roundTrip() throws {
    let world = World()
    let client = world.client()
    client.send(
      "{\"op\":\"alert\",\"id\":\"x\",\"action\":\"create\",\"key\":\"k\",\"body\":{\"name\": \"a\"}}")
    client.send("{\"op\":\"ping\",\"id\":2}")
    world.settle()
    #expect(client.texts.of("pong").isEmpty)
    let asked = try #require(world.controls.first)
    #expect(asked.request == ControlRequest(.create, key: "k", body: Array("{\"name\": \"a\"}".utf8)))
    #expect(asked.grant.owner == Grant.localOwner)
    var actions: [HubAction] = []
    let fields = SharedBytes(Array("\"alert\":{}".utf8))
    world.hubs[0].answer(asked.client, number: asked.number, .success(fields), now: world.now, into: &actions)
    // Twice is once.
    world.hubs[0].answer(asked.client, number: asked.number, .success(fields), now: world.now, into: &actions)
    world.post(actions, from: 0)
    world.settle()
    #expect(client.texts.of("alert") == ["{\"type\":\"alert\",\"id\":\"x\",\"alert\":{}}"])
    #expect(client.texts.of("pong").count == 1)
  }

  @Test(
    "mistakes are named, and nothing goes out",
    arguments: [
      ("{\"op\":\"alert\"}", "bad_request", "one of: create"),
      ("{\"op\":\"alert\",\"action\":\"replace\",\"alert\":\"1\"}", "bad_request", "one of: create"),
      ("{\"op\":\"alert\",\"action\":\"ack\"}", "bad_request", "`alert` is missing"),
      ("{\"op\":\"alert\",\"action\":\"create\",\"alert\":\"1\"}", "bad_request", "takes no `alert`"),
      ("{\"op\":\"alert\",\"action\":\"ack\",\"alert\":7}", "bad_request", "`alert` must be a string"),
      ("{\"op\":\"alert\",\"action\":\"ack\",\"alert\":\"1\",\"key\":\"k\"}", "bad_request", "`key`"),
      ("{\"op\":\"alert\",\"action\":\"ack\",\"alert\":\"1\",\"revision\":\"1\"}", "bad_request", "`revision`"),
      ("{\"op\":\"alert\",\"action\":\"create\",\"key\":\"\"}", "bad_request", "`key` must be 1 to 128 bytes"),
      ("{\"op\":\"alert\",\"action\":\"ack\",\"alert\":\"1\",\"streams\":[]}", "bad_request", "no field `streams`"),
      ("{\"op\":\"ping\",\"action\":\"ack\"}", "bad_request", "no field `action`"),
    ])
  func refused(request: String, code: String, names: String) {
    let world = World()
    let texts = world.client().ask(request)
    #expect(texts.count == 1 && texts[0].contains("\"code\":\"\(code)\"") && texts[0].contains(names), "\(texts)")
    #expect(world.controls.isEmpty)
  }

  @Test("who has no channel alerts, or may be several people, is refused before anybody is asked")
  func forbidden() {
    #expect(ControlRequest.refusal(for: Grant(subject: "a", owner: "key:a", channels: [.trades]))?.code == .forbidden)
    #expect(ControlRequest.refusal(for: Grant(subject: "anonymous"))?.code == .forbidden)
    #expect(ControlRequest.refusal(for: .reader)?.code == .forbidden)
    #expect(ControlRequest.refusal(for: nil)?.code == .forbidden)
    #expect(ControlRequest.refusal(for: .everything) == nil)
  }
}
