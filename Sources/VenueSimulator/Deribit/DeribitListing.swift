import MarketData

extension DeribitProtocol: VenueSimulation {
  /// Linear perpetuals in USDC, and a dated future of BTC. Amounts are in base units.
  static let listing =
    SimulatedListing.markets("USDC", .perpetual, prices: "12224452", sizes: "43120001") { base, _ in
      "\(base)_USDC-PERPETUAL"
    }
    + SimulatedListing.markets("USDC", SimulatedListing.expiry, part: 0.3, prices: "1", sizes: "4") { base, _ in
      "\(base)_USDC-25DEC26"
    }

  static let kind = SimulatedVenue.Kind(name: "deribit", listing: listing) {
    DeribitProtocol(market: $0, faults: $1)
  }
}
