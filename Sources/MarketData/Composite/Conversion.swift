import Bytes

/// The conversion of one asset into another through at most three live markets.
package struct Conversion: Sendable, Equatable {
  /// How many units of the quote asset one unit of the base asset is; at most 12 significant digits, rounded half to
  /// even.
  package var rate: Decimal64
  /// The same 24 h ago, by the opening prices of the markets on the path; nil if one of them has none.
  package var dayOpen: Decimal64?
  /// The symbols of the markets on the path, from the base to the quote; empty from an asset to itself.
  package var path: [String]
  /// The time of the oldest price on the path; nil from an asset to itself.
  package var oldest: Timestamp?
}

/// The markets for conversions, with their values at one moment.
///
/// It chooses the cheapest path of at most three markets. A market costs its spread, or 1 % if a side is empty, plus
/// 0.05 % for the step. Of equal costs, the path with fewer markets is chosen, then the order of symbols decides.
package struct ConversionTable: Sendable {
  /// The most markets on a path.
  package static let longest = 3
  /// The cost of a step in addition to its spread, in parts of 10^9.
  package static let stepCost: Int64 = 500_000
  /// The cost of a market without both sides, instead of its spread.
  package static let oneSidedCost: Int64 = 10_000_000
  /// Significant digits of a rate.
  static let digits = 12
  private static let one = Decimal64(mantissa: 1, scale: 0)

  private struct Market {
    var base: Int
    var quote: Int
    var cost: Int64
    /// Twice the price, as a count of 10^-scale; above 0.
    var twicePrice: Int128
    /// The price 24 h ago, as a count of 10^-scale.
    var open: Int64?
    var scale: Int
    var symbol: String
    var time: Timestamp
  }

  private var assets: [String: Int] = [:]
  private var markets: [Market] = []

  /// The price of a market.
  package enum PriceKind: Sendable {
    /// The middle of bid and ask; of the last trade if a side is empty.
    case middle
    /// The price that all places show beside the change of 24 h; the middle before the first.
    case last
  }

  /// Uses those of `markets` that are spot, live and have a price. O(n log n).
  package init(_ markets: some Sequence<VenueMarket>, prices: PriceKind = .middle) {
    for market in markets.sorted(by: { $0.instrument.symbol < $1.instrument.symbol })
    where market.isLive && market.instrument.kind == .spot && market.instrument.base != market.instrument.quote {
      var cost = Self.oneSidedCost
      var twicePrice: Int128
      var time = market.lastTime
      if let quote = market.quote, quote.bidSize > 0, quote.askSize > 0, quote.ask >= quote.bid, quote.bid > 0 {
        twicePrice = Int128(quote.bid) + Int128(quote.ask)
        // (ask − bid) ÷ mid in parts of 10^9, rounded down.
        cost = Int64(clamping: Int128(quote.ask - quote.bid) * 2_000_000_000 / twicePrice)
        time = quote.time
      } else if let last = market.last, last > 0 {
        twicePrice = 2 * Int128(last)
      } else {
        continue
      }
      if prices == .last, let last = market.last, last > 0 {
        twicePrice = 2 * Int128(last)
        time = market.lastTime
      }
      self.markets.append(
        Market(
          base: index(of: market.instrument.base), quote: index(of: market.instrument.quote),
          cost: cost + Self.stepCost,
          twicePrice: twicePrice, open: market.open.flatMap { $0 > 0 ? $0 : nil },
          scale: Int(market.instrument.priceScale), symbol: market.instrument.symbol, time: time))
    }
  }

  /// The assets that any market has, in their order.
  package var assetNames: [String] { assets.keys.sorted() }

  /// Whether any market has it. O(1).
  package func hasAsset(_ name: String) -> Bool { assets[name] != nil }

  private mutating func index(of asset: String) -> Int {
    if let index = assets[asset] { return index }
    assets[asset] = assets.count
    return assets.count - 1
  }

  /// The best path; nil if there is none. O(markets).
  package func convert(_ base: String, to quote: String) -> Conversion? {
    guard base != quote else { return Conversion(rate: Self.one, dayOpen: Self.one, path: [], oldest: nil) }
    guard let start = assets[base], let goal = assets[quote] else { return nil }
    // By number of steps: the cost to reach an asset, and the last market of the path.
    var costs = [[Int64]](repeating: .init(repeating: .max, count: assets.count), count: Self.longest + 1)
    var steps = [[Int]](repeating: .init(repeating: -1, count: assets.count), count: Self.longest + 1)
    costs[0][start] = 0
    for step in 1...Self.longest {
      for (index, market) in markets.enumerated() {
        for (from, to) in [(market.base, market.quote), (market.quote, market.base)] where costs[step - 1][from] < .max
        {
          // A better path never continues from the goal or back to the start.
          guard from != goal, to != start else { continue }
          let cost = costs[step - 1][from] + market.cost
          // Markets are in the order of their symbols, so the first of equal costs remains.
          if cost < costs[step][to] {
            costs[step][to] = cost
            steps[step][to] = index
          }
        }
      }
    }
    guard let count = (1...Self.longest).min(by: { costs[$0][goal] < costs[$1][goal] }), costs[count][goal] < .max
    else {
      return nil
    }
    var path: [Int] = []
    var asset = goal
    for step in (1...count).reversed() {
      let index = steps[step][asset]
      path.insert(index, at: 0)
      asset = markets[index].base == asset ? markets[index].quote : markets[index].base
    }
    return conversion(path, from: start)
  }

  private func conversion(_ path: [Int], from start: Int) -> Conversion? {
    var rate = Rounded()
    var open: Rounded? = Rounded()
    var asset = start
    var oldest = Timestamp.distantFuture
    for index in path {
      let market = markets[index]
      let isForward = market.base == asset
      guard
        isForward
          ? rate.multiply(by: market.twicePrice, over: 2, scale: market.scale)
          : rate.divide(by: market.twicePrice, over: 2, scale: market.scale)
      else { return nil }
      open = market.open.flatMap { price in
        guard var product = open else { return nil }
        let fits =
          isForward
          ? product.multiply(by: Int128(price), over: 1, scale: market.scale)
          : product.divide(by: Int128(price), over: 1, scale: market.scale)
        return fits ? product : nil
      }
      asset = isForward ? market.quote : market.base
      oldest = min(oldest, market.time)
    }
    guard let decimal = rate.decimal(digits: Self.digits) else { return nil }
    return Conversion(
      rate: decimal, dayOpen: open?.decimal(digits: Self.digits), path: path.map { markets[$0].symbol }, oldest: oldest)
  }
}

/// A decimal number of 18 significant digits: `mantissa` × 10^-`scale`. Rounded half to even after every step.
private struct Rounded {
  static let limit: Int128 = 1_000_000_000_000_000_000
  private var mantissa: Int128 = 1
  private var scale = 0

  /// × `value` ÷ `over` × 10^-`scale`. Returns false if the result is zero or too large.
  mutating func multiply(by value: Int128, over: Int128, scale: Int) -> Bool {
    // Below 10^18 × 2^64.
    normalize(mantissa * value, over: over, scale: self.scale + scale)
  }

  mutating func divide(by value: Int128, over: Int128, scale: Int) -> Bool {
    normalize(mantissa * over, over: value, scale: self.scale - scale)
  }

  private mutating func normalize(_ numerator: Int128, over denominator: Int128, scale: Int) -> Bool {
    var (numerator, denominator, scale) = (numerator, denominator, scale)
    // As many digits as fit, so that the quotient has 18 of them if that can be.
    while numerator / denominator < Self.limit / 10, numerator < Int128.max / 10 {
      numerator *= 10
      scale += 1
    }
    while numerator / denominator >= Self.limit {
      guard denominator < Int128.max / 10 else { return false }
      denominator *= 10
      scale -= 1
    }
    mantissa = Ratio.divide(numerator, by: denominator)
    self.scale = scale
    return mantissa > 0
  }

  /// With at most `digits` significant digits and no zeros at the end; nil if it does not fit in a `Decimal64`.
  func decimal(digits: Int) -> Decimal64? {
    var (value, scale) = (mantissa, scale)
    var bound: Int128 = 1
    for _ in 0..<digits { bound *= 10 }
    var divisor: Int128 = 1
    while value / divisor >= bound {
      divisor *= 10
      scale -= 1
    }
    // Digits beyond the 18th place go, too.
    while scale > Int(DecimalText.scaleLimit), divisor < Int128.max / 10 {
      divisor *= 10
      scale -= 1
    }
    value = Ratio.divide(value, by: divisor)
    while scale > 0, value % 10 == 0 {
      value /= 10
      scale -= 1
    }
    while scale < 0 {
      let (wider, overflow) = value.multipliedReportingOverflow(by: 10)
      guard !overflow else { return nil }
      value = wider
      scale += 1
    }
    guard value > 0, let mantissa = Int64(exactly: value) else { return nil }
    return Decimal64(mantissa: mantissa, scale: UInt8(scale))
  }
}
