import Foundation
import HTTP1
import Settings
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway
@testable import Operations

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
    for route in AdminRoute.all {
      let path = route.path.replacing("{id}", with: "0.0.1").replacing("{connection}", with: "kraken")
        .replacing("{symbol}", with: "BTC-USD")
      #expect(try await ask(harness, route.method, path, token: nil).status == 401, "\(path)")
      #expect(try await ask(harness, route.method, path, token: "0123456789abcdef0124").status == 401, "\(path)")
    }
    #expect(try await harness.get("/admin/clients").status == 404)
    #expect(try await ask(harness, "GET", "/admin/reload").status == 405)
    #expect(try await ask(harness, "GET", "/admin/clients?limit=0").status == 400)
    #expect(try await ask(harness, "GET", "/admin/nothing").status == 404)
    #expect(try await !ask(harness, "GET", "/admin/configuration").text.contains(Self.token))
    // As for an upgrade that is refused for another reason: a code has one status.
    let refused = try await ask(harness, "POST", "/admin/upgrade")
    #expect(refused.status == 409 && refused.text.contains("\"code\":\"no_upgrade\""))
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

  @Test("an operator sees what a client is subscribed to, slows it down, and lets it go")
  func hold() async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"quote","symbols":["kraken:*"]},"#
        + #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":10},{"channel":"status"}]}"#)
    try await probe.first("the reply") { $0.type == "subscribed" }
    let list = try await ask(harness, "GET", "/admin/clients")
    let id = try #require((list.json["clients"] as? [[String: Any]])?.first?["id"] as? String)
    func subscriptions() async throws -> [[String: Any]] {
      var all: [[String: Any]] = []
      var after: Int? = 0
      while let stream = after {
        let page = try await ask(harness, "GET", "/admin/clients/\(id)/subscriptions?limit=2&after=\(stream)").json
        all += page["subscriptions"] as? [[String: Any]] ?? []
        after = page["next"] as? Int
      }
      return all
    }
    let before = try await subscriptions()
    #expect(before.count == 5 && Set(before.compactMap { $0["stream"] as? Int }).count == 5)
    #expect(before.filter { $0["channel"] as? String == "quote" }.allSatisfy { $0["interval_ms"] as? Int == 0 })
    #expect(try await ask(harness, "POST", "/admin/clients/\(id)/hold").status == 400)
    #expect(try await ask(harness, "POST", "/admin/clients/\(id)/hold?interval_ms=3").status == 400)
    #expect(try await ask(harness, "POST", "/admin/clients/0.77.1/hold?interval_ms=1000").status == 404)
    #expect(try await ask(harness, "GET", "/admin/clients/0.77.1/subscriptions").status == 404)
    let held = try await ask(harness, "POST", "/admin/clients/\(id)/hold?interval_ms=1000")
    #expect(held.status == 200 && held.json["held_ms"] as? Int == 1_000)
    try await probe.first("the notice") { $0.type == "notice" && $0["action"] as? String == "degraded" }
    var slow = try await subscriptions()
    var patience = Patience()
    while !slow.allSatisfy({ $0["channel"] as? String == "status" || $0["interval_ms"] as? Int == 1_000 }) {
      try await patience.wait(for: "the slower class")
      slow = try await subscriptions()
    }
    #expect(slow.filter { $0["channel"] as? String == "quote" }.allSatisfy { $0["asked_ms"] as? Int == 0 })
    #expect(try await ask(harness, "POST", "/admin/clients/\(id)/hold?interval_ms=0").status == 200)
    try await probe.first("its rate back") { $0.type == "notice" && $0["action"] as? String == "restored" }
    await harness.stop()
  }

  @Test("one symbol is rebuilt, stopped and started, and the others of its feed do not notice")
  func symbols() async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["kraken:BTC-USD","kraken:ZEC-USD"]}]}"#)
    try await probe.first("an update") { $0.type == "update" && $0.symbol == "kraken:BTC-USD" }
    let path = "/admin/feeds/kraken/symbols/"
    for (symbol, order, status) in [
      ("ABC-USD", "resync", 404), ("ABC-USD", "stop", 404), ("ZEC-USD", "start", 404), ("ZEC-USD", "resync", 202),
    ] {
      #expect(try await ask(harness, "POST", path + symbol + "/" + order).status == status, "\(symbol) \(order)")
    }
    #expect(try await ask(harness, "POST", "/admin/feeds/okx/symbols/ZEC-USD/stop").status == 404)
    try await probe.first("the rebuilt book") {
      $0.type == "snapshot" && $0.symbol == "kraken:ZEC-USD" && $0["reason"] as? String != "subscribe"
    }
    try await harness.waitUntilLive()
    let before = probe.count
    #expect(try await ask(harness, "POST", path + "ZEC-USD/stop").status == 202)
    var patience = Patience()
    while try await harness.get("/v1/instruments").text.contains("ZEC-USD") {
      try await patience.wait(for: "the symbol to be gone")
    }
    #expect(try await ask(harness, "POST", path + "ZEC-USD/stop").status == 404)
    #expect(try await ask(harness, "POST", path + "ETH-USD/stop").status == 202)
    let last = try await ask(harness, "POST", path + "BTC-USD/stop")
    #expect(last.status == 409 && last.json["code"] as? String == "last_symbol", "\(last.text)")
    #expect(try await ask(harness, "POST", path + "ETH-USD/start").status == 202)
    #expect(try await ask(harness, "POST", path + "ZEC-USD/start").status == 202)
    try await harness.waitUntilLive()
    #expect(Links.problems(probe.messages) == [])
    let anew = probe.messages[before...].filter { $0.type == "snapshot" && $0.symbol == "kraken:BTC-USD" }
    #expect(anew.isEmpty, "a book that stayed was shown anew")
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
      throw ConfigurationProblems(problems: [
        ConfigurationProblem(name: "listen", location: "file", message: "is wrong")
      ])
    }
    let refused = try await ask(harness, "POST", "/admin/reload")
    #expect(refused.status == 422 && (refused.json["problems"] as? [String])?.count == 1, "\(refused.text)")
    await harness.stop()
  }
}
