extension CoinbaseAdvancedProtocol: VenueSimulation {
  static let listing = CoinbaseProtocol.listing

  static let kind = SimulatedVenue.Kind(name: "coinbase-advanced", listing: listing) {
    CoinbaseAdvancedProtocol(market: $0, faults: $1)
  }
}
