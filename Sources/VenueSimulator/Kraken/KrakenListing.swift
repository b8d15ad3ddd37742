extension KrakenProtocol: VenueSimulation {
  /// Precision of prices and tick per pair; sizes always have eight digits.
  static let listing = SimulatedListing.markets("USD", prices: "12225672", sizes: "88888888") { base, _ in "\(base)/USD"
  }

  static let kind = SimulatedVenue.Kind(name: "kraken", listing: listing) {
    KrakenProtocol(market: $0, faults: $1)
  }
}
