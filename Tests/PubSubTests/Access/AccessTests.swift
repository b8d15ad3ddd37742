import Foundation
import MarketData
import Testing

@testable import PubSub

@Suite("Access to streams")
struct AccessTests {
  private func world(instruments: Int = 1, anonymous: Grant? = nil) -> World {
    let world = World(loops: 2, instruments: instruments)
    for hub in world.hubs {
      hub.asksForTokens = true
      hub.anonymousGrant = anonymous
    }
    return world
  }

  private static let hello = "{\"op\":\"hello\",\"id\":1,\"token\":\"t\"}"

  @Test("before a grant nothing but hello is answered, and what follows hello waits for the grant")
  func order() {
    let world = world()
    let client = world.client()
    #expect(client.ask("{\"op\":\"list\"}")[0].contains("\"code\":\"unauthorized\""))
    #expect(client.ask("{\"op\":\"hello\",\"id\":1}")[0].contains("\"code\":\"unauthorized\""))
    client.send(Self.hello)
    client.send("{\"op\":\"list\",\"id\":2}")
    world.settle()
    #expect(world.asked.map(\.token) == ["t"] && client.texts.count == 2)
    client.authorize(Grant(subject: "a"))
    world.settle()
    #expect(
      client.texts[2].hasPrefix("{\"type\":\"welcome\",\"id\":1")
        && client.texts[3].hasPrefix("{\"type\":\"list\",\"id\":2"))
    #expect(world.closed.isEmpty)
  }

  @Test("who has shown no token gets five requests a second and 16 KiB in one; a grant begins anew")
  func strangers() {
    let world = world()
    let client = world.client()
    for _ in 0..<5 { #expect(client.ask("{\"op\":\"list\"}")[0].contains("\"code\":\"unauthorized\"")) }
    #expect(client.ask("{\"op\":\"list\"}")[0].contains("\"code\":\"rate_limited\""))
    #expect(client.inputDelay == 200_000)
    world.now = world.now + 200_000
    let large = "{\"op\":\"hello\",\"client\":\"\(String(repeating: "x", count: 16 << 10))\"}"
    #expect(client.ask(large)[0].contains("\"code\":\"message_too_large\""))
    world.now = world.now + 200_000
    client.send(Self.hello)
    // Nothing is taken until the token has been looked at.
    #expect(client.inputDelay == .max)
    client.authorize(Grant(subject: "a"))
    world.settle()
    #expect(client.inputDelay == 0)
    for _ in 0..<20 { #expect(client.ask("{\"op\":\"ping\"}").of("pong").count == 1) }
  }

  @Test("a token that is refused closes with 4001, or with 4129 where it may come back")
  func refused() {
    let world = world()
    for (code, why) in [(CloseCode.unauthorized, "the key is not known"), (CloseCode.rateLimited, "too many")] {
      let client = world.client()
      client.send(Self.hello)
      client.refuse(why, code: code)
      #expect(world.closed.last?.code == code)
      // A key with too many connections is a good key.
      #expect(world.closed.last?.reason == (code == CloseCode.unauthorized ? "unauthorized: \(why)" : why))
      #expect(client.ask("{\"op\":\"list\"}").isEmpty)
    }
  }

  @Test("a second token whose key has too many connections is told so, and not that it is not good")
  func refusedLater() {
    let world = world()
    let client = world.client()
    client.send(Self.hello)
    client.authorize(Grant(subject: "a"))
    client.send(Self.hello)
    client.refuse("too many", code: CloseCode.rateLimited)
    world.settle()
    #expect(client.texts.last?.contains(#""code":"rate_limited","message":"too many""#) == true)
  }

  @Test("heartbeats and the status show the feeds that the grant covers, and of those the symbols that it allows")
  func feeds() throws {
    let world = world()
    var statuses = [FeedStatus(venue: "kraken", state: .live, since: world.now)]
    statuses.append(FeedStatus(venue: "coinbase", state: .stale, since: world.now))
    statuses[0].syncing = ["kraken:BTC-USD": "sequence gap", "kraken:ETH-USD": "sequence gap"]
    statuses[0].failed = ["kraken:FOO-USD": "unknown"]
    for hub in world.hubs { hub.feeds = statuses }
    var out: [Delivery] = []
    world.publishers[0].publish(status: statuses, now: world.now, into: &out)
    func client(_ patterns: [[String]]) throws -> ModelClient {
      let client = world.client()
      client.send(#"{"op":"hello","token":"t","heartbeat_s":1}"#)
      client.authorize(Grant(subject: "a", symbols: try patterns.map { try #require(SymbolRules($0)) }))
      _ = client.ask(#"{"op":"subscribe","streams":[{"channel":"status"}]}"#)
      return client
    }
    let cases: [(patterns: [[String]], shows: [String], hides: [String])] = [
      ([], ["kraken", "coinbase", "kraken:ETH-USD", "kraken:FOO-USD"], []),
      ([["*"]], ["kraken", "coinbase", "kraken:ETH-USD", "kraken:FOO-USD"], []),
      ([["kraken:BTC-USD"]], ["kraken", "kraken:BTC-USD"], ["coinbase", "kraken:ETH-USD", "kraken:FOO-USD"]),
      ([["coinbase:*"]], ["coinbase"], ["kraken"]),
      ([["*:BTC-USD"]], ["kraken", "coinbase", "kraken:BTC-USD"], ["kraken:ETH-USD"]),
      (
        [["kraken:*", "coinbase:*"], ["kraken:ETH-USD"]], ["kraken", "kraken:ETH-USD"], ["coinbase", "kraken:FOO-USD"]
      ),
      ([[]], [], ["kraken", "coinbase"]),
    ]
    let clients = try cases.map { try client($0.patterns) }
    // A change is for each as the first snapshot is.
    statuses[1].state = .live
    world.publishers[0].publish(status: statuses, now: world.now, into: &out)
    world.post(out)
    world.run(milliseconds: 2_500)
    for (one, client) in zip(cases, clients) {
      let beat = try #require(client.texts.of("heartbeat").last)
      let status = client.texts.filter { $0.contains(#""channel":"status""#) && $0.contains(#""data""#) }
      #expect(status.count == 2)
      for name in one.shows where !name.contains(":") { #expect(beat.contains("\"\(name)\""), "\(beat)") }
      for name in one.hides { #expect(!beat.contains("\"\(name)\""), "\(beat)") }
      for text in status {
        for name in one.shows { #expect(text.contains("\"\(name)\""), "\(one.patterns): \(text)") }
        for name in one.hides { #expect(!text.contains("\"\(name)\""), "\(one.patterns): \(text)") }
      }
      #expect(client.faults.isEmpty)
    }
  }

  @Test("a grant that becomes narrower ends the status that showed more")
  func narrowerStatus() throws {
    let world = world()
    let client = world.client()
    client.send(Self.hello)
    client.authorize(Grant(subject: "a"))
    _ = client.ask(#"{"op":"subscribe","streams":[{"channel":"status"}]}"#)
    client.authorize(Grant(subject: "a", symbols: [try #require(SymbolRules(["coinbase:*"]))]))
    world.settle()
    #expect(client.texts.last?.contains(#""code":"forbidden""#) == true)
    let texts = client.ask(#"{"op":"subscribe","streams":[{"channel":"status"}]}"#)
    #expect(texts[0].contains(#""total":1"#))
  }

  @Test("without a token within 10 s a client is closed with 4001")
  func tokenTime() {
    let world = world()
    let late = world.client()
    let good = world.client()
    good.send(Self.hello)
    good.authorize(Grant(subject: "a"))
    world.run(milliseconds: 9_900)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 1_500)
    #expect(world.closed.map(\.client) == [late.id] && world.closed[0].code == 4001)
    world.run(milliseconds: 60_000)
    #expect(world.closed.count == 1)
  }

  @Test("who has no token yet hears nothing of the feeds, neither at the cadence nor when one changes its state")
  func heartbeats() {
    let world = world()
    let stranger = world.client()
    let friend = world.client()
    friend.send("{\"op\":\"hello\",\"id\":1,\"token\":\"t\",\"heartbeat_s\":1}")
    friend.authorize(Grant(subject: "a"))
    world.run(milliseconds: 6_000)
    let before = friend.texts.of("heartbeat").count
    #expect((5...7).contains(before))
    world.hubs[0].feeds[0].state = .reconnecting
    world.run(milliseconds: 2_000)
    #expect(friend.texts.of("heartbeat").contains { $0.contains("reconnecting") })
    #expect(stranger.texts.isEmpty, "\(stranger.texts)")
  }

  @Test("a client is told a minute before its grant ends, closed with 4001 at its end, and stays with a fresh token")
  func expiry() throws {
    let world = world()
    let clients = [world.client(), world.client()]
    for client in clients {
      client.send(Self.hello)
      client.authorize(Grant(subject: "a", expires: world.now + 120 * Microseconds.second))
      world.settle()
      #expect(
        client.texts.of("welcome")[0].contains("\"expires\":\((world.now + 120 * Microseconds.second).microseconds)"))
    }
    world.run(milliseconds: 58_000)
    #expect(clients.allSatisfy { $0.notices.isEmpty })
    world.run(milliseconds: 4_000)
    for client in clients {
      #expect(client.notices.map { $0["code"] as? String } == ["expiring"])
      let left = try #require(client.notices[0]["in_ms"] as? Int)
      #expect((58_000...60_000).contains(left))
    }
    clients[0].send("{\"op\":\"hello\",\"id\":2,\"token\":\"fresh\"}")
    clients[0].authorize(Grant(subject: "a", expires: world.now + 300 * Microseconds.second))
    world.settle()
    #expect(clients[0].texts.of("welcome").count == 2)
    world.run(milliseconds: 57_000)
    #expect(world.closed.isEmpty)
    world.run(milliseconds: 3_000)
    #expect(world.closed.map(\.client) == [clients[1].id] && world.closed[0].code == 4001)
    #expect(world.closed[0].reason.contains("expired"))
    world.run(milliseconds: 120_000)
    #expect(world.closed.count == 1 && clients[0].notices.count == 1)
  }

  @Test("a bad token in a session leaves what was granted before, and says so")
  func badRenewal() {
    let world = world()
    let client = world.client()
    client.send(Self.hello)
    client.authorize(Grant(subject: "a"))
    world.settle()
    client.send("{\"op\":\"hello\",\"id\":7,\"token\":\"bad\"}")
    client.send("{\"op\":\"ping\",\"id\":8}")
    client.refuse("the token has expired")
    world.settle()
    #expect(client.texts.suffix(2).first?.contains("\"id\":7,\"code\":\"unauthorized\"") == true, "\(client.texts)")
    #expect(client.texts.last?.hasPrefix("{\"type\":\"pong\",\"id\":8") == true)
    #expect(world.closed.isEmpty)
  }

  @Test("what is not allowed is refused per item, wildcards are cut to what is")
  func items() throws {
    let world = world(instruments: 3)
    let client = world.client()
    client.send(Self.hello)
    client.authorize(
      Grant(
        subject: "a", channels: [.trades, .status],
        symbols: [try #require(SymbolRules(["kraken:A1-USD", "coinbase:*"]))]))
    world.settle()
    let reply = client.ask(
      "{\"op\":\"subscribe\",\"streams\":["
        + "{\"channel\":\"trades\",\"symbols\":[\"kraken:A1-USD\",\"kraken:BTC-USD\",\"kraken:*\",\"*:A2-USD\",\"kraken:NO-USD\"]},"
        + "{\"channel\":\"book\",\"symbols\":[\"kraken:A1-USD\"]},{\"channel\":\"status\"}]}"
    ).of("subscribed")[0]
    #expect(
      Set(client.streams.values.map { $0.channel + " " + $0.symbol }) == [
        "trades kraken:A1-USD", "trades coinbase:A2-USD", "status ",
      ])
    let failed = try #require(reply.components(separatedBy: "\"failed\":").last)
    #expect(
      failed.contains(
        "\"item\":0,\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"error\":{\"code\":\"forbidden\""))
    #expect(
      failed.contains("\"item\":1,\"channel\":\"book\",\"symbol\":\"kraken:A1-USD\",\"error\":{\"code\":\"forbidden\""))
    #expect(failed.contains("\"symbol\":\"kraken:NO-USD\",\"error\":{\"code\":\"unknown_symbol\""))
    #expect(failed.components(separatedBy: "\"code\"").count == 4, "\(failed)")
  }

  @Test("a narrower grant ends the subscriptions that it does not allow, and says which")
  func narrower() throws {
    let world = world(instruments: 2)
    let client = world.client()
    client.send(Self.hello)
    client.authorize(Grant(subject: "a"))
    world.settle()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\",\"kraken:A1-USD\"]}]}"
    )
    let gone = try #require(client.streams.first { $0.value.symbol == "kraken:BTC-USD" }?.key)
    client.authorize(Grant(subject: "a", symbols: [try #require(SymbolRules(["kraken:A1-USD"]))]))
    world.settle()
    #expect(client.notices.last?["code"] as? String == "forbidden")
    #expect(client.notices.last?["streams"] as? [Int] == [gone] && client.notices.last?["total"] as? Int == 1)
    world.trade(price: 500)
    world.settle()
    #expect(client.tradeIDs.isEmpty && client.faults.isEmpty)
  }

  @Test("a grant's lower limits are in force and in welcome")
  func limits() {
    let world = world(instruments: 3)
    let client = world.client()
    client.send(Self.hello)
    client.authorize(Grant(subject: "a", subscriptions: 2, requestsPerSecond: 3))
    world.settle()
    #expect(client.texts.of("welcome")[0].contains("\"limits\":{\"subscriptions\":2,\"requests_per_s\":3,"))
    world.run(milliseconds: 2_000)
    let reply = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\"]}]}")
      .of("subscribed")[0]
    #expect(client.streams.count == 2 && reply.contains("too_many_subscriptions") && reply.contains("may have 2"))
    for _ in 0..<2 { client.send("{\"op\":\"ping\"}") }
    #expect(client.ask("{\"op\":\"ping\"}").last?.contains("more than 3 requests") == true)
  }

  @Test("those without a token have what everybody may have, and more with one")
  func anonymous() {
    let world = world(anonymous: Grant(subject: "anonymous", channels: [.quote]))
    let client = world.client()
    #expect(client.ask("{\"op\":\"hello\"}").of("welcome").count == 1)
    let ask = "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}"
    #expect(client.ask(ask).of("subscribed")[0].contains("\"code\":\"forbidden\""))
    client.send(Self.hello)
    client.authorize(Grant(subject: "a"))
    world.settle()
    #expect(client.ask(ask).of("subscribed")[0].contains("\"failed\":[]"))
    world.run(milliseconds: 20_000)
    #expect(world.closed.isEmpty)
  }

  @Test("where no tokens are asked for, one is ignored")
  func open() {
    let world = World()
    let client = world.client()
    #expect(client.ask(Self.hello).of("welcome").count == 1)
    #expect(world.asked.isEmpty)
  }

  @Test("of all that waits, the clients with the most are closed first, until enough is let go of")
  func shed() {
    let world = World()
    let clients = (0..<4).map { _ in world.client() }
    for (client, bytes) in zip(clients, [100, 400, 300, 0]) { client.unsent(bytes) }
    #expect(world.hubs[0].queuedBytes == 800)
    var actions: [HubAction] = []
    let shed = world.hubs[0].shed(bytes: 500, clients: 3, limit: 300, into: &actions)
    world.post(actions, from: 0)
    #expect(shed.clients == 2 && shed.bytes == 700)
    #expect(world.closed.map(\.client) == [clients[1].id, clients[2].id])
    #expect(world.closed.allSatisfy { $0.code == CloseCode.slow && $0.reason.contains("300") })
    #expect(world.hubs[0].queuedBytes == 100)
    clients[3].unsent(50)
    actions = []
    let few = world.hubs[0].shed(bytes: 500, clients: 1, limit: 300, into: &actions)
    #expect(few.clients == 1 && few.bytes == 100, "never more at a time than asked for")
  }
}
