import Bytes
import MarketData
import Venues

/// What a simulated venue trades, with the increments that the real one has for it.
package struct SimulatedInstrument: Sendable, Hashable {
  /// `BTC`.
  package let base: String
  /// `USD`, or `USDT` on Binance.
  package let quote: String
  /// The venue's own name: `BTC/USD`, `BTC-USD`, `BTCUSDT`.
  package let venueSymbol: String
  package let kind: Instrument.Kind
  /// Base units in one unit of printed sizes; 1 unless the venue counts contracts.
  package let contractSize: Decimal64
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

  init(
    base: String, quote: String, venueSymbol: String, kind: Instrument.Kind = .spot,
    contractSize: Decimal64 = Decimal64(mantissa: 1, scale: 0), priceScale: UInt8, sizeScale: UInt8, tick: Int64,
    lot: Int64, reference: Double, activity: Double, levels: Int
  ) {
    self.base = base
    self.quote = quote
    self.venueSymbol = venueSymbol
    self.kind = kind
    self.contractSize = contractSize
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.tick = tick
    self.lot = lot
    self.reference = reference
    self.activity = activity
    self.levels = levels
  }

  /// The same with books of another depth, and `busyness` times as much going on.
  func with(levels: Int, busyness: Double = 1) -> SimulatedInstrument {
    SimulatedInstrument(
      base: base, quote: quote, venueSymbol: venueSymbol, kind: kind, contractSize: contractSize,
      priceScale: priceScale, sizeScale: sizeScale, tick: tick, lot: lot, reference: reference,
      activity: activity * busyness, levels: levels)
  }

  /// The market of another asset, alike in all else.
  func renamed(_ base: String) -> SimulatedInstrument {
    SimulatedInstrument(
      base: base, quote: quote, venueSymbol: venueSymbol.replacing(self.base, with: base, maxReplacements: 1),
      kind: kind,
      contractSize: contractSize, priceScale: priceScale, sizeScale: sizeScale, tick: tick, lot: lot,
      reference: reference, activity: activity, levels: levels)
  }

  /// The name in the gateway's words: `BTC-USD`, `BTC-USDT-PERP`.
  package var symbol: String { FeedSymbol(base: base, quote: quote, kind: kind).text }
}

/// A part of what a venue lists, with books of another depth: a market that costs little.
package struct SimulatedExcerpt: Sendable {
  /// In the gateway's words, in this order: `BTC-USDT`.
  package let symbols: [String]
  /// Levels a side of each, in the same order.
  package let levels: [Int]
  /// How busy each is, in the same order, as a multiple of what it is otherwise.
  private let busyness: [Double]
  /// Markets of assets that there are not, instead of those: `S0001-USDT` and so on.
  private var invented = 0

  package init(symbols: [String], levels: [Int], busyness: [Double]? = nil) {
    precondition(symbols.count == levels.count, "an excerpt has as many depths as symbols")
    precondition(busyness.map { $0.count == symbols.count } ?? true)
    self.symbols = symbols
    self.levels = levels
    self.busyness = busyness ?? Array(repeating: 1, count: symbols.count)
  }

  /// A venue with `count` spot markets of assets that there are not, `S0001`, `S0002`…, with books of `levels` levels a side.
  package init(invented count: Int, quote: String, levels: Int) {
    precondition((1...9_999).contains(count))
    invented = count
    symbols = (1...count).map { "\(Self.asset($0))-\(quote)" }
    self.levels = Array(repeating: levels, count: count)
    busyness = Array(repeating: 1, count: count)
  }

  /// `S0001`
  private static func asset(_ number: Int) -> String {
    let digits = String(number)
    return "S" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  func of(_ listing: [SimulatedInstrument]) -> [SimulatedInstrument] {
    if invented > 0 {
      let models = listing.filter { $0.kind == .spot }
      return levels.indices.map { index in
        models[index % models.count].renamed(Self.asset(index + 1)).with(levels: levels[index])
      }
    }
    return listed(listing)
  }

  private func listed(_ listing: [SimulatedInstrument]) -> [SimulatedInstrument] {
    symbols.indices.flatMap { index in
      listing.filter { $0.symbol == symbols[index] }.map {
        $0.with(levels: levels[index], busyness: busyness[index])
      }
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

  /// Bybit: spot and linear perpetuals by the same names, and a dated future of BTC. Sizes are in base units on all.
  package static let bybit: [SimulatedInstrument] = {
    let digits: [String: (price: UInt8, spotSize: UInt8, size: UInt8)] = [
      "BTC": (2, 6, 3), "ETH": (2, 5, 2), "SOL": (2, 4, 1), "ZEC": (2, 4, 2), "XRP": (4, 2, 0), "ADA": (4, 2, 0),
      "DOGE": (5, 1, 0), "LTC": (2, 5, 1),
    ]
    func instrument(_ asset: Asset, _ name: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let scale = digits[asset.base]!
      return SimulatedInstrument(
        base: asset.base, quote: "USDT", venueSymbol: name, kind: kind, priceScale: scale.price,
        sizeScale: kind == .spot ? scale.spotSize : scale.size, tick: 1, lot: 1, reference: asset.price,
        activity: asset.activity * part, levels: asset.levels)
    }
    return assets.flatMap {
      [instrument($0, "\($0.base)USDT", .spot, 0.8), instrument($0, "\($0.base)USDT", .perpetual, 1.2)]
    } + [instrument(assets[0], "BTCUSDT-25DEC26", .future(expiry: "20261225"), 0.3)]
  }()

  /// OKX: spot, perpetuals in contracts, and a dated future of BTC.
  package static let okx: [SimulatedInstrument] = {
    let digits: [String: (price: UInt8, size: UInt8, contract: Decimal64)] = [
      "BTC": (1, 8, Decimal64(mantissa: 1, scale: 2)), "ETH": (2, 6, Decimal64(mantissa: 1, scale: 1)),
      "SOL": (2, 6, Decimal64(mantissa: 1, scale: 0)), "ZEC": (2, 6, Decimal64(mantissa: 1, scale: 1)),
      "XRP": (4, 6, Decimal64(mantissa: 100, scale: 0)), "ADA": (4, 4, Decimal64(mantissa: 100, scale: 0)),
      "DOGE": (5, 4, Decimal64(mantissa: 1_000, scale: 0)), "LTC": (2, 6, Decimal64(mantissa: 1, scale: 0)),
    ]
    func instrument(_ asset: Asset, _ suffix: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let (price, size, contract) = digits[asset.base]!
      let isSpot = kind == .spot
      return SimulatedInstrument(
        base: asset.base, quote: "USDT", venueSymbol: "\(asset.base)-USDT\(suffix)", kind: kind,
        contractSize: isSpot ? Decimal64(mantissa: 1, scale: 0) : contract, priceScale: price,
        sizeScale: isSpot ? size : 2, tick: 1, lot: 1, reference: asset.price, activity: asset.activity * part,
        levels: asset.levels)
    }
    return assets.flatMap { [instrument($0, "", .spot, 0.8), instrument($0, "-SWAP", .perpetual, 1.2)] }
      + [instrument(assets[0], "-261225", .future(expiry: "20261225"), 0.3)]
  }()

  /// Bitfinex: prices of five digits, amounts of eight after the point, each printed without zeros at its end; names of three letters
  /// stand together, longer ones with a colon, and Tether is UST.
  package static let bitfinex: [SimulatedInstrument] = {
    let digits: [String: UInt8] = ["BTC": 0, "ETH": 1, "SOL": 2, "ZEC": 2, "XRP": 4, "ADA": 5, "DOGE": 5, "LTC": 3]
    func instrument(_ asset: Asset, _ quote: String, _ name: String, _ part: Double) -> SimulatedInstrument {
      let separator = asset.base.utf8.count > 3 ? ":" : ""
      return SimulatedInstrument(
        base: asset.base, quote: quote, venueSymbol: "t\(asset.base)\(separator)\(name)",
        priceScale: digits[asset.base]!, sizeScale: 8, tick: 1, lot: 1, reference: asset.price,
        activity: asset.activity * part, levels: asset.levels)
    }
    return assets.map { instrument($0, "USD", "USD", 1) } + [instrument(assets[0], "USDT", "UST", 0.5)]
  }()

  /// Bitstamp: names in small letters, digits of `counter_decimals` and `base_decimals`.
  package static let bitstamp: [SimulatedInstrument] = {
    let digits: [String: UInt8] = ["BTC": 0, "ETH": 1, "SOL": 2, "ZEC": 2, "XRP": 5, "ADA": 5, "DOGE": 5, "LTC": 2]
    return assets.map {
      SimulatedInstrument(
        base: $0.base, quote: "USD", venueSymbol: "\($0.base.lowercased())usd", priceScale: digits[$0.base]!,
        sizeScale: 8, tick: 1, lot: 1, reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()

  /// Gemini: spot in dollars and linear perpetuals in GUSD, of the same digits; sizes are in base units on both.
  package static let gemini: [SimulatedInstrument] = {
    let digits: [String: (UInt8, UInt8)] = [
      "BTC": (2, 8), "ETH": (2, 6), "SOL": (3, 6), "ZEC": (2, 6), "XRP": (5, 6), "ADA": (5, 4), "DOGE": (5, 4),
      "LTC": (2, 5),
    ]
    func instrument(_ asset: Asset, _ quote: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let (price, size) = digits[asset.base]!
      return SimulatedInstrument(
        base: asset.base, quote: quote, venueSymbol: (asset.base + quote + (kind == .spot ? "" : "perp")).lowercased(),
        kind: kind, priceScale: price, sizeScale: size, tick: 1, lot: 1, reference: asset.price,
        activity: asset.activity * part, levels: asset.levels)
    }
    return assets.flatMap { [instrument($0, "USD", .spot, 1.2), instrument($0, "GUSD", .perpetual, 0.8)] }
  }()

  /// Deribit: linear perpetuals in USDC, and a dated future of BTC. Amounts are in base units.
  package static let deribit: [SimulatedInstrument] = {
    let digits: [String: (price: UInt8, size: UInt8)] = [
      "BTC": (1, 4), "ETH": (2, 3), "SOL": (2, 1), "ZEC": (2, 2), "XRP": (4, 0), "ADA": (4, 0), "DOGE": (5, 0),
      "LTC": (2, 1),
    ]
    func instrument(_ asset: Asset, _ suffix: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let (price, size) = digits[asset.base]!
      return SimulatedInstrument(
        base: asset.base, quote: "USDC", venueSymbol: "\(asset.base)_USDC-\(suffix)", kind: kind, priceScale: price,
        sizeScale: size, tick: 1, lot: 1, reference: asset.price, activity: asset.activity * part,
        levels: asset.levels)
    }
    return assets.map { instrument($0, "PERPETUAL", .perpetual, 1) }
      + [instrument(assets[0], "25DEC26", .future(expiry: "20261225"), 0.3)]
  }()

  /// Hyperliquid: perpetuals, and spot by numbers. Prices have at most five significant digits, and 6 (on spot 8) less those of sizes
  /// after the point.
  package static let hyperliquid: [SimulatedInstrument] = {
    let digits: [String: (size: UInt8, step: UInt8)] = [
      "BTC": (5, 0), "ETH": (4, 1), "SOL": (2, 2), "ZEC": (2, 2), "XRP": (0, 4), "ADA": (0, 5), "DOGE": (0, 5),
      "LTC": (2, 3),
    ]
    func instrument(_ asset: Asset, _ name: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let (size, step) = digits[asset.base]!
      let price = (kind == .spot ? 8 : 6) - size
      return SimulatedInstrument(
        base: asset.base, quote: "USDC", venueSymbol: name, kind: kind, priceScale: price, sizeScale: size,
        tick: Int64(DecimalText.power(price - step)), lot: 1, reference: asset.price,
        activity: asset.activity * part, levels: asset.levels)
    }
    return assets.map { instrument($0, $0.base, .perpetual, 1.2) }
      + assets.prefix(4).enumerated().map { instrument($1, "@\(140 + $0)", .spot, 0.8) }
  }()

  /// Gate: digits of `precision` and `amount_precision`.
  package static let gate: [SimulatedInstrument] = {
    let digits: [String: (price: UInt8, size: UInt8)] = [
      "BTC": (1, 6), "ETH": (2, 4), "SOL": (2, 3), "ZEC": (2, 3), "XRP": (4, 2), "ADA": (4, 2), "DOGE": (5, 2),
      "LTC": (2, 3),
    ]
    return assets.map {
      let (price, size) = digits[$0.base]!
      return SimulatedInstrument(
        base: $0.base, quote: "USDT", venueSymbol: "\($0.base)_USDT", priceScale: price, sizeScale: size, tick: 1,
        lot: 1, reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()

  /// KuCoin: digits of `priceIncrement` and `baseIncrement`.
  package static let kucoin: [SimulatedInstrument] = {
    let digits: [String: (price: UInt8, size: UInt8)] = [
      "BTC": (1, 8), "ETH": (2, 7), "SOL": (3, 4), "ZEC": (2, 4), "XRP": (5, 4), "ADA": (4, 4), "DOGE": (5, 4),
      "LTC": (2, 6),
    ]
    return assets.map {
      let (price, size) = digits[$0.base]!
      return SimulatedInstrument(
        base: $0.base, quote: "USDT", venueSymbol: "\($0.base)-USDT", priceScale: price, sizeScale: size, tick: 1,
        lot: 1, reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
  }()

  /// Binance: spot is printed with eight digits, `tickSize` and `stepSize` are coarser; futures have digits of their own.
  package static let binance: [SimulatedInstrument] = {
    let steps: [String: (Int64, Int64)] = [
      "BTC": (1_000_000, 1_000), "ETH": (1_000_000, 10_000), "SOL": (1_000_000, 100_000), "ZEC": (1_000_000, 100_000),
      "XRP": (10_000, 10_000_000), "ADA": (10_000, 10_000_000), "DOGE": (1_000, 100_000_000),
      "LTC": (1_000_000, 100_000),
    ]
    let spot = assets.map {
      let (tick, lot) = steps[$0.base]!
      return SimulatedInstrument(
        base: $0.base, quote: "USDT", venueSymbol: "\($0.base)USDT", priceScale: 8, sizeScale: 8, tick: tick, lot: lot,
        reference: $0.price, activity: $0.activity, levels: $0.levels)
    }
    let digits: [String: (UInt8, UInt8)] = [
      "BTC": (2, 3), "ETH": (2, 3), "SOL": (3, 0), "ZEC": (2, 3), "XRP": (4, 1), "ADA": (5, 0), "DOGE": (6, 0),
      "LTC": (2, 3),
    ]
    func contract(_ asset: Asset, _ suffix: String, _ kind: Instrument.Kind, _ part: Double) -> SimulatedInstrument {
      let (price, size) = digits[asset.base]!
      // Printed with two digits and a tick of 0.10, as BTCUSDT is.
      let tick: Int64 = asset.base == "BTC" ? 10 : 1
      return SimulatedInstrument(
        base: asset.base, quote: "USDT", venueSymbol: "\(asset.base)USDT\(suffix)", kind: kind, priceScale: price,
        sizeScale: size, tick: tick, lot: 1, reference: asset.price, activity: asset.activity * part,
        levels: asset.levels)
    }
    return spot + assets.map { contract($0, "", .perpetual, 1) }
      + [contract(assets[0], "_261225", .future(expiry: "20261225"), 0.3)]
  }()
}
