import Foundation
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

@Suite("Refused messages on the internal port, end to end", .serialized, .realTime)
struct FeedErrorTests {
  private func errors(_ harness: GatewayHarness, _ name: String) async throws -> [String: Any] {
    try await harness.get("/v1/feeds/\(name)/errors", internal: true).json
  }

  @Test("what a venue sent that could not be read is there with its text and counted; others have none")
  func malformed() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "binance"])
    try await harness.waitUntilLive()
    let before = try await errors(harness, "kraken")
    #expect(before["total"] as? Int == 0 && (before["errors"] as? [Any])?.isEmpty == true)
    harness.exchanges["kraken"]!.inject(try Fault(parsing: "malformed"))
    var patience = Patience()
    var found: [String: Any] = [:]
    while (found["total"] as? Int ?? 0) == 0 {
      try await patience.wait(for: "the refused message")
      found = try await errors(harness, "kraken")
    }
    let entry = try #require((found["errors"] as? [[String: Any]])?.first)
    #expect(entry["connection"] as? String == "kraken" && entry["kind"] as? String == "json")
    #expect((entry["text"] as? String)?.hasPrefix("{\"channel\":") == true)
    #expect((entry["detail"] as? String)?.isEmpty == false)
    #expect((entry["time"] as? Int ?? 0) <= (found["time"] as? Int ?? 0))
    #expect(found["counts"] as? [String: Int] == ["json": 1])
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_feed_errors_total{venue=\"kraken\",connection=\"kraken\",kind=\"json\"} 1\n"))
    #expect((try await errors(harness, "binance"))["total"] as? Int == 0)

    let unknown = try await harness.get("/v1/feeds/krakne/errors", internal: true)
    #expect(unknown.status == 404 && unknown.text.contains("did you mean kraken?"))
    let posted = try await HTTPProbe.send(
      "POST", "/v1/feeds/kraken/errors", to: harness.gateway.internalAddress, loop: harness.clientLoop)
    #expect(posted.status == 405)
    let head = try await HTTPProbe.send(
      "HEAD", "/v1/feeds/kraken/errors", to: harness.gateway.internalAddress, loop: harness.clientLoop)
    #expect(head.status == 200 && head.text.isEmpty)
    let outside = try await harness.get("/v1/feeds/kraken/errors")
    #expect(outside.status == 404)
    await harness.stop()
  }

  @Test("REST answers that say no count as well")
  func answers() async throws {
    let harness = try GatewayHarness(venues: ["coinbase"], faults: ["coinbase": [try Fault(parsing: "ban=2")]])
    var patience = Patience()
    var found: [String: Any] = [:]
    while (found["total"] as? Int ?? 0) == 0 {
      try await patience.wait(for: "the refused request")
      found = try await errors(harness, "coinbase")
    }
    let entry = try #require((found["errors"] as? [[String: Any]])?.last)
    #expect(entry["kind"] as? String == "answer" && entry["detail"] as? String == "GET /products: status 429")
    await harness.stop()
  }
}
