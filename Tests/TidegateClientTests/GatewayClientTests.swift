import TestTraits
import Testing

@testable import TidegateClient

@Suite("Gateway client", .realTime)
struct GatewayClientTests {
  static let url = try! GatewayURL("ws://127.0.0.1:1/v1/stream")
  private static let welcome = #"{"type":"welcome","id":2,"session":"s","node":"gw","version":"1","heartbeat_s":5}"#

  @Test("typed subscriptions share one connection over the transport it was given")
  func subscriptions() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    var quotes = client.subscribe(.quote("kraken:BTC-USD")).makeAsyncIterator()
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    #expect(connection.sent.count == 2)
    connection.say(Self.welcome)
    connection.say(CoreHarness.subscribed(id: 3, CoreHarness.item("quote")))
    connection.say(CoreHarness.quote("snapshot", seq: 11))
    var books = client.subscribe(.book("kraken:BTC-USD", depth: .levels10)).makeAsyncIterator()
    #expect(connection.sent.count == 3)
    connection.say(CoreHarness.subscribed(id: 4, CoreHarness.item("book", stream: 2)))
    connection.say(
      CoreHarness.message("snapshot", "book", #"{"bids":[["1","1"]],"asks":[["2","1"]],"time":1}"#, stream: 2, seq: 1))
    let quote: StreamEvent<Quote>? = try await quotes.next()
    #expect(quote == .value(Quote(bid: ExactDecimal("1.5"), time: .init(microseconds: 4)), CoreHarness.quoteInfo))
    guard case .value(let book, _)? = try await books.next() else { return #expect(Bool(false)) }
    #expect(book.spread == 1 && transport.connections.count == 1)
  }

  @Test("a slow consumer reads the latest state, not every one")
  func slow() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    let subscription = client.subscribe(.quote("kraken:BTC-USD"))
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    connection.say(CoreHarness.subscribed(id: 3, CoreHarness.item("quote", seq: 1)))
    for seq in 2...5_000 { connection.say(CoreHarness.quote("update", prev: seq - 1, seq: seq, bid: "\(seq)")) }
    var events = subscription.makeAsyncIterator()
    guard case .value(let quote, _)? = try await events.next() else { return #expect(Bool(false)) }
    #expect(quote.bid == 5_000)
  }

  @Test("an iteration waits for what comes; a second one goes on where the first stopped")
  func iterations() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    let subscription = client.subscribe(.trades("kraken:BTC-USD"))
    let connection = try #require(transport.connections.first)
    let first = Task { () -> [String] in
      for try await case .value(let trades, _) in subscription { return trades.map(\.id) }
      return []
    }
    connection.receive(.opened)
    connection.say(CoreHarness.subscribed(id: 3, CoreHarness.item("trades")))
    connection.say(CoreHarness.trades("snapshot", [1], seq: 11))
    #expect(try await first.value == ["1"])
    connection.say(CoreHarness.trades("update", [2], prev: 11, seq: 12))
    var second = subscription.makeAsyncIterator()
    guard case .value(let trades, _)? = try await second.next() else { return #expect(Bool(false)) }
    #expect(trades.map(\.id) == ["2"])
  }

  @Test("a task that is cancelled ends its iteration, not the subscription")
  func cancelledTask() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    let subscription = client.subscribe(.quote("kraken:BTC-USD"))
    let task = Task { for try await _ in subscription {} }
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    task.cancel()
    try await task.value
    connection.say(CoreHarness.subscribed(id: 3, CoreHarness.item("quote")))
    connection.say(CoreHarness.quote("snapshot", seq: 11))
    var events = subscription.makeAsyncIterator()
    #expect(try await events.next() != nil)
    #expect(connection.sent.allSatisfy { !$0.contains("unsubscribe") })
  }

  @Test("a subscription that is cancelled, or that nobody holds, is unsubscribed from; its iteration ends")
  func cancels() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    let kept = client.subscribe(.quote("kraken:BTC-USD"))
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    connection.say(CoreHarness.subscribed(id: 3, CoreHarness.item("quote")))
    let waiting = Task { for try await _ in kept {} }
    do { _ = client.subscribe(.quote("kraken:ETH-USD")) }
    connection.say(CoreHarness.subscribed(id: 4, CoreHarness.item("quote", symbol: "kraken:ETH-USD", stream: 2)))
    #expect(connection.sent.last?.contains(#""op":"unsubscribe","id":5,"streams":[2]"#) == true)
    kept.cancel()
    try await waiting.value
    #expect(connection.sent.last?.contains(#""streams":[1]"#) == true)
    #expect(connection.closedWith == nil, "the connection stays for the next")
    client.close()
    #expect(connection.closedWith == 1000)
  }

  @Test("a reconnection that is asked for at once happens, and what the old connection still says is ignored")
  func reconnects() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    var events = client.connectionEvents().makeAsyncIterator()
    var connections = transport.newConnections.makeAsyncIterator()
    let first = try #require(await connections.next())
    first.receive(.opened)
    first.receive(.closed(code: 4202, reason: "taken over"))
    #expect(await events.next() == .disconnected(.closed(code: 4202, reason: "taken over"), retryIn: .zero))
    let second = try #require(await connections.next())
    first.say(Self.welcome.replacing("gw", with: "old"))
    second.receive(.opened)
    second.say(Self.welcome.replacing("gw", with: "new"))
    guard case .connected(let welcome)? = await events.next() else { return #expect(Bool(false)) }
    #expect(welcome.node == "new")
  }

  @Test("where coming back is forbidden, every subscription ends with the reason, and later ones too")
  func ends() async throws {
    let transport = ScriptedTransport()
    let client = GatewayClient(url: Self.url, transport: transport)
    var events = client.connectionEvents().makeAsyncIterator()
    var quotes = client.subscribe(.quote("kraken:BTC-USD")).makeAsyncIterator()
    let connection = try #require(transport.connections.first)
    connection.receive(.opened)
    connection.receive(.closed(code: 4001, reason: "unauthorized"))
    let failure = ConnectionFailure.closed(code: 4001, reason: "unauthorized")
    #expect(await events.next() == .disconnected(failure, retryIn: nil))
    #expect(await events.next() == nil)
    await #expect(throws: failure) { try await quotes.next() }
    var late = client.subscribe(.status).makeAsyncIterator()
    await #expect(throws: failure) { try await late.next() }
    #expect(failure.fault == .credentials && !failure.advice.isEmpty)
  }

  @Test("letting go of the client and all of its subscriptions closes the connection")
  func closes() async throws {
    let transport = ScriptedTransport()
    do {
      var client: GatewayClient? = GatewayClient(url: Self.url, transport: transport)
      let subscription = client?.subscribe(.status)
      transport.connections.first?.receive(.opened)
      client = nil
      #expect(transport.connections.first?.closedWith == nil, "a subscription keeps it")
      withExtendedLifetime(subscription) {}
    }
    #expect(transport.connections.first?.closedWith == 1000)
  }
}
