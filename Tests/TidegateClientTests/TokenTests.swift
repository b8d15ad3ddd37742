import TestTraits
import Testing

@testable import TidegateClient

@Suite("Client tokens", .realTime)
struct TokenTests {
  private static let welcome = #"{"type":"welcome","session":"s","node":"gw","version":"1","heartbeat_s":5}"#

  @Test("without a token one is got before the first connection, and said in hello")
  func first() {
    var it = CoreHarness(refreshesToken: true)
    #expect(it.start() == [.refreshToken])
    #expect(it.renewed("t1") == [.connect])
    let sent = it.opened().sent
    #expect(sent.first?.contains(#""token":"t1""#) == true)
    var other = CoreHarness(refreshesToken: true)
    _ = other.start()
    let end = other.renewed(nil)
    #expect(end.last == .finish && end.events.count == 1)
  }

  @Test("before a token expires a fresh one is got once and said on the same connection")
  func expiring() {
    var options = TidegateOptions()
    options.token = "t1"
    var it = CoreHarness(options: options, refreshesToken: true)
    it.live()
    let notice = #"{"type":"notice","code":"expiring","expires":1790000000000000,"in_ms":60000}"#
    let asked = it.receive(notice)
    #expect(asked.contains(.refreshToken))
    #expect(!it.receive(notice).contains(.refreshToken))
    let sent = it.renewed("t2").sent
    #expect(sent.count == 1 && sent[0].contains(#""op":"hello""#) && sent[0].contains(#""token":"t2""#))
    #expect(it.renewed("t3").isEmpty)
  }

  @Test("a refused token is replaced once; a second refusal in a row is the end")
  func refused() {
    var options = TidegateOptions()
    options.token = "t1"
    var it = CoreHarness(options: options, refreshesToken: true)
    it.live()
    #expect(it.closed(4001).last == .refreshToken)
    #expect(it.renewed("t2") == [.connect])
    _ = it.opened()
    _ = it.receive(Self.welcome)
    #expect(it.closed(4001).last == .refreshToken)
    #expect(it.renewed("t3") == [.connect])
    _ = it.opened()
    #expect(it.closed(4001).last == .finish)
    // Without anybody to ask, the first refusal is the end.
    var plain = CoreHarness(options: options)
    plain.live()
    #expect(plain.closed(4001).last == .finish)
  }

  @Test("the source is asked by the client itself")
  func source() async throws {
    let transport = ScriptedTransport()
    let client = TidegateClient(url: TidegateClientTests.url, transport: transport, tokenSource: { "from-source" })
    var events = client.events(.init(channels: [.status])).makeAsyncIterator()
    var connections = transport.newConnections.makeAsyncIterator()
    let connection = try #require(await connections.next())
    connection.receive(.opened)
    #expect(connection.sent.first?.contains("from-source") == true)
    connection.say(Self.welcome)
    #expect(await events.next() == .connected(.init(session: "s", node: "gw", version: "1", heartbeatSeconds: 5)))
  }
}
