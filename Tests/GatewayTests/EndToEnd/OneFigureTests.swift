import Foundation
import HTTP1
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

@Suite("One price and one change in all answers", .serialized, .realTime)
struct OneFigureTests {
  /// The percentage of a card's capsule, with its sign.
  private static func percent(ofCard svg: String) -> Decimal? {
    guard let match = svg.firstMatch(of: #/>(▲ \+|▼ -|)([0-9.]+)%</#) else { return nil }
    let sign = match.output.1.hasPrefix("▼") ? "-" : ""
    return Decimal(string: "\(sign)\(match.output.2)")
  }

  private static func decimal(_ value: Any?) -> Decimal? { (value as? String).flatMap { Decimal(string: $0) } }

  @Test("in every market of the demo's venues, ticker, snapshot, line and card agree")
  func agreement() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase", "binance"])
    try await harness.waitUntilLive()
    var patience = Patience()
    for (venue, symbols) in harness.exchanges.keys.map({ ($0, GatewayHarness.symbols[$0] ?? []) }) {
      for symbol in symbols {
        while try await harness.get("/v1/sparklines/\(venue):\(symbol)").json["change_pct"] == nil {
          try await patience.wait(for: "a change of \(venue):\(symbol)")
        }
      }
    }
    // Prices stand still when the exchanges are gone.
    for exchange in harness.exchanges.values { exchange.stop() }
    for venue in harness.exchanges.keys {
      while try await harness.get("/v1/tickers/\(venue):\(GatewayHarness.symbols[venue]?[0] ?? "")").json["state"]
        as? String == "live"
      {
        try await patience.wait(for: "\(venue) to be gone")
      }
    }
    for (venue, symbols) in harness.exchanges.keys.map({ ($0, GatewayHarness.symbols[$0] ?? []) }) {
      for symbol in symbols.map({ "\(venue):\($0)" }) {
        let ticker = try await harness.get("/v1/tickers/\(symbol)").json["ticker"] as? [String: Any] ?? [:]
        let line = try await harness.get("/v1/sparklines/\(symbol)").json
        let card = try await harness.get("/v1/cards/price/\(symbol).svg").text
        let snapshots = try await harness.get("/v1/snapshot?symbols=\(symbol)").json["snapshots"] as? [[String: Any]]
        let shown = snapshots?.first?["ticker"] as? [String: Any] ?? [:]
        let drawn = snapshots?.first?["sparkline"] as? [String: Any] ?? [:]
        let percents = [
          Self.decimal(ticker["change_pct_24h"]), Self.decimal(line["change_pct"]), Self.percent(ofCard: card),
          Self.decimal(shown["change_pct_24h"]), Self.decimal(drawn["change_pct"]),
        ]
        #expect(Set(percents).count == 1 && percents[0] != nil, "\(symbol): \(percents)")
        let prices = [
          Self.decimal(ticker["last"]), Self.decimal((line["points"] as? [String])?.last), Self.decimal(shown["last"]),
        ]
        #expect(Set(prices).count == 1 && prices[0] != nil, "\(symbol): \(prices)")
        let opens = [Self.decimal(ticker["open_24h"]), Self.decimal(line["open"])]
        #expect(Set(opens).count == 1, "\(symbol): \(opens)")
      }
    }
    await harness.stop()
  }
}
