import Foundation
import Settings
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway

@Suite("More symbols than one connection carries, end to end", .serialized, .realTime)
struct ManySymbolsEndToEndTests {
  @Test("several connections, each with its name in metrics, and one venue to clients")
  func split() async throws {
    let loop = try EventLoop(index: 0, label: "test.many")
    let excerpt = SimulatedExcerpt(invented: 220, quote: "USDT", levels: 8)
    let exchange = try SimulatedExchange(
      venue: "okx", seed: 3, rate: 0.2, excerpt: excerpt, listen: SocketAddress(host: "127.0.0.1", port: 0), tls: nil,
      loop: loop)
    let harness = try GatewayHarness(venues: []) {
      $0.feeds = [
        .init(
          venue: "okx", symbols: excerpt.symbols, endpoint: exchange.webSocketURL, restEndpoint: exchange.restURL)
      ]
    }
    var patience = Patience()
    var live = 0
    while live < 220 {
      let instruments = try await harness.get("/v1/instruments").json["instruments"] as? [[String: Any]] ?? []
      live = instruments.count { $0["state"] as? String == "live" }
      try await patience.wait(for: "all books to be live; \(live) are")
    }
    let metrics = try await harness.get("/metrics", internal: true).text
    for (label, count) in [("okx", 73), ("okx-2", 73), ("okx-3", 74)] {
      #expect(metrics.contains("connection=\"\(label)\",state=\"live\"} \(count)\n"), "\(label)")
      #expect(metrics.contains("tidegate_feed_connects_total{venue=\"okx\",connection=\"\(label)\"} 1\n"), "\(label)")
    }
    let feeds = try await harness.get("/v1/status").json["feeds"] as? [[String: Any]] ?? []
    #expect(feeds.count == 1 && feeds.first?["venue"] as? String == "okx")
    let errors = try await harness.get("/v1/feeds/okx/errors", internal: true).json
    #expect(errors["connections"] as? [String] == ["okx", "okx-2", "okx-3"])
    #expect(exchange.statistics.clients == 3)
    exchange.stop()
    await harness.stop()
    await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
  }
}
