import Bytes
import MarketData

/// How reliable a price or a sum is. The greater state is the worse one.
package enum PriceTrust: String, Sendable, Hashable, CaseIterable, Comparable {
  case live
  /// The last known price; its market is not live or not in sync.
  case stale
  /// There is no price: the line has no value, and the total does not include it.
  case missing

  package static func < (a: PriceTrust, b: PriceTrust) -> Bool { a.rank < b.rank }
  private var rank: Int { self == .live ? 0 : self == .stale ? 1 : 2 }
}

/// A market's price, or an exchange rate.
package struct PriceReading: Sendable, Hashable {
  package var price: Decimal64?
  /// The price 24 h ago; nil: unknown.
  package var dayOpen: Decimal64?
  package var trust: PriceTrust

  package init(_ price: Decimal64?, dayOpen: Decimal64? = nil, trust: PriceTrust = .live) {
    self.price = price
    self.dayOpen = dayOpen
    self.trust = price == nil ? .missing : trust
  }

  /// The rate between a currency and itself.
  package static let one = PriceReading(
    Decimal64(mantissa: 1, scale: 0), dayOpen: Decimal64(mantissa: 1, scale: 0))
}

/// A holding with its market's prices.
package struct HoldingReading: Sendable, Hashable {
  package var asset: String
  package var quantity: WideDecimal
  /// The cost in the portfolio's currency; nil: unknown.
  package var cost: WideDecimal?
  package var realised: WideDecimal?
  /// The price of one unit, in the currency of its market.
  package var price: PriceReading
  /// The rate from that currency to the reporting currency.
  package var rate: PriceReading
  /// The rate from the portfolio's currency to the reporting currency.
  package var costRate: PriceReading

  package init(
    asset: String, quantity: WideDecimal, cost: WideDecimal? = nil, realised: WideDecimal? = nil, price: PriceReading,
    rate: PriceReading = .one, costRate: PriceReading = .one
  ) {
    self.asset = asset
    self.quantity = quantity
    self.cost = cost
    self.realised = realised
    self.price = price
    self.rate = rate
    self.costRate = costRate
  }
}

/// A leveraged position with its market's prices.
package struct PositionReading: Sendable, Hashable {
  package enum Side: String, Sendable, Hashable, CaseIterable { case long, short }
  package var symbol: String
  package var side: Side
  /// In base units, above 0.
  package var size: Decimal64
  /// 1 or more.
  package var leverage: Decimal64
  /// Above 0.
  package var entry: Decimal64
  /// The margin that the venue requires at least, as a fraction of the position's value at the mark: above 0, below 1.
  /// Nil: unknown.
  package var maintenance: Decimal64?
  /// The venue's mark, otherwise the mean of a live book's best bid and ask, otherwise the last price.
  package var mark: PriceReading
  package var rate: PriceReading

  package init(
    symbol: String, side: Side, size: Decimal64, leverage: Decimal64, entry: Decimal64,
    maintenance: Decimal64? = nil, mark: PriceReading, rate: PriceReading = .one
  ) {
    self.symbol = symbol
    self.side = side
    self.size = size
    self.leverage = leverage
    self.entry = entry
    self.maintenance = maintenance
    self.mark = mark
    self.rate = rate
  }
}

/// A holding's line. Unknown values are nil.
package struct HoldingLine: Sendable, Hashable {
  package var asset: String
  package var quantity: WideDecimal
  /// The price of one unit, in the reporting currency.
  package var price: WideDecimal?
  package var value: WideDecimal?
  /// The percentage of all holdings, with 4 digits.
  package var share: WideDecimal?
  package var dayProfit: WideDecimal?
  package var dayPercent: WideDecimal?
  package var cost: WideDecimal?
  package var unrealised: WideDecimal?
  package var realised: WideDecimal?
  package var trust: PriceTrust
}

/// A position's line.
package struct PositionLine: Sendable, Hashable {
  package var symbol: String
  package var side: PositionReading.Side
  package var size: Decimal64
  package var leverage: Decimal64
  package var entry: Decimal64
  package var mark: Decimal64?
  /// In the reporting currency.
  package var unrealised: WideDecimal?
  /// The percentage of the margin, with 4 digits.
  package var unrealisedPercent: WideDecimal?
  package var maintenance: Decimal64?
  /// The mark at which the position's own margin no longer covers the required one, in the quote currency. Nil: the
  /// required margin is unknown, or no price is low enough.
  package var liquidationPrice: WideDecimal?
  /// The required margin as a percentage of what is left of the position's own, with 4 digits: the position is closed
  /// at 100. Nil: unknown, or nothing is left.
  package var marginPercent: WideDecimal?
  package var trust: PriceTrust
}

/// The value of a portfolio at one moment.
///
/// Sums are exact. They are rounded once, half to even, to `digits` after the point, when they are shown.
package struct Valuation: Sendable, Hashable {
  /// Digits after the point of sums of money.
  package static let digits = 8
  /// Digits after the point of percentages.
  package static let percentDigits = 4

  package var holdings: [HoldingLine]
  package var positions: [PositionLine]
  /// The values of all holdings that have one, plus the profit of positions. Nil if there are lines and none has a
  /// price.
  package var value: WideDecimal?
  /// The value of the holdings alone; nil if any of them has no price.
  package var holdingsValue: WideDecimal?
  /// The profit of 24 h of the holdings whose earlier price is known.
  package var dayProfit: WideDecimal?
  package var dayPercent: WideDecimal?
  package var cost: WideDecimal?
  package var unrealised: WideDecimal?
  package var realised: WideDecimal?
  /// The worst state of all lines.
  package var trust: PriceTrust
}

extension Valuation {
  /// O(lines). A value of more than 77 digits is missing, and marked so.
  package init(_ holdings: [HoldingReading], _ positions: [PositionReading] = []) {
    var sum = Sum()
    var exact: [HoldingLine] = []
    for holding in holdings { exact.append(sum.add(holding)) }
    var open: [PositionLine] = []
    for position in positions { open.append(sum.add(position)) }
    let whole = sum.holdings
    for index in exact.indices {
      guard let value = exact[index].value, !whole.isZero else { continue }
      exact[index].share = try? value.times(WideDecimal(100)).divided(by: whole, digits: Self.percentDigits)
    }
    self.holdings = exact.map(\.rounded)
    self.positions = open
    let isPriced = exact.contains { $0.value != nil } || open.contains { $0.unrealised != nil }
    let isEmpty = exact.isEmpty && open.isEmpty
    value =
      isPriced || isEmpty ? ((try? sum.holdings.plus(sum.positions)) ?? sum.holdings).rounded(Self.digits) : nil
    holdingsValue = exact.allSatisfy { $0.value != nil } ? sum.holdings.rounded(Self.digits) : nil
    dayProfit = sum.dayProfit?.rounded(Self.digits)
    dayPercent = Self.percent(sum.dayProfit, of: sum.dayOpen)
    cost = sum.cost?.rounded(Self.digits)
    unrealised = sum.unrealised?.rounded(Self.digits)
    realised = sum.realised?.rounded(Self.digits)
    trust = sum.trust
  }

  static func percent(_ part: WideDecimal?, of whole: WideDecimal?) -> WideDecimal? {
    guard let part, let whole, !whole.isZero, !whole.isBelowZero else { return nil }
    return try? part.times(WideDecimal(100)).divided(by: whole, digits: percentDigits)
  }

  private struct Sum {
    var holdings = WideDecimal.zero
    var positions = WideDecimal.zero
    var dayProfit: WideDecimal?
    var dayOpen: WideDecimal?
    /// The cost of the holdings; nil if any is unknown.
    var cost: WideDecimal? = .zero
    var unrealised: WideDecimal? = .zero
    var realised: WideDecimal? = .zero
    var trust = PriceTrust.live

    mutating func add(_ holding: HoldingReading) -> HoldingLine {
      let before = self
      var line = HoldingLine(
        asset: holding.asset, quantity: holding.quantity, trust: max(holding.price.trust, holding.rate.trust))
      do throws(WideDecimal.Failure) {
        if let price = holding.price.price, let rate = holding.rate.price {
          let unit = try WideDecimal(price).times(WideDecimal(rate))
          let value = try holding.quantity.times(unit)
          line.price = unit
          line.value = value
          holdings = try holdings.plus(value)
          if let open = holding.price.dayOpen, let rateThen = holding.rate.dayOpen {
            let then = try holding.quantity.times(WideDecimal(open)).times(WideDecimal(rateThen))
            let profit = try value.minus(then)
            line.dayProfit = profit
            line.dayPercent = Valuation.percent(profit, of: then)
            dayProfit = try (dayProfit ?? .zero).plus(profit)
            dayOpen = try (dayOpen ?? .zero).plus(then)
          }
        }
        if let costRate = holding.costRate.price.map({ WideDecimal($0) }) {
          line.cost = try holding.cost?.times(costRate)
          line.realised = try holding.realised?.times(costRate)
          if let value = line.value, let cost = line.cost { line.unrealised = try value.minus(cost) }
          if line.cost != nil { line.trust = max(line.trust, holding.costRate.trust) }
        }
        cost = try Self.plus(cost, line.cost)
        unrealised = try Self.plus(unrealised, line.unrealised)
        realised = try Self.plus(realised, line.realised)
      } catch {
        self = before
        (cost, unrealised, realised) = (nil, nil, nil)
        line = HoldingLine(asset: holding.asset, quantity: holding.quantity, trust: .missing)
      }
      trust = max(trust, line.trust)
      return line
    }

    mutating func add(_ position: PositionReading) -> PositionLine {
      var line = PositionLine(
        symbol: position.symbol, side: position.side, size: position.size, leverage: position.leverage,
        entry: position.entry, mark: position.mark.price, maintenance: position.maintenance,
        trust: max(position.mark.trust, position.rate.trust))
      do throws(WideDecimal.Failure) {
        line.liquidationPrice = try position.liquidationPrice()
        line.marginPercent = try position.marginPercent()
        if let mark = position.mark.price {
          let entry = WideDecimal(position.entry)
          let moved = try WideDecimal(mark).minus(entry)
          let won = position.side == .long ? moved : -moved
          line.unrealisedPercent = try won.times(WideDecimal(position.leverage)).times(WideDecimal(100))
            .divided(by: entry, digits: Valuation.percentDigits)
          if let rate = position.rate.price {
            let amount = try won.times(WideDecimal(position.size)).times(WideDecimal(rate))
            line.unrealised = amount.rounded(Valuation.digits)
            positions = try positions.plus(amount)
          }
        }
      } catch {
        line.unrealised = nil
        line.unrealisedPercent = nil
        line.liquidationPrice = nil
        line.marginPercent = nil
        line.trust = .missing
      }
      trust = max(trust, line.trust)
      return line
    }

    private static func plus(_ sum: WideDecimal?, _ part: WideDecimal?) throws(WideDecimal.Failure) -> WideDecimal? {
      guard let sum, let part else { return nil }
      return try sum.plus(part)
    }
  }
}

extension HoldingLine {
  fileprivate init(asset: String, quantity: WideDecimal, trust: PriceTrust) {
    self.asset = asset
    self.quantity = quantity
    self.trust = trust
  }

  fileprivate var rounded: HoldingLine {
    var line = self
    line.price = price?.rounded(Valuation.digits)
    line.value = value?.rounded(Valuation.digits)
    line.dayProfit = dayProfit?.rounded(Valuation.digits)
    line.cost = cost?.rounded(Valuation.digits)
    line.unrealised = unrealised?.rounded(Valuation.digits)
    line.realised = realised?.rounded(Valuation.digits)
    return line
  }
}
