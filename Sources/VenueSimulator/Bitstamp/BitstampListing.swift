extension BitstampProtocol: VenueSimulation {
  /// Names in small letters, digits of `counter_decimals` and `base_decimals`.
  static let listing = SimulatedListing.markets("USD", prices: "01225552", sizes: "88888888") { base, _ in
    "\(base.lowercased())usd"
  }

  static let kind = SimulatedVenue.Kind(name: "bitstamp", listing: listing) {
    BitstampProtocol(market: $0, faults: $1)
  }
}
