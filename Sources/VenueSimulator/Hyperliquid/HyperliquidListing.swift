import MarketData

extension HyperliquidProtocol: VenueSimulation {
  /// Perpetuals, and spot by numbers. Prices have at most five significant digits, and 6 (on spot 8) less those of
  /// sizes after the point.
  static let listing =
    SimulatedListing.markets(
      "USDC", .perpetual, part: 1.2, prices: "12446664", sizes: "54220002",
      ticks: [10, 10, 100, 100, 100, 10, 10, 10]
    ) { base, _ in base }
    + SimulatedListing.markets("USDC", part: 0.8, prices: "3466", sizes: "5422", ticks: [1_000, 1_000, 10_000, 10_000])
  { _, index in
    "@\(140 + index)"
  }

  static let kind = SimulatedVenue.Kind(name: "hyperliquid", listing: listing) {
    HyperliquidProtocol(market: $0, faults: $1)
  }
}
