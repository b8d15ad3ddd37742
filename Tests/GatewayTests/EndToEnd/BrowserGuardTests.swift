import Foundation
import HTTP1
import TestTraits
import Testing

@testable import Gateway

@Suite("What keeps browsers from misreading an answer", .serialized, .realTime)
struct BrowserGuardTests {
  @Test("every answer with a body says that its type is meant, and a picture may do nothing")
  func everyRoute() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let document = try await harness.get("/openapi.json")
    let paths = try #require(document.json["paths"] as? [String: [String: Any]]).filter { $0.value["get"] != nil }.keys
    #expect(paths.count > 20)
    var pictures = 0
    for path in paths.sorted() + ["/nothing", "/v1/tickers/none:A-B", "/console/icon.svg", "/v1/alerts?x=1"] {
      // Endless ones are looked at by their heads.
      let isEndless = path == "/v1/events"
      let target = path.replacing("{symbol}", with: "kraken:BTC-USD").replacing(/\{[a-z]+\}/, with: "1")
      let answer =
        if isEndless {
          try await HTTPProbe.send(
            "HEAD", target + "?streams=trades:kraken:BTC-USD", to: harness.gateway.address, loop: harness.clientLoop)
        } else {
          try await harness.get(target)
        }
      #expect(answer.fields["X-Content-Type-Options"] == "nosniff", "\(target)")
      guard answer.fields["Content-Type"] == "image/svg+xml" else { continue }
      pictures += 1
      let policy = try #require(answer.fields["Content-Security-Policy"], "\(target)")
      #expect(policy.contains("default-src 'none'"), "\(target)")
    }
    #expect(pictures >= 3)
    for path in ["/metrics", "/livez", "/ops", "/nothing"] {
      let answer = try await harness.get(path, internal: true)
      #expect(answer.fields["X-Content-Type-Options"] == "nosniff", "\(path)")
    }
    await harness.stop()
  }
}
