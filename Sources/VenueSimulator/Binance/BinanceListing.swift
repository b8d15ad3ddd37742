import MarketData

extension BinanceProtocol: VenueSimulation {
  /// Spot is printed with eight digits, `tickSize` and `stepSize` are coarser; futures have digits of their own, and a
  /// dated one of BTC.
  static let listing =
    SimulatedListing.markets(
      "USDT", prices: "88888888", sizes: "88888888",
      ticks: [1_000_000, 1_000_000, 1_000_000, 1_000_000, 10_000, 10_000, 1_000, 1_000_000],
      lots: [1_000, 10_000, 100_000, 100_000, 10_000_000, 10_000_000, 100_000_000, 100_000]
    ) { base, _ in "\(base)USDT" }
    // Printed with two digits and a tick of 0.10, as BTCUSDT is.
    + SimulatedListing.markets(
      "USDT", .perpetual, prices: "22324562", sizes: "33031003", ticks: [10, 1, 1, 1, 1, 1, 1, 1]
    ) { base, _ in "\(base)USDT" }
    + SimulatedListing.markets("USDT", SimulatedListing.expiry, part: 0.3, prices: "2", sizes: "3", ticks: [10]) {
      base, _ in "\(base)USDT_261225"
    }

  static let kind = SimulatedVenue.Kind(name: "binance", listing: listing) {
    BinanceProtocol(market: $0, faults: $1)
  }
}
