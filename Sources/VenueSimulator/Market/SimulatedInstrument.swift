import Bytes

/// What a simulated venue trades, with the increments that the real one has for it.
package struct SimulatedInstrument: Sendable, Hashable {
  /// `BTC`.
  package let base: String
  /// `USD`, or `USDT` on Binance.
  package let quote: String
  /// The venue's own name: `BTC/USD`, `BTC-USD`, `BTCUSDT`.
  package let venueSymbol: String
  /// Digits after the point in printed prices. Prices are `Int64` counts of 10^-`priceScale`.
  package let priceScale: UInt8
  /// Digits after the point in printed sizes. Sizes are `Int64` counts of 10^-`sizeScale`.
  package let sizeScale: UInt8
  /// The smallest step of a price, in counts of 10^-`priceScale`.
  package let tick: Int64
  /// The smallest step of a size, in counts of 10^-`sizeScale`.
  package let lot: Int64
  /// The price that the market keeps returning to, in quote currency.
  package let reference: Double
  /// This instrument's part of the venue's activity; the mean over a venue's instruments is 1.
  package let activity: Double
  /// Levels a side that the book is kept at, within a tenth.
  package let levels: Int

  /// The smallest order, about five dollars' worth in whole lots, in counts of 10^-`sizeScale`.
  package var minimumSize: Int64 {
    let lots = 5 / reference * Double(DecimalText.power(sizeScale)) / Double(lot)
    return max(1, Int64(lots)) * lot
  }

  /// The same with books of another depth.
  func with(levels: Int) -> SimulatedInstrument {
    SimulatedInstrument(
      base: base, quote: quote, venueSymbol: venueSymbol, priceScale: priceScale, sizeScale: sizeScale, tick: tick,
      lot: lot, reference: reference, activity: activity, levels: levels)
  }

  /// The name in the gateway's words: `BTC-USD`.
  package var symbol: String { "\(base)-\(quote)" }
}

/// A part of what a venue lists, with books of another depth: a market that costs little.
package struct SimulatedExcerpt: Sendable {
  /// Base assets, in this order: `BTC`.
  package let bases: [String]
  /// Levels a side of each, in the same order.
  package let levels: [Int]

  package init(bases: [String], levels: [Int]) {
    precondition(bases.count == levels.count, "an excerpt has as many depths as assets")
    self.bases = bases
    self.levels = levels
  }

  /// Every instrument of `listing` on one of the assets.
  func of(_ listing: [SimulatedInstrument]) -> [SimulatedInstrument] {
    zip(bases, levels).flatMap { base, levels in
      listing.filter { $0.base == base }.map { $0.with(levels: levels) }
    }
  }
}

/// The instruments of each simulated venue: eight assets against US dollars, Tether on Binance.
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

  /// Kraken: precision of prices and tick per pair; sizes always have eight digits.
  package static let kraken: [SimulatedInstrument] = {
    let digits: [String: UInt8] = ["BTC": 1, "ETH": 2, "SOL": 2, "ZEC": 2, "XRP": 5, "ADA": 6, "DOGE": 7, "LTC": 2]
    return assets.map {
      SimulatedInstrument(
        base: $0.base, quote: "USD", venueSymbol: "\($0.base)/USD", priceScale: digits[$0.base]!, sizeScale: 8, tick: 1,
        lot: 1, reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()

  /// Coinbase: digits of `quote_increment` and `base_increment`.
  package static let coinbase: [SimulatedInstrument] = {
    let digits: [String: (UInt8, UInt8)] = [
      "BTC": (2, 8), "ETH": (2, 8), "SOL": (2, 8), "ZEC": (2, 8), "XRP": (4, 6), "ADA": (4, 8), "DOGE": (5, 1),
      "LTC": (2, 8),
    ]
    return assets.map {
      let (price, size) = digits[$0.base]!
      return SimulatedInstrument(
        base: $0.base, quote: "USD", venueSymbol: "\($0.base)-USD", priceScale: price, sizeScale: size, tick: 1, lot: 1,
        reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()

  /// Binance: everything is printed with eight digits; `tickSize` and `stepSize` are coarser.
  package static let binance: [SimulatedInstrument] = {
    let steps: [String: (Int64, Int64)] = [
      "BTC": (1_000_000, 1_000), "ETH": (1_000_000, 10_000), "SOL": (1_000_000, 100_000), "ZEC": (1_000_000, 100_000),
      "XRP": (10_000, 10_000_000), "ADA": (10_000, 10_000_000), "DOGE": (1_000, 100_000_000),
      "LTC": (1_000_000, 100_000),
    ]
    return assets.map {
      let (tick, lot) = steps[$0.base]!
      return SimulatedInstrument(
        base: $0.base, quote: "USDT", venueSymbol: "\($0.base)USDT", priceScale: 8, sizeScale: 8, tick: tick, lot: lot,
        reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()
}
