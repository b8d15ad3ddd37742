import Foundation
import HTTP1
import Operations
import Settings
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway

/// The configuration changes while clients are there.
@Suite("A reload, end to end", .serialized, .realTime)
struct ReloadTests {
  private func states(_ harness: GatewayHarness) async throws -> [String: String] {
    let instruments = try await harness.get("/v1/instruments").json["instruments"] as? [[String: Any]] ?? []
    return Dictionary(uniqueKeysWithValues: instruments.map { ($0["symbol"] as! String, $0["state"] as! String) })
  }

  private func wait(_ harness: GatewayHarness, for symbols: [String]) async throws {
    var patience = Patience()
    while true {
      let states = try await states(harness)
      if states == Dictionary(uniqueKeysWithValues: symbols.map { ($0, "live") }) { return }
      try await patience.wait(for: "\(symbols) to be live and nothing else to be there: \(states)")
    }
  }

  private func reload(
    _ harness: GatewayHarness, _ change: (inout GatewayConfiguration) -> Void
  ) -> ReloadOutcome {
    var next = harness.gateway.current
    change(&next)
    return harness.gateway.reload { () throws(ConfigurationProblems) in next }
  }

  @Test(
    "symbols come and go, and what stays is live throughout: no client is dropped, nothing is shown anew",
    arguments: ["kraken", "coinbase", "binance"])
  func symbols(venue: String) async throws {
    let all = GatewayHarness.symbols[venue]!
    let harness = try GatewayHarness(venues: [venue], rate: 50) { $0.feeds[0].symbols = [all[0], all[1]] }
    try await wait(harness, for: [all[0], all[1]].map { "\(venue):\($0)" })
    let symbol = "\(venue):\(all[0])"
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"trades","symbols":["\#(symbol)"],"interval_ms":0},"#
        + #"{"channel":"book","symbols":["\#(symbol)"],"depth":"full","interval_ms":0}]}"#)
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    let before = probe.count
    // The second goes, the third comes.
    let outcome = reload(harness) { $0.feeds[0].symbols = [all[2], all[0]] }
    #expect(
      outcome
        == .done(changed: ["feeds: \(venue) follows 1 more symbols and 1 no more"], needsRestart: []))
    try await wait(harness, for: [all[0], all[2]].map { "\(venue):\($0)" })
    try await probe.first("updates afterwards", from: probe.count + 20) { $0.type == "update" }
    let messages = probe.messages
    #expect(Links.problems(messages) == [])
    #expect(!messages[before...].contains { $0.type == "snapshot" }, "something was shown anew")
    let health = try await harness.get("/healthz", internal: true)
    #expect(health.json["status"] as? String == "ok", "\(health.text)")
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("connection=\"\(venue)\",state=\"live\"} 2\n"))
    #expect(metrics.contains("connection=\"\(venue)\",state=\"syncing\"} 0\n"))
    // And back again: what had gone is another symbol like any.
    _ = reload(harness) { $0.feeds[0].symbols = all }
    try await wait(harness, for: all.map { "\(venue):\($0)" })
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }

  @Test("of 300 symbols 200 change under load: no client is dropped, and what stays is live throughout")
  func manySymbols() async throws {
    let loop = try EventLoop(index: 0, label: "test.reload")
    let excerpt = SimulatedExcerpt(invented: 300, quote: "USD", levels: 20)
    let exchange = try SimulatedExchange(
      venue: "kraken", seed: 5, rate: 4, excerpt: excerpt, listen: SocketAddress(host: "127.0.0.1", port: 0), tls: nil,
      loop: loop)
    let staying = Array(excerpt.symbols[..<100])
    let harness = try GatewayHarness(venues: []) {
      $0.feeds = [
        .init(
          venue: "kraken", symbols: staying + excerpt.symbols[100..<200], endpoint: exchange.webSocketURL,
          restEndpoint: exchange.restURL)
      ]
    }
    try await wait(harness, for: excerpt.symbols[..<200].map { "kraken:\($0)" })
    var probes: [StreamProbe] = []
    let symbols = staying.map { "\"kraken:\($0)\"" }.joined(separator: ",")
    for _ in 0..<10 {
      let probe = try await harness.probe()
      probe.send(
        #"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":[\#(symbols)],"depth":10,"interval_ms":0},"#
          + #"{"channel":"trades","symbols":[\#(symbols)],"interval_ms":0}]}"#)
      try await probe.first("an update") { $0.type == "update" && $0.channel == "book" }
      probes.append(probe)
    }
    var patience = Patience()
    while !probes.allSatisfy({ $0.messages.count { $0.type == "snapshot" } >= 200 }) {
      try await patience.wait(for: "a snapshot of every stream")
    }
    let before = probes.map(\.count)
    let outcome = reload(harness) { $0.feeds[0].symbols = staying + excerpt.symbols[200...] }
    #expect(
      outcome == .done(changed: ["feeds: kraken follows 100 more symbols and 100 no more"], needsRestart: []))
    try await wait(harness, for: (staying + excerpt.symbols[200...]).map { "kraken:\($0)" })
    for (probe, count) in zip(probes, before) {
      try await probe.first("updates afterwards", from: probe.count + 50) { $0.type == "update" }
      let since = probe.messages[count...]
      #expect(!since.contains { $0.type == "snapshot" }, "something was shown anew")
      #expect(!since.contains { $0.data["state"] != nil }, "a book left sync")
      #expect(Links.problems(probe.messages) == [])
    }
    exchange.stop()
    await harness.stop()
    await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
  }

  @Test("a venue goes and comes back, and the other one does not notice")
  func venues() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["kraken:BTC-USD"],"depth":10}]}"#)
    try await probe.first("an update") { $0.type == "update" }
    let before = probe.count
    let coinbase = harness.gateway.current.feeds.first { $0.venue == "coinbase" }!
    #expect(
      reload(harness) { $0.feeds.removeAll { $0.venue == "coinbase" } }
        == .done(changed: ["feeds: coinbase was removed"], needsRestart: []))
    try await wait(harness, for: GatewayHarness.symbols["kraken"]!.map { "kraken:\($0)" })
    let status = try await harness.get("/v1/status").text
    #expect(!status.contains("coinbase"), "\(status)")
    #expect(try await !harness.get("/metrics", internal: true).text.contains("coinbase"))
    var patience = Patience()
    while harness.exchanges["coinbase"]!.statistics.clients != 0 {
      try await patience.wait(for: "the connection to end")
    }
    #expect(
      reload(harness) { $0.feeds.append(coinbase) } == .done(changed: ["feeds: coinbase was added"], needsRestart: []))
    try await harness.waitUntilLive()
    #expect(Links.problems(probe.messages) == [])
    #expect(!probe.messages[before...].contains { $0.type == "snapshot" }, "something was shown anew")
    await harness.stop()
  }

  @Test("limits and origins hold at once; what cannot change is said; what is wrong changes nothing")
  func settings() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    let outcome = reload(harness) {
      $0.limits.subscriptions = 1
      $0.origins = ["https://example.com"]
      $0.heartbeatSeconds = 7
    }
    #expect(
      outcome
        == .done(
          changed: ["limits.subscriptions: 1", "origins: https://example.com"], needsRestart: ["heartbeat-seconds: 7"])
    )
    // Each loop applies them in its next turn; on a busy machine it may read the request in the present one.
    for node in harness.gateway.nodes {
      await withCheckedContinuation { applied in node.loop.execute { applied.resume() } }
    }
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"ticker","symbols":["kraken:BTC-USD","kraken:ETH-USD"]}]}"#)
    try await probe.first("the limit") { $0.text.contains("too_many_subscriptions") }
    let answer = try await harness.get("/v1/status", fields: [.init("Origin", "https://elsewhere.example")])
    #expect(answer.text.contains("feeds"))
    #expect(answer.fields["Access-Control-Allow-Origin"] == nil)
    let problem = ConfigurationProblem(name: "limits.subscriptions", location: "file", message: "\"x\" is not allowed")
    let refused = harness.gateway.reload { () throws(ConfigurationProblems) in
      throw ConfigurationProblems(problems: [problem])
    }
    #expect(refused == .refused([problem.description]))
    #expect(harness.gateway.current.limits.subscriptions == 1)
    #expect(try await states(harness).values.allSatisfy { $0 == "live" })
    await harness.stop()
  }
}
