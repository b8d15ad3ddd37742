import MarketData

extension GeminiProtocol: VenueSimulation {
  /// Spot in dollars and linear perpetuals in GUSD, of the same digits; sizes are in base units on both.
  static let listing = SimulatedListing.byTurns(
    SimulatedListing.markets("USD", part: 1.2, prices: "22325552", sizes: "86666445") { base, _ in
      "\(base.lowercased())usd"
    },
    SimulatedListing.markets("GUSD", .perpetual, part: 0.8, prices: "22325552", sizes: "86666445") { base, _ in
      "\(base.lowercased())gusdperp"
    })

  static let kind = SimulatedVenue.Kind(name: "gemini", listing: listing) {
    GeminiProtocol(market: $0, faults: $1)
  }
}
