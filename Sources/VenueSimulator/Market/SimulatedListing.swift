import Bytes
import MarketData

/// The instruments of each simulated venue: eight assets against US dollars or what stands for them there.
package enum SimulatedListing {
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
  ///   - prices: digits after the point of each asset's price, one figure an asset, in the order of the assets; likewise `sizes`.
  ///   - ticks: in counts of the last digit; nil for 1. Likewise `lots`.
  ///   - contracts: what sizes count, in base units; nil for 1.
  ///   - name: the venue's, of an asset and its place.
  private static func markets(
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

  private static func byTurns(_ a: [SimulatedInstrument], _ b: [SimulatedInstrument]) -> [SimulatedInstrument] {
    zip(a, b).flatMap { [$0, $1] }
  }

  private static let expiry = Instrument.Kind.future(expiry: "20261225")

  /// Precision of prices and tick per pair; sizes always have eight digits.
  package static let kraken = markets("USD", prices: "12225672", sizes: "88888888") { base, _ in "\(base)/USD" }

  /// Digits of `quote_increment` and `base_increment`.
  package static let coinbase = markets("USD", prices: "22224452", sizes: "88886818") { base, _ in "\(base)-USD" }

  /// Spot and linear perpetuals by the same names, and a dated future of BTC. Sizes are in base units on all.
  package static let bybit =
    byTurns(
      markets("USDT", part: 0.8, prices: "22224452", sizes: "65442215") { base, _ in "\(base)USDT" },
      markets("USDT", .perpetual, part: 1.2, prices: "22224452", sizes: "32120001") { base, _ in "\(base)USDT" })
    + markets("USDT", expiry, part: 0.3, prices: "2", sizes: "3") { base, _ in "\(base)USDT-25DEC26" }

  /// Spot, perpetuals in contracts, and a dated future of BTC.
  package static let okx: [SimulatedInstrument] = {
    let contracts = [(1, 2), (1, 1), (1, 0), (1, 1), (100, 0), (100, 0), (1_000, 0), (1, 0)].map {
      Decimal64(mantissa: $0.0, scale: $0.1)
    }
    return byTurns(
      markets("USDT", part: 0.8, prices: "12224452", sizes: "86666446") { base, _ in "\(base)-USDT" },
      markets(
        "USDT", .perpetual, part: 1.2, prices: "12224452", sizes: "22222222", contracts: contracts
      ) { base, _ in "\(base)-USDT-SWAP" })
      + markets("USDT", expiry, part: 0.3, prices: "1", sizes: "2", contracts: contracts) { base, _ in
        "\(base)-USDT-261225"
      }
  }()

  /// Prices of five digits, amounts of eight after the point, each printed without zeros at its end; names of three letters stand
  /// together, longer ones with a colon, and Tether is UST.
  package static let bitfinex =
    markets("USD", prices: "01224553", sizes: "88888888") { base, _ in "t\(base)\(base.utf8.count > 3 ? ":" : "")USD" }
    + markets("USDT", part: 0.5, prices: "0", sizes: "8") { base, _ in "t\(base)UST" }

  /// Names in small letters, digits of `counter_decimals` and `base_decimals`.
  package static let bitstamp = markets("USD", prices: "01225552", sizes: "88888888") { base, _ in
    "\(base.lowercased())usd"
  }

  /// Spot in dollars and linear perpetuals in GUSD, of the same digits; sizes are in base units on both.
  package static let gemini = byTurns(
    markets("USD", part: 1.2, prices: "22325552", sizes: "86666445") { base, _ in "\(base.lowercased())usd" },
    markets("GUSD", .perpetual, part: 0.8, prices: "22325552", sizes: "86666445") { base, _ in
      "\(base.lowercased())gusdperp"
    })

  /// Linear perpetuals in USDC, and a dated future of BTC. Amounts are in base units.
  package static let deribit =
    markets("USDC", .perpetual, prices: "12224452", sizes: "43120001") { base, _ in "\(base)_USDC-PERPETUAL" }
    + markets("USDC", expiry, part: 0.3, prices: "1", sizes: "4") { base, _ in "\(base)_USDC-25DEC26" }

  /// Perpetuals, and spot by numbers. Prices have at most five significant digits, and 6 (on spot 8) less those of sizes after the point.
  package static let hyperliquid =
    markets(
      "USDC", .perpetual, part: 1.2, prices: "12446664", sizes: "54220002",
      ticks: [10, 10, 100, 100, 100, 10, 10, 10]
    ) { base, _ in base }
    + markets("USDC", part: 0.8, prices: "3466", sizes: "5422", ticks: [1_000, 1_000, 10_000, 10_000]) { _, place in
      "@\(140 + place)"
    }

  /// Digits of `precision` and `amount_precision`.
  package static let gate = markets("USDT", prices: "12224452", sizes: "64332223") { base, _ in "\(base)_USDT" }

  /// Digits of `priceIncrement` and `baseIncrement`.
  package static let kucoin = markets("USDT", prices: "12325452", sizes: "87444446") { base, _ in "\(base)-USDT" }

  /// Spot and perpetuals by the same names. Sizes are in base units on both; a tick of Solana's perpetual is five of its last digit.
  package static let bitget = byTurns(
    markets("USDT", part: 0.8, prices: "22224452", sizes: "64444444") { base, _ in "\(base)USDT" },
    markets(
      "USDT", .perpetual, part: 1.2, prices: "12324452", sizes: "42120001", ticks: [1, 1, 5, 1, 1, 1, 1, 1]
    ) { base, _ in "\(base)USDT" })

  /// Spot is printed with eight digits, `tickSize` and `stepSize` are coarser; futures have digits of their own, and a dated one of BTC.
  package static let binance =
    markets(
      "USDT", prices: "88888888", sizes: "88888888",
      ticks: [1_000_000, 1_000_000, 1_000_000, 1_000_000, 10_000, 10_000, 1_000, 1_000_000],
      lots: [1_000, 10_000, 100_000, 100_000, 10_000_000, 10_000_000, 100_000_000, 100_000]
    ) { base, _ in "\(base)USDT" }
    // Printed with two digits and a tick of 0.10, as BTCUSDT is.
    + markets(
      "USDT", .perpetual, prices: "22324562", sizes: "33031003", ticks: [10, 1, 1, 1, 1, 1, 1, 1]
    ) { base, _ in "\(base)USDT" }
    + markets("USDT", expiry, part: 0.3, prices: "2", sizes: "3", ticks: [10]) { base, _ in "\(base)USDT_261225" }
}
