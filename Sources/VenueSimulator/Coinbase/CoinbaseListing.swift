extension CoinbaseProtocol: VenueSimulation {
  /// Digits of `quote_increment` and `base_increment`.
  static let listing = SimulatedListing.markets("USD", prices: "22224452", sizes: "88886818") { base, _ in "\(base)-USD"
  }

  static let kind = SimulatedVenue.Kind(name: "coinbase", listing: listing) {
    CoinbaseProtocol(market: $0, faults: $1)
  }
}
