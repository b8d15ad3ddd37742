import TestTraits
import Testing

@testable import TidegateClient

@Suite("Client tokens", .realTime)
struct TokenTests {
  private static let welcome = #"{"type":"welcome","session":"s","node":"gw","version":"1","heartbeat_s":5}"#

  @Test("without a token one is got before the first connection, and said in hello")
  func first() {
    var it = CoreHarness(refreshesToken: true)
    #expect(it.start().actions == [.refreshToken])
    #expect(it.renewed("t1").wantsConnection)
    let sent = it.opened().sent
    #expect(sent.first?.contains(#""token":"t1""#) == true)
    var other = CoreHarness(refreshesToken: true)
    _ = other.start()
    let end = other.renewed(nil)
    #expect(end.end == .noToken)
  }

  @Test("before a token expires a fresh one is got once and said on the same connection")
  func expiring() {
    var options = ClientOptions()
    options.token = "t1"
    var it = CoreHarness(options: options, refreshesToken: true)
    it.live()
    let notice = #"{"type":"notice","code":"expiring","expires":1790000000000000,"in_ms":60000}"#
    let asked = it.receive(notice)
    #expect(asked.actions.contains(.refreshToken))
    #expect(!it.receive(notice).actions.contains(.refreshToken))
    let sent = it.renewed("t2").sent
    #expect(sent.count == 1 && sent[0].contains(#""op":"hello""#) && sent[0].contains(#""token":"t2""#))
    #expect(it.renewed("t3").isSilent)
  }

  @Test("a refused token is replaced once; a second refusal in a row is the end")
  func refused() {
    var options = ClientOptions()
    options.token = "t1"
    var it = CoreHarness(options: options, refreshesToken: true)
    it.live()
    #expect(it.closed(4001).actions.contains(.refreshToken))
    #expect(it.renewed("t2").wantsConnection)
    _ = it.opened()
    _ = it.receive(Self.welcome)
    #expect(it.closed(4001).actions.contains(.refreshToken))
    #expect(it.renewed("t3").wantsConnection)
    _ = it.opened()
    #expect(it.closed(4001).end == .closed(code: 4001, reason: ""))
    // Without anybody to ask, the first refusal is the end.
    var plain = CoreHarness(options: options)
    plain.live()
    #expect(plain.closed(4001).end != nil)
  }

  @Test("a handshake refused with 401 has the token replaced once, and is final without anybody to ask")
  func refusedHandshake() {
    func refuse(_ it: inout CoreHarness) -> CoreHarness.Step {
      it.act { $0.refused(status: 401, retryAfter: nil, reason: "no", now: $1, into: &$2) }
    }
    var options = ClientOptions()
    options.token = "t1"
    var it = CoreHarness(options: options, refreshesToken: true)
    _ = it.start()
    #expect(refuse(&it).actions.contains(.refreshToken))
    #expect(it.renewed("t2").wantsConnection)
    #expect(refuse(&it).end?.fault == .credentials)
    var plain = CoreHarness(options: options)
    _ = plain.start()
    #expect(refuse(&plain).end == .refused(status: 401, reason: "no"))
  }

  @Test("the source is asked by the client itself")
  func source() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: GatewayClientTests.url, transport: transport, tokenSource: { "from-source" })
    var events = client.connectionEvents().makeAsyncIterator()
    var connections = transport.newConnections.makeAsyncIterator()
    let connection = try #require(await connections.next())
    connection.receive(.opened)
    #expect(connection.sent.first?.contains("from-source") == true)
    connection.say(Self.welcome)
    guard case .connected? = await events.next() else { return #expect(Bool(false)) }
  }
}
