import Foundation
import HTTP1
import TestTraits
import Testing

@testable import Gateway

@Suite("HTTP, end to end", .serialized, .realTime)
struct HTTPTests {
  @Test("routes answer with data, tags and errors that name what is wrong")
  func routes() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance"])
    try await harness.waitUntilLive()

    let instruments = try await harness.get("/v1/instruments?venue=kraken&q=zec")
    let list = instruments.json["instruments"] as? [[String: Any]] ?? []
    #expect(list.map { $0["symbol"] as? String } == ["kraken:ZEC-USD"])
    #expect(list.first?["venue_symbol"] as? String == "ZEC/USD")
    let tag = try #require(instruments.fields["ETag"])
    let again = try await harness.get("/v1/instruments?venue=kraken&q=zec", fields: [HTTPField("If-None-Match", tag)])
    #expect(again.status == 304 && again.text.isEmpty)

    let book = try await harness.get("/v1/books/binance:BTC-USDT?depth=10")
    let copy = BookCopy(book.json)
    #expect(try #require(copy.bestBid) < #require(copy.bestAsk))
    #expect((book.json["bids"] as? [Any])?.count == 10)

    let snapshot = try await harness.get("/v1/snapshot?symbols=kraken:BTC-USD,binance:ETH-USDT")
    #expect((snapshot.json["snapshots"] as? [[String: Any]])?.count == 2, "\(snapshot.text)")

    let status = try await harness.get("/v1/status")
    #expect((status.json["feeds"] as? [[String: Any]])?.count == 2, "\(status.text)")

    let expected: [(path: String, status: Int, says: String)] = [
      ("/v1/books/kraken:NOPE-USD", 404, "kraken has no NOPE-USD"),
      ("/v1/books/kraken:BTC-USD?depth=0", 400, "depth=0"),
      ("/v1/sparklines/kraken:BTC-USD?points=1", 400, "points=1"),
      ("/v1/sparklines/kraken:BTC-USD?range=3w", 400, "3w"),
      ("/v1/snapshot", 400, "symbols"),
      ("/v1/instruments?venue=mtgox", 404, "mtgox"),
      ("/v2", 404, "/v2"), ("/v1/stream", 426, "WebSocket"),
    ]
    for (path, code, words) in expected {
      let answer = try await harness.get(path)
      #expect(answer.status == code, "\(path)")
      #expect((answer.json["message"] as? String ?? "").contains(words), "\(path): \(answer.text)")
      #expect(answer.json["type"] as? String == "error")
    }
    let post = try await HTTPProbe.send("POST", "/v1/status", to: harness.gateway.address, loop: harness.clientLoop)
    #expect(post.status == 405 && post.fields["Allow"] == "GET, HEAD, OPTIONS")
    let head = try await HTTPProbe.send("HEAD", "/v1/status", to: harness.gateway.address, loop: harness.clientLoop)
    #expect(head.status == 200 && head.text.isEmpty)
    await harness.stop()
  }

  @Test("a request that waits for a status before it sends its body has its answer at once")
  func expectation() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let waiting = [HTTPField("Expect", "100-continue"), HTTPField("Content-Length", "5")]
    let upgrade = [
      HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"), HTTPField("Sec-WebSocket-Version", "13"),
      HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    // The bodies never come: were they waited for, there would be no answers.
    for (method, path, more, status) in [
      ("POST", "/v1/status", [], 405), ("PATCH", "/nowhere", [], 405), ("BREW", "/", [], 501),
      ("GET", "/nowhere", [], 404),
      ("GET", "/v1/status", [], 200), ("GET", "/v1/stream", [], 426), ("GET", "/v1/stream", upgrade, 400),
      ("POST", "/v1/stream", upgrade, 405),
    ] {
      let answer = try await HTTPProbe.send(
        method, path, to: harness.gateway.address, fields: waiting + more, closes: false, loop: harness.clientLoop)
      #expect(answer.status == status, "\(method) \(path): \(answer.text)")
      #expect(answer.fields["Connection"] == "close", "\(method) \(path): \(answer.fields)")
    }
    await harness.stop()
  }

  @Test("the internal port tells health and metrics, the client port does not")
  func internalPort() async throws {
    let harness = try GatewayHarness(venues: ["coinbase"])
    #expect(try await harness.get("/livez", internal: true).status == 200)
    try await harness.waitUntilLive()
    var patience = Patience()
    while try await harness.get("/readyz", internal: true).status != 200 {
      try await patience.wait(for: "a feed to be live")
    }
    let metrics = try await harness.get("/metrics", internal: true)
    #expect(metrics.text.contains("tidegate_feed_state{venue=\"coinbase\",connection=\"coinbase\",state=\"live\"} 1"))
    #expect(metrics.text.contains("tidegate_feed_books{venue=\"coinbase\",connection=\"coinbase\",state=\"live\"} 3"))
    #expect(try await harness.get("/metrics").status == 404)
    #expect(try await harness.get("/v1/status", internal: true).status == 404)
    await harness.stop()
  }
}
