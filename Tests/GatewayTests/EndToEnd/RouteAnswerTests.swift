import Access
import Foundation
import HTTP1
import PubSub
import Settings
import TestTraits
import Testing

@testable import Gateway
@testable import HTTPAPI

@Suite("What follows from a route, end to end", .serialized, .realTime)
struct RouteAnswerTests {
  private static func target(_ route: Route) -> String {
    route.path.replacing("{symbol}", with: "kraken:BTC-USD").replacing(/\{[a-z]+\}/, with: "1")
  }

  @Test("every route answers OPTIONS with its methods, and other methods with 405 and the same list")
  func methods() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    func ask(_ method: String, _ target: String) async throws -> Answer {
      try await HTTPProbe.send(method, target, to: harness.gateway.address, loop: harness.clientLoop)
    }
    for route in RouteTable.clientPort.routes {
      let target = Self.target(route)
      let allowed = (route.methods + ["OPTIONS"]).joined(separator: ", ")
      let options = try await ask("OPTIONS", target)
      #expect(options.status == 204 && options.fields["Allow"] == allowed, "\(target)")
      #expect(options.fields["Access-Control-Allow-Methods"] == allowed, "\(target)")
      for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"] where !route.methods.contains(method) {
        let refusal = try await ask(method, target)
        #expect(refusal.status == 405 && refusal.fields["Allow"] == allowed, "\(method) \(target)")
        #expect(refusal.json["hint"] as? String == "use \(route.methods[0])", "\(method) \(target)")
      }
      #expect(try await ask("BREW", target).status == 501, "\(target)")
    }
    let other = try await ask("OPTIONS", "/v1/nothing")
    #expect(other.fields["Allow"] == "GET, HEAD, OPTIONS")
    let hint = try await ask("GET", "/v1/nothing").json["hint"] as? String
    #expect(hint == "there are " + RouteTable.clientPort.paths.dropFirst().joined(separator: " "))
    let metrics = try await harness.get("/metrics", internal: true).text
    for route in RouteTable.clientPort.routes {
      #expect(metrics.contains("tidegate_http_requests_total{route=\"\(route.path)\",code=\"204\"} 1"), "\(route.path)")
    }
    await harness.stop()
  }

  @Test("a token without a route's channel gets 403 that names it; without a token 401; open routes need none")
  func access() async throws {
    let key = try NewKey(name: "bare", fields: ["channels=pulse"])
    let policy = try KeyFile.parse(Array(NewKey.section(of: [key]).utf8), path: "keys.yaml") { _ in nil }
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy))
    let bearer = [HTTPField("Authorization", "Bearer \(key.text)")]
    for route in RouteTable.clientPort.routes where route.reading != nil && route.name != "events" {
      let target = Self.target(route)
      let without = try await harness.get(target)
      let answer = try await harness.get(target, fields: bearer)
      guard route.access != .open else {
        #expect(without.status != 401 && answer.status != 403, "\(target)")
        continue
      }
      #expect(without.status == 401, "\(target)")
      guard let channel = route.channels.first else {
        #expect(answer.status != 403, "\(target)")
        continue
      }
      let part = route.whole.map { ", which is part of \($0)" } ?? ""
      #expect(answer.status == 403, "\(target): \(answer.text)")
      #expect(
        answer.json["message"] as? String == "your token does not allow the channel \(channel.rawValue)\(part)",
        "\(target): \(answer.text)")
    }
    await harness.stop()
  }
}
