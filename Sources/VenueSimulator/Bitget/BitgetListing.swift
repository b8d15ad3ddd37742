import MarketData

extension BitgetProtocol: VenueSimulation {
  /// Spot and perpetuals by the same names. Sizes are in base units on both; a tick of Solana's perpetual is five of
  /// its last digit.
  static let listing = SimulatedListing.byTurns(
    SimulatedListing.markets("USDT", part: 0.8, prices: "22224452", sizes: "64444444") { base, _ in "\(base)USDT" },
    SimulatedListing.markets(
      "USDT", .perpetual, part: 1.2, prices: "12324452", sizes: "42120001", ticks: [1, 1, 5, 1, 1, 1, 1, 1]
    ) { base, _ in "\(base)USDT" })

  static let kind = SimulatedVenue.Kind(name: "bitget", listing: listing) {
    BitgetProtocol(market: $0, faults: $1)
  }
}
