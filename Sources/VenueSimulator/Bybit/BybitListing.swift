import MarketData

extension BybitProtocol: VenueSimulation {
  /// Spot and linear perpetuals by the same names, and a dated future of BTC. Sizes are in base units on all.
  static let listing =
    SimulatedListing.byTurns(
      SimulatedListing.markets("USDT", part: 0.8, prices: "22224452", sizes: "65442215") { base, _ in "\(base)USDT" },
      SimulatedListing.markets("USDT", .perpetual, part: 1.2, prices: "22224452", sizes: "32120001") { base, _ in
        "\(base)USDT"
      })
    + SimulatedListing.markets("USDT", SimulatedListing.expiry, part: 0.3, prices: "2", sizes: "3") { base, _ in
      "\(base)USDT-25DEC26"
    }

  static let kind = SimulatedVenue.Kind(name: "bybit", listing: listing) {
    BybitProtocol(market: $0, faults: $1)
  }
}
