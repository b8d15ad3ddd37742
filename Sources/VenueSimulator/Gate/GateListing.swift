extension GateProtocol: VenueSimulation {
  /// Digits of `precision` and `amount_precision`.
  static let listing = SimulatedListing.markets("USDT", prices: "12224452", sizes: "64332223") { base, _ in
    "\(base)_USDT"
  }

  static let kind = SimulatedVenue.Kind(name: "gate", listing: listing) {
    GateProtocol(market: $0, faults: $1)
  }
}
