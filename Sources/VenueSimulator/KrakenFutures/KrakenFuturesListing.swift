import MarketData

extension KrakenFuturesProtocol: VenueSimulation {
  /// Linear perpetuals, and a dated future of BTC, which is XBT there. The step of DOGE is ten whole coins.
  static let listing =
    SimulatedListing.markets(
      "USD", .perpetual, prices: "11225562", sizes: "43220002", ticks: [5, 1, 1, 1, 1, 1, 1, 1],
      lots: [1, 1, 1, 1, 1, 1, 10, 1]
    ) { base, _ in "PF_\(base == "BTC" ? "XBT" : base)USD" }
    + SimulatedListing.markets("USD", SimulatedListing.expiry, part: 0.3, prices: "0", sizes: "4") { _, _ in
      "FF_XBTUSD_261225"
    }

  static let kind = SimulatedVenue.Kind(name: "kraken-futures", listing: listing) {
    KrakenFuturesProtocol(market: $0, faults: $1)
  }
}
