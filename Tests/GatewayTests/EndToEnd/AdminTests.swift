import Foundation
import HTTP1
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

/// Operators' orders to a running gateway.
@Suite("Administration, end to end", .serialized, .realTime)
struct AdminTests {
  private static let token = "0123456789abcdef0123"

  private func harness(_ venues: [String] = ["kraken"]) throws -> GatewayHarness {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
    try Self.token.write(toFile: path, atomically: true, encoding: .utf8)
    return try GatewayHarness(venues: venues) { $0.adminTokenFile = path }
  }

  private func ask(
    _ harness: GatewayHarness, _ method: String, _ path: String, token: String? = AdminTests.token
  ) async throws -> Answer {
    try await HTTPProbe.send(
      method, path, to: harness.gateway.internalAddress,
      fields: token.map { [HTTPField("Authorization", "Bearer \($0)")] } ?? [], loop: harness.clientLoop)
  }

  private func state(_ harness: GatewayHarness, of connection: String) async throws -> [String: Any]? {
    let feeds = try await ask(harness, "GET", "/admin/feeds").json["feeds"] as? [[String: Any]] ?? []
    return feeds.first { $0["connection"] as? String == connection }
  }

  @Test("without the token nobody learns or does anything; on the client port there is no administration")
  func closed() async throws {
    let harness = try harness()
    for route in AdminRoute.allCases {
      let path = route.path.replacing("{id}", with: "0.0.1").replacing("{connection}", with: "kraken")
      #expect(try await ask(harness, route.method, path, token: nil).status == 401, "\(path)")
      #expect(try await ask(harness, route.method, path, token: "0123456789abcdef0124").status == 401, "\(path)")
    }
    #expect(try await harness.get("/admin/clients").status == 404)
    #expect(try await ask(harness, "GET", "/admin/reload").status == 405)
    #expect(try await ask(harness, "GET", "/admin/clients?limit=0").status == 400)
    #expect(try await ask(harness, "GET", "/admin/nothing").status == 404)
    #expect(try await !ask(harness, "GET", "/admin/configuration").text.contains(Self.token))
    await harness.stop()
    let open = try GatewayHarness(venues: ["kraken"])
    #expect(try await ask(open, "GET", "/admin/clients").status == 403)
    await open.stop()
  }

  @Test("clients are listed in pages, each once, and one is disconnected by its id with 4120")
  func clients() async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    var probes: [StreamProbe] = []
    for _ in 0..<7 { probes.append(try await harness.probe()) }
    for probe in probes {
      probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"ticker","symbols":["kraken:*"]}]}"#)
      try await probe.first("the reply") { $0.type == "subscribed" }
    }
    var ids: [String] = []
    var next: String? = ""
    var pages = 0
    while let after = next {
      let page = try await ask(harness, "GET", "/admin/clients?limit=3" + (after.isEmpty ? "" : "&after=\(after)"))
      let clients = page.json["clients"] as? [[String: Any]] ?? []
      #expect(clients.count <= 3 && clients.allSatisfy { $0["subscriptions"] as? Int == 3 }, "\(page.text)")
      ids += clients.compactMap { $0["id"] as? String }
      next = page.json["next"] as? String
      pages += 1
    }
    #expect(ids.count == 7 && Set(ids).count == 7 && pages == 3)
    let answer = try await ask(harness, "POST", "/admin/clients/\(ids[2])/disconnect")
    #expect(answer.status == 200 && answer.json["id"] as? String == ids[2], "\(answer.text)")
    var patience = Patience()
    while try await ask(harness, "GET", "/admin/clients/\(ids[2])").status != 404 {
      try await patience.wait(for: "the client to go")
    }
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_clients_closed_total{reason=\"operator\"} 1\n"))
    #expect(try await ask(harness, "POST", "/admin/clients/\(ids[2])/disconnect").status == 404)
    #expect(try await ask(harness, "POST", "/admin/clients/9.1.1/disconnect").status == 404)
    #expect(try await ask(harness, "GET", "/admin/clients/\(ids[3])").status == 200)
    await harness.stop()
  }

  @Test("a feed is reconnected, rebuilt, stopped and started, and the other one does not notice")
  func feeds() async throws {
    let harness = try harness(["kraken", "coinbase"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["coinbase:BTC-USD"],"depth":10}]}"#)
    try await probe.first("an update") { $0.type == "update" }
    let before = probe.count
    #expect(try await ask(harness, "POST", "/admin/feeds/kraken/reconnect").status == 202)
    var patience = Patience()
    while try await state(harness, of: "kraken")?["connects"] as? Int != 2 {
      try await patience.wait(for: "another connection")
    }
    try await harness.waitUntilLive()
    #expect(try await ask(harness, "POST", "/admin/feeds/kraken/resync").status == 202)
    try await harness.waitUntilLive()
    #expect(try await ask(harness, "POST", "/admin/feeds/kraken/stop").status == 202)
    patience = Patience()
    while try await harness.get("/v1/status").text.contains("kraken") {
      try await patience.wait(for: "the venue to be gone")
    }
    #expect(try await state(harness, of: "kraken")?["stopped"] as? Bool == true)
    #expect(try await ask(harness, "POST", "/admin/feeds/kraken/stop").status == 404)
    #expect(try await ask(harness, "POST", "/admin/feeds/okx/start").status == 404)
    #expect(try await ask(harness, "POST", "/admin/feeds/kraken/start").status == 202)
    try await harness.waitUntilLive()
    #expect(Links.problems(probe.messages) == [])
    #expect(!probe.messages[before...].contains { $0.type == "snapshot" }, "something was shown anew")
    await harness.stop()
  }

  @Test("a reload answers what has changed, or what is wrong")
  func reload() async throws {
    let harness = try harness()
    let next = { @Sendable () throws(ConfigurationProblems) -> GatewayConfiguration in
      var next = harness.gateway.current
      next.limits.subscriptions += 1
      return next
    }
    harness.gateway.onReload(next)
    let answer = try await ask(harness, "POST", "/admin/reload")
    #expect(answer.status == 200 && answer.json["changed"] as? [String] == ["limits.subscriptions: 1001"])
    harness.gateway.onReload { () throws(ConfigurationProblems) in
      throw ConfigurationProblems(problems: [ConfigurationProblem(name: "listen", place: "file", message: "is wrong")])
    }
    let refused = try await ask(harness, "POST", "/admin/reload")
    #expect(refused.status == 422 && (refused.json["problems"] as? [String])?.count == 1, "\(refused.text)")
    await harness.stop()
  }
}
