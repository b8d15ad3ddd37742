extension BitfinexProtocol: VenueSimulation {
  /// Prices of five digits, amounts of eight after the point, each printed without zeros at its end; names of three
  /// letters stand together, longer ones with a colon, and Tether is UST.
  static let listing =
    SimulatedListing.markets("USD", prices: "01224553", sizes: "88888888") { base, _ in
      "t\(base)\(base.utf8.count > 3 ? ":" : "")USD"
    }
    + SimulatedListing.markets("USDT", part: 0.5, prices: "0", sizes: "8") { base, _ in "t\(base)UST" }

  static let kind = SimulatedVenue.Kind(name: "bitfinex", listing: listing) {
    BitfinexProtocol(market: $0, faults: $1)
  }
}
