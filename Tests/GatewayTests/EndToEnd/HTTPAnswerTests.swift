import Foundation
import HTTP1
import Settings
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway
@testable import HTTPAPI

/// What answers over HTTP say of the data they carry, and of what is wrong with a request.
@Suite("HTTP answers, end to end", .serialized, .realTime)
struct HTTPAnswerTests {
  private static func items(_ answer: Answer) -> [[String: Any]] { answer.json["snapshots"] as? [[String: Any]] ?? [] }

  /// `GzipEncoderTests` inflates what the encoder makes.
  private static func compressed(_ text: String) throws -> [UInt8] {
    let encoder = try #require(GzipEncoder(Array(text.utf8)))
    while true {
      if let whole = encoder.advance() { return whole }
    }
  }

  private static func code(_ item: [String: Any]) -> String? {
    (item["error"] as? [String: Any])?["code"] as? String
  }

  /// Waits until the feed is not live any more.
  private static func kill(_ venue: String, of harness: GatewayHarness) async throws {
    harness.exchanges[venue]?.stop()
    var patience = Patience()
    while true {
      let feeds = try await harness.get("/v1/status").json["feeds"] as? [[String: Any]] ?? []
      let state = feeds.first { $0["venue"] as? String == venue }?["state"] as? String
      if state == "reconnecting" || state == "disconnected" { return }
      try await patience.wait(for: "\(venue) to be lost; it is \(state ?? "unknown")")
    }
  }

  @Test("data of a dead venue says so in every answer, per symbol, with the time of the last message")
  func deadVenue() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance"])
    try await harness.waitUntilLive()
    var patience = Patience()
    while try await harness.get("/v1/tickers/kraken:BTC-USD").status != 200 { try await patience.wait(for: "a ticker") }
    let alive = try await harness.get("/v1/tickers/kraken:BTC-USD")
    #expect(alive.json["state"] as? String == "live", "\(alive.text)")
    #expect(alive.json["last_message"] == nil)
    let feeds = alive.fields["Tidegate-Feeds"] ?? ""
    #expect(feeds.hasPrefix("kraken=live;age_ms=") && !feeds.contains("binance"), "\(feeds)")

    try await Self.kill("kraken", of: harness)
    for path in ["tickers", "trades", "sparklines"] {
      let answer = try await harness.get("/v1/\(path)/kraken:BTC-USD")
      #expect(answer.status == 200, "\(path): \(answer.text)")
      #expect(answer.json["state"] as? String != nil && answer.json["state"] as? String != "live", "\(answer.text)")
      #expect(answer.json["last_message"] as? Int != nil && answer.json["since"] as? Int != nil, "\(answer.text)")
      #expect(answer.fields["Tidegate-Feeds"]?.hasPrefix("kraken=live") == false)
    }
    let book = try await harness.get("/v1/books/kraken:BTC-USD")
    #expect(book.status == 503 && book.json["code"] as? String == "not_ready")
    let both = try await harness.get("/v1/snapshot?symbols=kraken:BTC-USD,binance:BTC-USDT")
    let states = Self.items(both).map { $0["state"] as? String }
    #expect(states.count == 2 && states[0] != "live" && states[0] != nil && states[1] == "live", "\(both.text)")
    let named = both.fields["Tidegate-Feeds"] ?? ""
    #expect(named.contains("kraken=") && named.contains("binance=live;age_ms="), "\(named)")
    let instruments = try await harness.get("/v1/instruments?venue=kraken")
    for item in instruments.json["instruments"] as? [[String: Any]] ?? [] {
      #expect(item["state"] as? String != "live", "\(item)")
    }
    await harness.stop()
  }

  @Test("tags stay while neither data nor state changes, and a request with the tag gets 304 with the feed's age")
  func entityTags() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    var patience = Patience()
    while try await harness.get("/v1/tickers/kraken:BTC-USD").status != 200 { try await patience.wait(for: "a ticker") }
    let live = try await harness.get("/v1/snapshot?symbols=kraken:BTC-USD")
    try await Self.kill("kraken", of: harness)
    for path in [
      "/v1/snapshot?symbols=kraken:BTC-USD,kraken:ETH-USD&points=1440", "/v1/tickers/kraken:BTC-USD",
      "/v1/trades/kraken:BTC-USD", "/v1/sparklines/kraken:BTC-USD", "/v1/instruments",
    ] {
      // The feed goes on from one attempt to the next, and a slice of a sparkline may end: at most a few answers are
      // one-offs.
      var isSteady = false
      for _ in 0..<20 where !isSteady {
        let first = try await harness.get(path)
        let tag = try #require(first.fields["ETag"], "\(path)")
        #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
        let second = try await harness.get(path)
        guard second.text == first.text else {
          #expect(second.fields["ETag"] != tag, "\(path): another body with the same tag")
          continue
        }
        #expect(second.fields["ETag"] == tag, "\(path)")
        let third = try await harness.get(path, fields: [HTTPField("If-None-Match", "\"x\", \(tag)")])
        isSteady = third.status == 304
        guard isSteady else { continue }
        #expect(third.text.isEmpty && third.fields["ETag"] == tag)
        if path != "/v1/instruments" { #expect(third.fields["Tidegate-Feeds"]?.hasPrefix("kraken=") == true) }
      }
      #expect(isSteady, "\(path) has another tag each time")
    }
    let dead = try await harness.get("/v1/snapshot?symbols=kraken:BTC-USD")
    #expect(live.fields["ETag"] != dead.fields["ETag"], "the state changed, and the tag did not")
    #expect(try await harness.get("/v1/status").fields["ETag"] == nil)
    await harness.stop()
  }

  @Test(
    "quotes and rates have a tag that changes with their text alone, and the ages of their feeds",
    arguments: ["/v1/quotes/kraken:BTC-USD?depth=2", "/v1/quotes/composite:BTC-USD", "/v1/rates?base=ZEC&quote=BTC"])
  func comparedTags(path: String) async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"], rate: 1)
    try await harness.waitUntilLive()
    var patience = Patience()
    while try await harness.get(path).status != 200 { try await patience.wait(for: "an answer") }
    var known = 0
    while known < 3 {
      let first = try await harness.get(path)
      let tag = try #require(first.fields["ETag"], "\(first.fields)")
      #expect(first.fields["Cache-Control"] == "no-cache")
      let second = try await harness.get(path, fields: [HTTPField("If-None-Match", tag)])
      for answer in [first, second] {
        #expect(answer.fields["Tidegate-Feeds"]?.contains("=live;age_ms=") == true, "\(answer.fields)")
      }
      if second.status == 304 {
        #expect(second.text.isEmpty && second.fields["ETag"] == tag)
        known += 1
      } else {
        #expect(second.status == 200 && second.fields["ETag"] != tag && second.text != first.text, "\(second.text)")
      }
      try await patience.wait(for: "answers that stay; \(known) did")
    }
    await harness.stop()
  }

  @Test("items stand in the order asked for, each with its own result")
  func perItem() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance"])
    try await harness.waitUntilLive()
    let asked = [
      "binance:ETH-USDT", "x", "kraken:BTC-USD", "kraken:NOPE-USD", "binance:BTC-USDT", "kraken:btc-usd",
      "mtgox:BTC-USD", "kraken:ZEC-USD",
    ]
    let answer = try await harness.get("/v1/snapshot?symbols=\(asked.joined(separator: ","))&symbols=kraken:BTC-USD")
    #expect(answer.status == 200, "\(answer.text)")
    let items = Self.items(answer)
    #expect(items.map { $0["symbol"] as? String } == asked)
    for (symbol, item) in zip(asked, items) {
      let isKnown = GatewayHarness.symbols.contains { venue, names in names.contains { "\(venue):\($0)" == symbol } }
      #expect(Self.code(item) == (isKnown ? nil : "unknown_symbol"), "\(symbol): \(item)")
      #expect(item["state"] as? String == (isKnown ? "live" : nil))
    }
    guard items.count == asked.count else { return await harness.stop() }
    let hint = (items[5]["error"] as? [String: Any])?["hint"] as? String
    #expect(hint?.contains("did you mean kraken:BTC-USD") == true, "\(items[5])")
    let many = "/v1/snapshot?points=1440&symbols=" + (0..<100).map { "kraken:A\($0)-USD" }.joined(separator: ",")
    #expect(try await harness.get(many).status == 400)
    await harness.stop()
  }

  @Test("before a venue has told its markets, its symbols are not ready, over HTTP as on the stream")
  func notReady() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance"]) { configuration in
      let index = configuration.feeds.firstIndex { $0.venue == "kraken" }!
      configuration.feeds[index].endpoint = "wss://127.0.0.1:1/"
      configuration.feeds[index].restEndpoint = "https://127.0.0.1:1"
    }
    var patience = Patience()
    while try await harness.get("/v1/tickers/binance:BTC-USDT").status != 200 {
      try await patience.wait(for: "the other venue")
    }
    let names = ["tickers", "trades", "sparklines", "books"].map { "/v1/\($0)/kraken:BTC-USD" }
    for path in names + ["/v1/instruments?venue=kraken"] {
      let answer = try await harness.get(path)
      #expect(answer.status == 503 && answer.json["code"] as? String == "not_ready", "\(answer.text)")
      #expect(answer.json["retry"] as? Bool == true && answer.fields["Retry-After"] == "1", "\(answer.text)")
    }
    // A page shows a picture that fails as a broken one.
    for path in [
      "cards/price/kraken:BTC-USD.svg", "cards/price/kraken:BTC-USD.svg?size=large", "sparklines/kraken:BTC-USD.svg",
    ] {
      let picture = try await harness.get("/v1/\(path)")
      #expect(picture.status == 200 && picture.fields["Content-Type"] == "image/svg+xml", "\(path): \(picture.text)")
      #expect(picture.fields["Cache-Control"] == "no-store" && picture.fields["ETag"] == nil, "\(picture.fields)")
      #expect(picture.text.contains("BTC price: not known yet. No price has arrived yet."), "\(picture.text)")
    }
    #expect(try await harness.get("/v1/cards/price/kraken:BTC.svg").status == 503)
    let list = try await harness.get("/v1/instruments")
    #expect(list.status == 200 && list.text.contains("binance:BTC-USDT"), "\(list.text)")
    let answer = try await harness.get("/v1/snapshot?symbols=kraken:BTC-USD,binance:BTC-USDT")
    let items = Self.items(answer)
    #expect(answer.status == 200 && items.count == 2, "\(answer.text)")
    #expect(items.first.flatMap(Self.code) == "not_ready")
    #expect((items.first?["error"] as? [String: Any])?["retry_after_ms"] as? Int == 1_000)
    #expect(items.last?["ticker"] != nil)
    await harness.stop()
  }

  @Test("a parameter that a route does not know, or that stands twice, is an error that names it and those it knows")
  func parameters() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let expected: [(path: String, says: [String])] = [
      ("/v1/books/kraken:BTC-USD?dept=10", ["dept", "depth"]),
      ("/v1/trades/kraken:BTC-USD?limit=3&since=5", ["since", "limit"]),
      ("/v1/sparklines/kraken:BTC-USD?Points=9", ["Points", "points"]),
      ("/v1/tickers/kraken:BTC-USD?depth=10", ["depth", "takes none"]),
      ("/v1/snapshot?symbol=kraken:BTC-USD", ["symbol", "symbols"]),
      ("/v1/instruments?query=x", ["query", "q"]),
      ("/v1/status?verbose", ["verbose", "takes none"]),
      ("/v1/books/kraken:BTC-USD?depth=10&depth=25", ["depth", "once"]),
      ("/v1/stream?symbols=kraken:BTC-USD", ["symbols", "takes none"]),
      ("/?x=1", ["x"]),
    ]
    for (path, words) in expected {
      let answer = try await harness.get(path)
      #expect(answer.status == 400 && answer.json["code"] as? String == "bad_parameter", "\(path): \(answer.text)")
      for word in words { #expect(answer.text.contains(word), "\(path): \(answer.text)") }
    }
    for path in ["/metrics?x=1", "/livez?x=1", "/readyz?x=1", "/v1/feeds/kraken/errors?limit=1"] {
      #expect(try await harness.get(path, internal: true).status == 400, "\(path)")
    }
    let near = try await harness.get("/v1/tickers/kraken:btc-usd")
    #expect(near.status == 404 && near.text.contains("did you mean kraken:BTC-USD"), "\(near.text)")
    await harness.stop()
  }

  @Test("every route answers HEAD as it answers GET but for the body, and ends its bodies with a newline")
  func heads() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let client = [
      "/", "/v1/stream", "/v1/instruments", "/v1/status", "/v1/snapshot?symbols=kraken:BTC-USD", "/v1/snapshot",
      "/v1/tickers/kraken:NO-USD", "/v1/books/kraken:BTC-USD", "/nowhere",
    ]
    let others = ["/livez", "/readyz", "/healthz", "/metrics", "/v1/feeds/kraken/errors", "/nowhere"]
    for (path, isInternal) in client.map({ ($0, false) }) + others.map({ ($0, true) }) {
      let get = try await harness.get(path, internal: isInternal)
      #expect(get.text.hasSuffix("\n") && !get.text.hasSuffix("\n\n"), "\(path): \(get.text.suffix(20))")
      let head = try await HTTPProbe.send(
        "HEAD", path, to: isInternal ? harness.gateway.internalAddress : harness.gateway.address,
        loop: harness.clientLoop)
      #expect(head.status == get.status && head.text.isEmpty, "\(path)")
      #expect(head.fields["Content-Type"] == get.fields["Content-Type"] && head.fields["Content-Length"] != nil)
    }
    await harness.stop()
  }

  @Test("pages may read the tag and the age; the internal port lets none read it and answers no foreign name")
  func pages() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.internalHosts = ["gateway.internal"] }
    let origin = [HTTPField("Origin", "https://app.example")]
    let answer = try await harness.get("/v1/instruments", fields: origin)
    #expect(answer.fields["Access-Control-Allow-Origin"] == "*")
    let exposed = answer.fields["Access-Control-Expose-Headers"] ?? ""
    for name in ["ETag", "Retry-After", "Tidegate-Feeds"] { #expect(exposed.contains(name), "\(exposed)") }
    for path in ["/livez", "/metrics", "/readyz", "/nowhere"] {
      let inside = try await harness.get(path, internal: true, fields: origin)
      #expect(inside.fields["Access-Control-Allow-Origin"] == nil, "\(path)")
    }
    func status(_ host: String) async throws -> Int {
      try await HTTPProbe.send(
        "GET", "/livez", to: harness.gateway.internalAddress, host: host, loop: harness.clientLoop
      ).status
    }
    for host in [
      "127.0.0.1", "127.0.0.1:9090", "localhost", "LOCALHOST:1", "[::1]:9090", "10.1.2.3:80", "gateway.internal",
      "Gateway.Internal:9090",
    ] {
      #expect(try await status(host) == 200, "\(host)")
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:9090", "1.2.3"] {
      #expect(try await status(host) == 421, "\(host)")
    }
    await harness.stop()
  }

  @Test("a long answer comes as gzip where that is welcome, with a tag of its own, and is made once")
  func compression() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance", "okx", "coinbase"])
    try await harness.waitUntilLive()
    let accepts = [HTTPField("Accept-Encoding", "gzip, deflate")]
    for (path, isInternal) in [("/v1/instruments", false), ("/metrics", true)] {
      let plain = try await harness.get(path, internal: isInternal)
      #expect(plain.fields["Content-Encoding"] == nil && plain.fields["Vary"] == "Accept-Encoding", "\(plain.fields)")
      let compressed = try await harness.get(path, internal: isInternal, fields: accepts)
      let (fields, body) = (compressed.fields, compressed.body)
      #expect(compressed.status == 200 && fields["Content-Encoding"] == "gzip" && fields["Vary"] == "Accept-Encoding")
      #expect(body.count < plain.text.utf8.count / 2 && fields["Content-Length"] == String(body.count))
      // RFC 1952 section 2.3.1.
      #expect(body.starts(with: [0x1f, 0x8b]))
      guard !isInternal else { continue }
      #expect(try body == Self.compressed(plain.text))
      let tag = try #require(fields["ETag"])
      #expect(tag != plain.fields["ETag"])
      let known = try await harness.get(path, fields: accepts + [HTTPField("If-None-Match", tag)])
      #expect(known.status == 304 && known.fields["ETag"] == tag)
    }
    let small = try await harness.get("/v1/tickers/kraken:NO-USD", fields: accepts)
    #expect(small.fields["Content-Encoding"] == nil)
    await harness.stop()
  }
}
