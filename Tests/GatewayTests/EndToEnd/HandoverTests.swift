import Foundation
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

/// A venue announces that it will close the connection: clients see nothing but data.
@Suite("A planned end of a venue's connection, end to end", .serialized, .realTime)
struct HandoverEndToEndTests {
  private static let symbols = ["binance": "BTC-USDT", "okx": "BTC-USDT"]

  private func metric(_ harness: GatewayHarness, _ line: String) async throws -> Bool {
    try await harness.get("/metrics", internal: true).text.contains(line + "\n")
  }

  @Test(
    "the feed is live throughout, no book is reset, every trade comes once", arguments: ["binance", "okx"],
    [20.0, 400.0])
  func announced(venue: String, rate: Double) async throws {
    let harness = try GatewayHarness(venues: [venue], rate: rate)
    try await harness.waitUntilLive()
    let symbol = "\(venue):\(Self.symbols[venue]!)"
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"status"},{"channel":"trades","symbols":["\#(symbol)"],"interval_ms":0},"#
        + #"{"channel":"book","symbols":["\#(symbol)"],"depth":"full","interval_ms":0}]}"#)
    try await probe.first("an update") { $0.type == "update" && $0.symbol == symbol }
    let before = probe.count
    harness.exchanges[venue]!.inject(try Fault(parsing: "planned-shutdown=20"))
    var patience = Patience()
    while try await !metric(
      harness, "tidegate_feed_handovers_total{venue=\"\(venue)\",connection=\"\(venue)\",result=\"replaced\"} 1")
    {
      let status = try await harness.get("/v1/status").text
      try await patience.wait(for: "the connection to be replaced; \(status)")
    }
    let after = probe.count
    try await probe.first("trades afterwards", from: after + 20) { $0.type == "update" && $0.channel == "trades" }
    let messages = probe.messages
    #expect(Links.problems(messages) == [])
    #expect(
      !messages[before...].contains { $0.type == "snapshot" && $0.channel != "status" }, "something was shown anew")
    let states = messages[before...].filter { $0.channel == "status" }.map(\.text)
    #expect(states.contains { $0.contains("the next connection opens before this one closes") })
    #expect(states.allSatisfy { $0.contains("\"state\":\"live\"") && !$0.contains("\"syncing\"") }, "\(states)")
    #expect(states.last?.contains("\"reason\"") == false, "\(states.last ?? "")")
    // The simulated venue counts its trades without holes.
    let ids = messages.filter { $0.type == "update" && $0.channel == "trades" }
      .flatMap { ($0.json["data"] as? [String: Any])?["trades"] as? [[String: Any]] ?? [] }
      .compactMap { ($0["id"] as? String).flatMap(Int.init) }
    #expect(ids.count > 20)
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(ids)")
    // The old connection is gone, and the venue has one client.
    patience = Patience()
    while harness.exchanges[venue]!.statistics.clients != 1 {
      try await patience.wait(for: "the old connection to end")
    }
    await harness.stop()
  }
}
