extension KuCoinProtocol: VenueSimulation {
  /// Digits of `priceIncrement` and `baseIncrement`.
  static let listing = SimulatedListing.markets("USDT", prices: "12325452", sizes: "87444446") { base, _ in
    "\(base)-USDT"
  }

  static let kind = SimulatedVenue.Kind(name: "kucoin", listing: listing) {
    KuCoinProtocol(market: $0, faults: $1)
  }
}
