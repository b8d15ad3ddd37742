import Bytes
import MarketData

extension KuCoinProtocol: VenueSimulation {
  /// Digits of `priceIncrement` and `baseIncrement` on spot; contracts are in lots of so many base units. BTC is XBT
  /// there.
  static let listing: [SimulatedInstrument] = {
    let lots = [(1, 3), (1, 2), (1, 1), (1, 2), (10, 0), (10, 0), (100, 0), (1, 1)].map {
      Decimal64(mantissa: $0.0, scale: $0.1)
    }
    return SimulatedListing.markets("USDT", prices: "12325452", sizes: "87444446") { base, _ in "\(base)-USDT" }
      + SimulatedListing.markets("USDT", .perpetual, prices: "12324452", sizes: "00000000", contracts: lots) {
        base, _ in "\(base == "BTC" ? "XBT" : base)USDTM"
      }
  }()

  static let kind = SimulatedVenue.Kind(name: "kucoin", listing: listing) {
    KuCoinProtocol(market: $0, faults: $1)
  }
}
