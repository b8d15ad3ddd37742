import Bytes
import MarketData

/// The instruments of each simulated venue: eight assets against US dollars or what stands for them there. Each venue's
/// list stands beside its protocol.
enum SimulatedListing {
  private struct Asset {
    let base: String
    let price: Double
    let activity: Double
    let levels: Int
  }

  private static let assets = [
    Asset(base: "BTC", price: 97_250, activity: 2.0, levels: 1_000),
    Asset(base: "ETH", price: 3_310, activity: 1.6, levels: 800),
    Asset(base: "SOL", price: 168, activity: 1.2, levels: 600),
    Asset(base: "ZEC", price: 512, activity: 0.4, levels: 300),
    Asset(base: "XRP", price: 2.31, activity: 1.0, levels: 450),
    Asset(base: "ADA", price: 0.71, activity: 0.6, levels: 250),
    Asset(base: "DOGE", price: 0.1935, activity: 0.7, levels: 300),
    Asset(base: "LTC", price: 96, activity: 0.5, levels: 200),
  ]

  /// A market of each asset, or of the first ones.
  /// - Parameters:
  ///   - part: of the asset's activity.
  ///   - prices: digits after the point of each asset's price, one figure an asset, in the order of the assets;
  /// likewise `sizes`.   - ticks: in counts of the last digit; nil for 1. Likewise `lots`.
  ///   - contracts: what sizes count, in base units; nil for 1.
  ///   - name: the venue's, of an asset and its index.
  static func markets(
    _ quote: String, _ kind: Instrument.Kind = .spot, part: Double = 1, prices: String, sizes: String,
    ticks: [Int64]? = nil, lots: [Int64]? = nil, contracts: [Decimal64]? = nil, name: (String, Int) -> String
  ) -> [SimulatedInstrument] {
    zip(prices.utf8, sizes.utf8).enumerated().map { index, digits in
      let asset = assets[index]
      return SimulatedInstrument(
        base: asset.base, quote: quote, venueSymbol: name(asset.base, index), kind: kind,
        contractSize: contracts?[index] ?? Decimal64(mantissa: 1, scale: 0), priceScale: digits.0 - 0x30,
        sizeScale: digits.1 - 0x30, tick: ticks?[index] ?? 1, lot: lots?[index] ?? 1, reference: asset.price,
        activity: asset.activity * part, levels: asset.levels)
    }
  }

  static func byTurns(_ a: [SimulatedInstrument], _ b: [SimulatedInstrument]) -> [SimulatedInstrument] {
    zip(a, b).flatMap { [$0, $1] }
  }

  static let expiry = Instrument.Kind.future(expiry: "20261225")
}
