import Bytes
import MarketData

extension OKXProtocol: VenueSimulation {
  /// Spot, perpetuals in contracts, and a dated future of BTC.
  static let listing: [SimulatedInstrument] = {
    let contracts = [(1, 2), (1, 1), (1, 0), (1, 1), (100, 0), (100, 0), (1_000, 0), (1, 0)].map {
      Decimal64(mantissa: $0.0, scale: $0.1)
    }
    return SimulatedListing.byTurns(
      SimulatedListing.markets("USDT", part: 0.8, prices: "12224452", sizes: "86666446") { base, _ in "\(base)-USDT" },
      SimulatedListing.markets(
        "USDT", .perpetual, part: 1.2, prices: "12224452", sizes: "22222222", contracts: contracts
      ) { base, _ in "\(base)-USDT-SWAP" })
      + SimulatedListing.markets(
        "USDT", SimulatedListing.expiry, part: 0.3, prices: "1", sizes: "2", contracts: contracts
      ) { base, _ in
        "\(base)-USDT-261225"
      }
  }()

  static let kind = SimulatedVenue.Kind(name: "okx", listing: listing) {
    OKXProtocol(market: $0, faults: $1)
  }
}
