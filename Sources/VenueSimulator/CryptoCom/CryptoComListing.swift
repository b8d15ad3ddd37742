import MarketData

extension CryptoComProtocol: VenueSimulation {
  /// Spot, perpetuals and a dated future of BTC. Sizes are in base units on all.
  static let listing =
    SimulatedListing.byTurns(
      SimulatedListing.markets("USD", part: 0.8, prices: "22224552", sizes: "54332003") { base, _ in "\(base)_USD" },
      SimulatedListing.markets(
        "USD", .perpetual, part: 1.2, prices: "12224552", sizes: "44220002", ticks: [5, 1, 1, 1, 1, 1, 1, 1]
      ) { base, _ in "\(base)USD-PERP" })
    + SimulatedListing.markets("USD", SimulatedListing.expiry, part: 0.3, prices: "1", sizes: "4") { base, _ in
      "\(base)USD-261225"
    }

  static let kind = SimulatedVenue.Kind(name: "crypto-com", listing: listing) {
    CryptoComProtocol(market: $0, faults: $1)
  }
}
