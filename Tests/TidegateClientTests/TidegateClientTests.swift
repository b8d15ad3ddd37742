import TestTraits
import Testing

@testable import TidegateClient

@Suite("Client", .realTime)
struct TidegateClientTests {
  static let url = TidegateURL("ws://127.0.0.1:1/v1/stream")!

  @Test("events arrive in order over the transport it was given")
  func events() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: Self.url, transport: transport)
    var events = client.events(.init(channels: [.quote], symbols: ["kraken:BTC-USD"])).makeAsyncIterator()
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    #expect(connection.sent.count == 2)
    connection.say(#"{"type":"welcome","id":2,"session":"s","node":"gw","version":"1","heartbeat_s":5}"#)
    connection.say(
      #"{"type":"subscribed","id":3,"ok":[{"stream":1,"channel":"quote","symbol":"kraken:BTC-USD","seq":0}],"failed":[]}"#
    )
    connection.say(CoreHarness.quote("snapshot", seq: 1))
    #expect(await events.next() == .connected(.init(session: "s", node: "gw", version: "1", heartbeatSeconds: 5)))
    #expect(await events.next() == .snapshot(ClientCoreTests.info, ClientCoreTests.quote("1.5")))
  }

  @Test("a slow consumer reads the latest state, not every one")
  func slow() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: Self.url, transport: transport)
    var events = client.events(.init(channels: [.quote], symbols: ["kraken:BTC-USD"])).makeAsyncIterator()
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    connection.say(CoreHarness.quote("snapshot", seq: 1))
    for seq in 2...5_000 { connection.say(CoreHarness.quote("update", prev: seq - 1, seq: seq, bid: "\(seq)")) }
    #expect(await events.next() == .snapshot(ClientCoreTests.info, ClientCoreTests.quote("5000")))
  }

  @Test("a reconnection that is asked for at once happens, and what the old connection still says is ignored")
  func reconnects() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: Self.url, transport: transport)
    var events = client.events(.init(channels: [.quote], symbols: ["kraken:BTC-USD"])).makeAsyncIterator()
    var connections = transport.newConnections.makeAsyncIterator()
    let first = try #require(await connections.next())
    first.receive(.opened)
    first.receive(.closed(code: 4202, reason: "taken over"))
    #expect(await events.next() == .disconnected(reason: .closed(code: 4202, reason: "taken over"), retryIn: .zero))
    let second = try #require(await connections.next())
    first.say(#"{"type":"welcome","session":"old","heartbeat_s":5}"#)
    second.receive(.opened)
    second.say(#"{"type":"welcome","session":"new","node":"","version":"","heartbeat_s":5}"#)
    #expect(await events.next() == .connected(.init(session: "new", node: "", version: "", heartbeatSeconds: 5)))
  }

  @Test("the sequence ends where coming back is forbidden")
  func ends() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: Self.url, transport: transport)
    var events = client.events(.init(channels: [.status])).makeAsyncIterator()
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    connection.receive(.closed(code: 4001, reason: "unauthorized"))
    #expect(await events.next() == .disconnected(reason: .closed(code: 4001, reason: "unauthorized"), retryIn: nil))
    #expect(await events.next() == nil)
  }

  @Test("dropping the iterator or cancelling its task closes the connection")
  func closes() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: Self.url, transport: transport)
    do {
      let events = client.events(.init(channels: [.status])).makeAsyncIterator()
      transport.connections.first?.receive(.opened)
      withExtendedLifetime(events) {}
    }
    #expect(transport.connections.first?.closedWith == 1000)
    var connections = transport.newConnections.makeAsyncIterator()
    _ = await connections.next()
    let task = Task { for await _ in client.events(.init(channels: [.status])) {} }
    let second = try #require(await connections.next())
    second.receive(.opened)
    task.cancel()
    await task.value
    #expect(second.closedWith == 1000)
  }
}
