import Foundation
import Settings
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

/// Selections instead of symbols, through the whole gateway.
@Suite("Selections, end to end", .serialized, .realTime)
struct SelectionTests {
  /// Waits for so many instruments, all live, and answers their symbols.
  private func live(_ harness: GatewayHarness, _ count: Int) async throws -> [String] {
    var patience = Patience()
    while true {
      let answer = try await harness.get("/v1/instruments")
      let instruments = answer.json["instruments"] as? [[String: Any]] ?? []
      if instruments.count == count, instruments.allSatisfy({ $0["state"] as? String == "live" }) {
        return instruments.compactMap { $0["symbol"] as? String }.sorted()
      }
      try await patience.wait(for: "\(count) live instruments; \(answer.text)")
    }
  }

  private func harness(_ venue: String, _ symbols: [String], faults: [Fault] = []) throws -> GatewayHarness {
    try GatewayHarness(venues: [venue], faults: [venue: faults]) { $0.feeds[0].symbols = symbols }
  }

  @Test("every market of a venue whose list is in the stream")
  func everything() async throws {
    let harness = try harness("kraken", ["*"])
    let symbols = try await live(harness, 8)
    #expect(symbols == SimulatedVenue.symbols(of: "kraken").map { "kraken:\($0)" }.sorted())
    await harness.stop()
  }

  @Test("the most traded of spot and of perpetuals beside a symbol, each on its connection")
  func ranked() async throws {
    let harness = try harness("binance", ["LTC-USDT", "*-USDT:top2", "*-USDT-PERP:top1"])
    let symbols = try await live(harness, 4)
    #expect(symbols.contains("binance:LTC-USDT") && symbols.count { $0.hasSuffix("-PERP") } == 1)
    let status = try await harness.get("/v1/status")
    #expect(!status.text.contains("\"failed\""), "\(status.text)")
    await harness.stop()
  }

  @Test("after a connection was lost the same markets are followed, and what has come up since")
  func reconnects() async throws {
    let harness = try harness("kraken", ["*-USD:top3"])
    let before = try await live(harness, 3)
    let probe = try await harness.probe()
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"status"}]}"#)
    try await probe.first("the status") { $0.channel == "status" }
    harness.exchanges["kraken"]!.inject(try Fault(parsing: "drop"))
    try await probe.first("the loss") { $0.channel == "status" && $0.text.contains("reconnecting") }
    var patience = Patience()
    while true {
      let text = try await harness.get("/v1/instruments").text
      let isLive = before.allSatisfy { symbol in
        text.split(separator: "{").contains { $0.contains("\"\(symbol)\"") && $0.contains("\"state\":\"live\"") }
      }
      if isLive { break }
      try await patience.wait(for: "\(before) to be live again; \(text)")
    }
    await harness.stop()
  }

  @Test("a selection of nothing is told, and the others go on")
  func nothing() async throws {
    let harness = try harness("coinbase", ["BTC-USD", "*-EUR"])
    #expect(try await live(harness, 1) == ["coinbase:BTC-USD"])
    let status = try await harness.get("/v1/status")
    #expect(
      status.text.contains(#""coinbase:*-EUR":"Coinbase has no market for *-EUR; requested again at"#),
      "\(status.text)")
    await harness.stop()
  }
}
