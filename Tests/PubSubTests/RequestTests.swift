import Foundation
import MarketData
import Testing

@testable import PubSub

@Suite("Requests and their replies")
struct RequestTests {
  @Test(
    "hello is answered with session, node and limits; an id is echoed as it was written",
    arguments: ["1", "\"a\\u0041\""])
  func hello(id: String) {
    let client = World().client()
    let texts = client.ask("{\"id\":\(id),\"heartbeat_s\":7,\"op\":\"hello\"}")
    #expect(
      texts == [
        "{\"type\":\"welcome\",\"id\":\(id),\"session\":\"s_000000000000000000000000.0.0.1\",\"node\":\"gw-a\",\"version\":\"1.0\",\"time\":1790000004000000,\"heartbeat_s\":7,\"resumed\":false,\"limits\":{\"subscriptions\":1000,\"requests_per_s\":20,\"message_bytes\":65536}}"
      ])
  }

  @Test(
    "what is wrong with a request is named",
    arguments: [
      ("{\"op\":\"ping\",}", "bad_json", "at byte 13"),
      ("[1]", "bad_json", "at byte 0"),
      ("{\"id\":1}", "bad_request", "`op`"),
      ("{\"op\":7}", "bad_request", "`op`"),
      ("{\"op\":\"subscrbe\"}", "unknown_op", "did you mean `subscribe`? one of: hello, subscribe"),
      ("{\"op\":\"ping\",\"id\":1.5}", "bad_request", "`id`"),
      ("{\"op\":\"ping\",\"id\":{}}", "bad_request", "`id`"),
      ("{\"op\":\"ping\",\"time\":\"1\"}", "bad_request", "`time`"),
      ("{\"op\":\"hello\",\"heartbeat_s\":61}", "out_of_range", "1 to 60"),
      ("{\"op\":\"subscribe\"}", "bad_request", "`streams`"),
      ("{\"op\":\"subscribe\",\"streams\":{}}", "bad_request", "`streams`"),
      ("{\"op\":\"unsubscribe\",\"streams\":[\"1\"]}", "bad_request", "`streams`"),
      ("{\"op\":\"configure\"}", "bad_request", "`interval_ms`"),
      ("{\"op\":\"configure\",\"interval_ms\":-1}", "out_of_range", "100, 250"),
      ("{\"op\":\"configure\",\"intervall_ms\":5}", "bad_request", "no field `intervall_ms`"),
      ("{\"op\":\"configure\",\"intervall_ms\":5}", "bad_request", "did you mean `interval_ms`?"),
      ("{\"op\":\"ping\",\"streams\":[]}", "bad_request", "no field `streams`"),
      ("{\"op\":\"hello\",\"hartbeat_s\":5}", "bad_request", "did you mean `heartbeat_s`?"),
      ("{\"op\":\"hello\",\"resume\":{\"sesion\":\"s\"}}", "bad_request", "no field `resume.sesion`"),
      ("{\"op\":\"subscribe\",\"stream\":[{\"channel\":\"status\"}]}", "bad_request", "did you mean `streams`?"),
    ])
  func refused(request: String, code: String, names: String) {
    let client = World().client()
    let texts = client.ask(request)
    #expect(texts.count == 1)
    #expect(texts[0].hasPrefix("{\"type\":\"error\","))
    #expect(texts[0].contains("\"code\":\"\(code)\""), "\(texts)")
    #expect(texts[0].contains(names), "\(texts)")
    #expect(texts[0].contains("\"impact\":\"this request was not carried out\""))
    #expect(texts[0].hasSuffix("\"retry\":false}"))
    #expect(
      client.ask("{\"op\":\"ping\",\"id\":5,\"time\":12}").last
        == "{\"type\":\"pong\",\"id\":5,\"client_time\":12,\"time\":1790000004000000}")
  }

  @Test(
    "a symbol of a venue that has not listed its markets yet is to be asked for again; of one that has, it is unknown")
  func notReady() throws {
    let world = World()
    world.hubs[0].directory.venues.append("okx")
    let texts = world.client().ask(
      #"{"op":"subscribe","streams":[{"channel":"quote","symbols":["okx:A-USD","okx:*","kraken:NO-USD","*:NO-USD"]}]}"#)
    let reply = try #require(texts.first)
    let error =
      #""error":{"code":"not_ready","message":"okx has not listed its markets yet","hint":"subscribe again in a second","retry_after_ms":1000}"#
    #expect(
      reply.contains(#""symbol":"okx:A-USD",\#(error)"#) && reply.contains(#""symbol":"okx:*",\#(error)"#), "\(reply)")
    #expect(reply.contains(#""symbol":"kraken:NO-USD","error":{"code":"unknown_symbol""#))
    #expect(reply.contains(#""symbol":"*:NO-USD","error":{"code":"unknown_symbol""#))
    world.hubs[0].directory.entries.removeAll()
    let none = world.client().ask(#"{"op":"subscribe","streams":[{"channel":"quote","symbols":["*:A-USD"]}]}"#)
    #expect(none.first?.contains("no venue has listed its markets yet") == true)
  }

  @Test(
    "one bad item never spoils the others",
    arguments: [
      ("{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USE\"]}", "unknown_symbol", "did you mean kraken:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"kraen:BTC-USD\"]}", "unknown_symbol", "there is no venue `kraen`"),
      ("{\"channel\":\"book\",\"symbols\":[\"BTC\"]}", "unknown_symbol", "is not a symbol"),
      ("{\"channel\":\"book\",\"symbols\":[\"kraken:btc-usd\"]}", "unknown_symbol", "did you mean kraken:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"Kraken:BTC-USD\"]}", "unknown_symbol", "did you mean kraken:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"kraken:BTC/usd\"]}", "unknown_symbol", "did you mean kraken:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"btc-usd\"]}", "unknown_symbol", "did you mean kraken:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"*:btc-usd\"]}", "unknown_symbol", "did you mean *:BTC-USD?"),
      ("{\"channel\":\"book\",\"symbols\":[\"KRAKEN:*\"]}", "unknown_symbol", "did you mean kraken:*?"),
      ("{\"channel\":\"book\",\"symbol\":\"kraken:BTC-USD\"}", "bad_request", "did you mean `symbols`?"),
      (
        "{\"channel\":\"book\",\"intervall_ms\":5,\"symbols\":[\"kraken:BTC-USD\"]}", "bad_request",
        "no field `streams[0].intervall_ms`"
      ),
      ("{\"channel\":\"boook\",\"symbols\":[\"kraken:BTC-USD\"]}", "unknown_channel", "did you mean `book`?"),
      ("{\"channel\":\"book\",\"depth\":11,\"symbols\":[\"kraken:BTC-USD\"]}", "out_of_range", "10, 25, 100 or"),
      ("{\"channel\":\"sparkline\",\"points\":1,\"symbols\":[\"kraken:BTC-USD\"]}", "out_of_range", "2 to 1440"),
      ("{\"channel\":\"sparkline\",\"range\":\"8d\",\"symbols\":[\"kraken:BTC-USD\"]}", "out_of_range", "24h, 7d"),
      ("{\"channel\":\"candles\",\"interval\":\"2m\",\"symbols\":[\"kraken:BTC-USD\"]}", "out_of_range", "1m, 5m"),
      ("{\"channel\":\"candles\",\"interval\":60,\"symbols\":[\"kraken:BTC-USD\"]}", "bad_request", "1m, 5m"),
      (
        "{\"channel\":\"book\",\"interval_ms\":\"1\",\"symbols\":[\"kraken:BTC-USD\"]}", "bad_request",
        "streams[0].interval_ms"
      ),
      ("{\"channel\":\"book\",\"symbols\":[1]}", "bad_request", "streams[0].symbols"),
      ("{\"channel\":\"book\"}", "bad_request", "streams[0].symbols"),
      ("{\"symbols\":[\"kraken:BTC-USD\"]}", "bad_request", "streams[0].channel"),
      ("7", "bad_request", "streams[0]"),
    ])
  func items(item: String, code: String, names: String) {
    let client = World().client()
    let texts = client.ask("{\"op\":\"subscribe\",\"id\":\"x\",\"streams\":[\(item),{\"channel\":\"status\"}]}")
    #expect(texts.count == 2)
    #expect(texts[0].contains("\"total\":1,\"ok\":[{\"stream\":1,\"channel\":\"status\","), "\(texts)")
    #expect(texts[0].contains("\"code\":\"\(code)\""), "\(texts)")
    #expect(texts[0].contains(names), "\(texts)")
  }

  @Test("of a hundred symbols in lower case each is told how it is written")
  func lowerCase() {
    let client = World(instruments: 100).client()
    let symbols = (1..<100).map { "\"kraken:a\($0)-usd\"" }.joined(separator: ",")
    let reply = client.ask(#"{"op":"subscribe","streams":[{"channel":"quote","symbols":[\#(symbols)]}]}"#)[0]
    for index in 1..<100 { #expect(reply.contains("did you mean kraken:A\(index)-USD?")) }
  }

  @Test("wildcards stand for what there is, in the order of symbols, up to the limit")
  func wildcards() {
    var limits = ClientLimits()
    limits.subscriptions = 4
    let world = World(loops: 2, instruments: 3, limits: limits)
    let client = world.client()
    let all = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\"]}]}")
    #expect(client.streams.values.map(\.symbol).sorted() == ["kraken:A1-USD", "kraken:A2-USD", "kraken:BTC-USD"])
    #expect(all.of("snapshot").count == 3)
    let more = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"*:BTC-USD\"]}]}")
    #expect(more[0].contains("\"total\":4,"))
    #expect(more[0].contains("too_many_subscriptions"))
  }

  @Test("streams of several loops are answered in one reply, and their snapshots come after it")
  func oneReply() {
    let world = World(loops: 2)
    world.trade(0, price: 1)
    let client = world.client(on: 1)
    client.send(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"coinbase:BTC-USD\",\"kraken:BTC-USD\"]}]}"
    )
    client.send("{\"op\":\"ping\",\"id\":2}")
    world.step(1)
    world.step(1)
    world.trade(1, price: 5)
    world.step(1)
    world.flush()
    #expect(client.texts.isEmpty, "one loop has not answered")
    world.settle()
    #expect(
      client.texts.map { String($0.prefix(20)) }
        == [
          "{\"type\":\"subscribed\",", "{\"type\":\"pong\",\"id\":2", "{\"type\":\"snapshot\",\"c",
          "{\"type\":\"update\",\"cha", "{\"type\":\"snapshot\",\"c",
        ].map { String($0.prefix(20)) })
    #expect(client.faults.isEmpty)
  }

  @Test("subscribing again returns the same stream and no second snapshot; twice in one request counts once")
  func duplicates() {
    let world = World()
    let client = world.client()
    let item = "{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\",\"kraken:BTC-USD\"]}"
    #expect(client.ask("{\"op\":\"subscribe\",\"streams\":[\(item)]}").count == 2)
    let again = client.ask("{\"op\":\"subscribe\",\"streams\":[\(item)]}")
    #expect(again.count == 1)
    #expect(again[0].contains("\"total\":1,\"ok\":[{\"stream\":1,"))
  }

  @Test("unsubscribing ends the stream, names what was unknown, and the last one out leaves the publisher")
  func unsubscribe() {
    let world = World()
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    #expect(world.publishers[0].subscribedStreams == 1)
    let texts = client.ask("{\"op\":\"unsubscribe\",\"id\":3,\"streams\":[1,9]}")
    #expect(
      texts[0].hasPrefix("{\"type\":\"unsubscribed\",\"id\":3,\"streams\":[1],\"total\":0,\"failed\":[{\"stream\":9,"))
    #expect(world.publishers[0].subscribedStreams == 0)
    world.trade(price: 1)
    world.settle()
    #expect(client.texts.last == texts[0])
    #expect(
      client.ask("{\"op\":\"unsubscribe\",\"all\":true}") == ["{\"type\":\"unsubscribed\",\"streams\":[],\"total\":0}"])
  }

  @Test("a stream left and joined anew goes on above its old numbers")
  func rejoin() {
    let world = World()
    let client = world.client()
    let request = "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}"
    _ = client.ask(request)
    for id in 1...5 { world.trade(id: UInt64(id), price: 1) }
    world.settle()
    _ = client.ask("{\"op\":\"unsubscribe\",\"all\":true}")
    #expect(
      client.ask(request)[0].contains(
        "\"stream\":1,\"channel\":\"trades\",\"symbol\":\"kraken:BTC-USD\",\"interval_ms\":0,\"price_increment\":\"0.1\",\"epoch\":\"k7\",\"seq\":7,"
      ))
  }

  @Test("configure moves subscriptions to another class and shows the new streams")
  func configure() {
    let world = World()
    let client = world.client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]},{\"channel\":\"status\"}]}"
    )
    let texts = client.ask("{\"op\":\"configure\",\"id\":4,\"interval_ms\":300}")
    #expect(
      texts[0].hasPrefix(
        "{\"type\":\"configured\",\"id\":4,\"interval_ms\":1000,\"total\":2,\"streams\":[{\"stream\":3,\"from\":1,\"channel\":\"trades\","
      ))
    #expect(texts.of("snapshot").count == 1)
    world.trade(id: 1, price: 1)
    world.trade(id: 2, price: 2)
    world.settle()
    #expect(client.texts.last == texts.last, "gathered until the tick")
    world.run(milliseconds: 1000)
    #expect(client.texts.of("update").count == 1)
    #expect(client.tradeIDs[3] == [1, 2])
    #expect(client.faults.isEmpty)
  }

  @Test("a paused client gets heartbeats alone; resume shows everything anew")
  func pause() {
    let world = World()
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    #expect(client.ask("{\"op\":\"pause\",\"id\":5}") == ["{\"type\":\"paused\",\"id\":5}"])
    let before = client.texts.count
    world.trade(price: 1)
    world.run(milliseconds: 6000)
    #expect(client.texts[before...].allSatisfy { $0.hasPrefix("{\"type\":\"heartbeat\"") })
    #expect(client.texts.count > before)
    let texts = client.ask("{\"op\":\"resume\",\"id\":6}")
    #expect(texts.count == 2)
    #expect(texts[0] == "{\"type\":\"resumed\",\"id\":6,\"total\":1}")
    #expect(texts[1].contains("\"reason\":\"resume\""))
    #expect(client.faults.isEmpty)
  }

  @Test("list shows every subscription")
  func list() {
    let client = World().client()
    _ = client.ask(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"sparkline\",\"symbols\":[\"kraken:BTC-USD\"],\"points\":48}]}")
    #expect(
      client.ask("{\"op\":\"list\",\"id\":7}") == [
        #"{"type":"list","id":7,"streams":[{"stream":1,"channel":"sparkline","symbol":"kraken:BTC-USD","range":"24h","points":48,"interval_ms":1000,"price_increment":"0.1","epoch":"k7","seq":1,"state":"live"}],"total":1}"#
      ])
  }

  @Test("the 21st request in a second is refused with the time to wait; 5 s of it close with 4129")
  func rate() {
    let world = World()
    let client = world.client()
    for _ in 0..<20 { #expect(client.ask("{\"op\":\"ping\"}").of("pong").count == 1) }
    let refused = client.ask("{\"op\":\"ping\",\"id\":9}")
    #expect(refused[0].hasPrefix("{\"type\":\"error\",\"id\":9,\"code\":\"rate_limited\","))
    #expect(refused[0].hasSuffix("\"retry\":true,\"retry_after_ms\":50}"))
    world.now = world.now + 50_000
    #expect(client.ask("{\"op\":\"ping\"}").of("pong").count == 1)
    for _ in 0..<60 {
      world.now = world.now + 100_000
      for _ in 0..<5 { client.send("{\"op\":\"ping\"}") }
      world.settle()
    }
    #expect(world.closed.map(\.code) == [4129])
  }

  @Test("50 bad requests in a row close with 4008")
  func badRequests() {
    let world = World()
    let client = world.client()
    for _ in 0..<49 {
      world.now = world.now + 60_000
      client.send("{")
    }
    #expect(world.closed.isEmpty)
    world.now = world.now + 60_000
    client.send("{")
    #expect(world.closed.map(\.code) == [4008])
  }

  @Test("requests over the rate count among the bad ones in a row")
  func overRateIsBad() {
    let world = World()
    let client = world.client()
    // 20 within the rate, and 30 refused.
    for _ in 0..<49 { client.send("{") }
    #expect(world.closed.isEmpty)
    client.send("{")
    #expect(world.closed.map(\.code) == [4008])
  }

  @Test("after a refusal the client waits until the rate allows one more")
  func waits() {
    let world = World()
    let client = world.client()
    for _ in 0..<20 { _ = client.ask("{\"op\":\"ping\"}") }
    #expect(client.inputDelay == 0)
    _ = client.ask("{\"op\":\"ping\"}")
    #expect(client.inputDelay == 50_000)
    world.now = world.now + 50_000
    #expect(client.inputDelay == 0)
    #expect(client.ask("{\"op\":\"ping\"}").of("pong").count == 1)
  }

  @Test("pings and pongs count as requests; 5 s of them over the rate close with 4129")
  func controlFrames() {
    let world = World()
    let client = world.client()
    for _ in 0..<20 { client.sendControlFrame() }
    #expect(client.inputDelay == 0)
    client.sendControlFrame()
    #expect(client.inputDelay == 50_000)
    #expect(client.ask("{\"op\":\"ping\"}")[0].contains("rate_limited"))
    for _ in 0..<110 where world.closed.isEmpty {
      world.now = world.now + max(50_000, client.inputDelay)
      // As many as there are until it has to wait.
      client.sendControlFrame()
      while client.inputDelay == 0 { client.sendControlFrame() }
    }
    #expect(world.closed.map(\.code) == [4129])
  }

  @Test("a client whose requests have cost more than it may have waits until that is paid for")
  func work() {
    let world = World(instruments: 200)
    let client = world.client()
    _ = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\"]}]}")
    // Some 30 KB a list: a third of 20 a second is within the rate.
    var waited: Int64 = 0
    var bytes: Int64 = 0
    for _ in 0..<100 {
      let reply = client.ask("{\"op\":\"list\"}").of("list")
      #expect(reply.count == 1)
      bytes += Int64(reply[0].utf8.count)
      let delay = max(50_000, client.inputDelay)
      waited += delay
      world.now = world.now + delay
    }
    // 240 KiB a second; 1 MiB was done ahead.
    #expect(bytes > 2_000_000, "\(bytes)")
    #expect(waited >= (bytes - (1 << 20)) * 1_000_000 / (240 << 10), "\(bytes) bytes in \(waited) us")
  }

  @Test("nothing is taken of a client while 16 KiB of replies wait for it, or a request of it for its answer")
  func replies() {
    let world = World(loops: 2, instruments: 120)
    let client = world.client()
    client.send(
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\",\"coinbase:*\"]}]}")
    #expect(client.inputDelay == .max)
    world.settle()
    #expect(client.inputDelay == 0)
    client.isStuck = true
    client.send("{\"op\":\"list\"}")
    #expect(client.inputDelay == .max)
    client.isStuck = false
    world.settle()
    #expect(client.inputDelay == 0)
  }

  @Test("a wildcard is looked up once, however often it is said; what all of them stand for is bounded")
  func repeatedWildcards() {
    let world = World(instruments: 300)
    let client = world.client()
    let before = world.hubs[0].directory.indexings
    let many = Array(repeating: "\"kraken:*\"", count: 900).joined(separator: ",")
    let work = world.hubs[0].workDone
    let texts = client.ask("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\(many)]}]}")
    #expect(client.streams.count == 300 && texts[0].hasSuffix("\"failed\":[]}"))
    #expect(world.hubs[0].directory.indexings == before + 1)
    // 300 subscriptions and a reply of 300 items: 900 times 300 names would be 17 million.
    #expect(world.hubs[0].workDone - work < 600_000)

    // The same symbols at 100 depths and rates: beyond 4,000 no more are looked at.
    let items = (2..<102).map { "{\"channel\":\"sparkline\",\"symbols\":[\"kraken:*\"],\"points\":\($0)}" }
    world.now = world.now + 10 * Microseconds.second
    let reply = client.ask("{\"op\":\"subscribe\",\"streams\":[\(items.joined(separator: ","))]}")[0]
    #expect(reply.components(separatedBy: "\"code\":\"too_many_subscriptions\"").count == 12)
    #expect(reply.components(separatedBy: "stand for more than 4000 symbols").count == 88)
    #expect(world.hubs[0].directory.indexings == before + 1)
  }

  @Test("an office of 500 behind one address comes back at once, 50 symbols each, and is served within 5 s")
  func office() {
    let world = World(instruments: 50)
    let address = ClientAddress(high: 0, low: 0xFFFF_C000_0201)
    let ask =
      "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"pulse\",\"symbols\":[\"kraken:*\"]},"
      + "{\"channel\":\"quote\",\"symbols\":[\"kraken:*\"]}]}"
    for index in 0..<500 {
      // As its handshakes are admitted: 250 at once, and 250 a second.
      if index == 250 { world.run(milliseconds: 1_000) }
      #expect(world.hubs[0].admits(address, now: world.now), "client \(index)")
      world.client(from: address).send(ask)
    }
    world.run(milliseconds: 4_000)
    for client in world.clients { #expect(client.streams.count == 100 && client.faults.isEmpty) }
    // It can go on: each client asks for something else.
    for client in world.clients { #expect(client.inputDelay == 0) }
  }

  @Test("a change of the limits reaches the addresses of clients that are connected")
  func liveLimits() {
    let world = World(instruments: 300, limits: limits(fullRate: 1))
    let address = ClientAddress(high: 0, low: 0xFFFF_C000_0201)
    func subscribe() {
      world.client(from: address).send(
        "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"pulse\",\"symbols\":[\"kraken:*\"]}]}")
      world.settle()
    }
    for _ in 0..<3 { subscribe() }
    #expect(!world.hubs[0].admits(address, now: world.now))
    world.hubs[0].apply(limits(fullRate: 64))
    world.run(milliseconds: 2_000)
    for _ in 0..<20 { subscribe() }
    #expect(world.hubs[0].admits(address, now: world.now))
  }

  private func limits(fullRate: Int) -> ClientLimits {
    var limits = ClientLimits()
    limits.clientsAtFullRate = fullRate
    return limits
  }

  @Test("a request names at most as many symbols, and ends as many streams, as a client may have")
  func names() {
    let world = World()
    let client = world.client()
    let many = Array(repeating: "\"a\"", count: 1_001).joined(separator: ",")
    let reply = client.ask(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\(many)]}]}")
    #expect(reply[0].contains("\"id\":1,\"code\":\"out_of_range\"") && reply[0].utf8.count < 400)
    let numbers = (1...1_001).map(String.init).joined(separator: ",")
    let ended = client.ask("{\"op\":\"unsubscribe\",\"id\":2,\"streams\":[\(numbers)]}")
    #expect(ended[0].contains("\"id\":2,\"code\":\"out_of_range\""))
    // The same number again is one.
    let twice = client.ask("{\"op\":\"unsubscribe\",\"id\":3,\"streams\":[7,7,7]}")
    #expect(twice[0].components(separatedBy: "unknown_stream").count == 2)
  }

  @Test("symbols like an unknown one are looked for 100 times a second for all clients together")
  func nearSearches() {
    let world = World()
    var found = 0
    for _ in 0..<20 {
      let client = world.client()
      for _ in 0..<10 {
        let reply = client.ask(
          "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USX\"]}]}")
        if reply[0].contains("did you mean kraken:BTC-USD") { found += 1 }
        #expect(reply[0].contains("unknown_symbol"))
      }
    }
    #expect(found == 100)
  }
}
