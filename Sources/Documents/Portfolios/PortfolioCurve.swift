import Bytes
import History
import MarketData
import Portfolio
import PubSub

/// The value of a portfolio over a range: its quantities at each moment, at the closing prices of candles from memory
/// and history. It does not include positions, whose past is not stored.
///
/// Each asset is converted along its present path. A moment at which the price of a held asset was not observed has no
/// value. The last point is the present value of the holdings, from the same prices as the total.
package struct PortfolioCurve: Sendable {
  package let range: ChartRange
  /// The symbols whose prices the caller may see; empty: all.
  package let scope: [SymbolRules]

  package init(range: ChartRange, scope: [SymbolRules]) {
    (self.range, self.scope) = (range, scope)
  }

  /// The candles of a range's curve, and their number.
  package static func interval(of range: ChartRange) -> (interval: CandleInterval, limit: Int) {
    switch range {
    case .hour: (.minute, 60)
    case .day: (.quarterHour, 96)
    case .week: (.hour, 168)
    case .month: (.fourHours, 180)
    case .quarter: (.day, 90)
    case .year: (.day, 365)
    case .all: (.day, 1_440)
    }
  }

  /// An asset with its conversion path to the currency.
  struct Asset: Sendable {
    var name: String
    var quantities: [(time: Timestamp, quantity: WideDecimal)]
    var path: [String]
  }

  /// What the curve of one portfolio needs, at the desk's present prices.
  package struct Plan: Sendable {
    var head: String
    var currency: String
    var assets: [Asset]
    /// The markets on the conversion paths, sorted.
    package var symbols: [String]
    /// The value of the holdings at the prices of the plan; nil if one has no price.
    var present: WideDecimal?
  }

  /// Closing prices of one market.
  package struct Closes: Sendable {
    var instrument: Instrument
    /// By the open time of their candles.
    var prices: [Timestamp: Int64]

    package init(_ page: ChartPage, of instrument: Instrument) {
      self.instrument = instrument
      prices = Dictionary(page.candles.map { ($0.time, $0.close) }, uniquingKeysWith: { $1 })
    }
  }

  /// The candles that a market of the plan contributes.
  package func request(now: Timestamp) -> ChartPage.Request {
    let (interval, limit) = Self.interval(of: range)
    return ChartPage.Request(
      interval: interval, from: interval.start(of: now) + -Int64(limit - 1) * interval.length,
      to: interval.start(of: now) + interval.length, limit: limit)
  }

  /// Plans the curve of a portfolio in a currency; nil: in the portfolio's own.
  package func plan(_ portfolio: KeptPortfolio, in currency: String?, _ board: inout PortfolioBoard) -> Plan {
    let currency = currency ?? portfolio.stored.currency
    var quantities: [String: [(time: Timestamp, quantity: WideDecimal)]] = [:]
    for entry in portfolio.stored.entries {
      let transaction = entry.transaction
      let amount = WideDecimal(transaction.quantity)
      let before = quantities[transaction.asset]?.last?.quantity ?? .zero
      let isIn = transaction.kind == .buy || transaction.kind == .deposit
      // The ledger has summed the same without overflow.
      guard let after = isIn ? try? before.plus(amount) : try? before.minus(amount) else { continue }
      quantities[transaction.asset, default: []].append((transaction.time, after))
    }
    var assets: [Asset] = []
    var symbols: Set<String> = []
    for name in quantities.keys.sorted() {
      let rate = board.rate(.init(name, currency), scope: scope)
      let isReachable = rate.reading.price != nil
      symbols.formUnion(rate.path)
      // An asset without a path has no price at any time; the name of no market stands for that.
      assets.append(Asset(name: name, quantities: quantities[name] ?? [], path: isReachable ? rate.path : [""]))
    }
    let priced = board.value(portfolio.contents, portfolio.ledger, in: currency, scope: scope).priced
    return Plan(
      head: portfolio.head, currency: currency, assets: assets, symbols: symbols.sorted(),
      present: priced.valuation.holdingsValue)
  }

  /// The curve as JSON, from the closing prices of the plan's markets by symbol. A market may be missing.
  package func body(_ plan: Plan, _ closes: [String: Closes], _ now: Timestamp) -> [UInt8] {
    let (interval, limit) = Self.interval(of: range)
    let last = interval.start(of: now)
    let opens = (0..<limit).map { last + -Int64(limit - 1 - $0) * interval.length }
    let moments = opens.map { min($0 + interval.length, now) }
    let assets = plan.assets.map { asset in
      PerformanceCurve.Asset(
        quantities: asset.quantities, prices: opens.map { Self.price(asset, at: $0, closes) })
    }
    let values = PerformanceCurve.values(assets, at: moments).dropLast() + [plan.present]
    // Before the first transaction there was no portfolio.
    let first = plan.assets.compactMap { $0.quantities.first?.time }.min() ?? .distantFuture
    var out = ByteBuffer(capacity: 4_096)
    out.append("{")
    out.append(plan.head)
    out.append("\"currency\":")
    out.append(json: plan.currency)
    out.append(",\"range\":\"")
    out.append(range.name)
    out.append("\",\"step_s\":")
    out.append(integer: interval.length / Microseconds.second)
    out.append(",\"points\":[")
    var isFirst = true
    for (moment, value) in zip(moments, values) {
      guard let value, moment >= first else { continue }
      out.append(isFirst ? "{\"time\":" : ",{\"time\":")
      isFirst = false
      out.append(integer: moment.microseconds)
      out.append(",\"value\":\"")
      value.append(to: &out)
      out.append("\"}")
    }
    out.append("]}")
    return out.takeBytes()
  }

  /// The price of an asset from the closes of the markets on its path; nil if one was not observed.
  private static func price(_ asset: Asset, at open: Timestamp, _ closes: [String: Closes]) -> WideDecimal? {
    var price = WideDecimal(1)
    var at = asset.name
    for symbol in asset.path {
      guard let market = closes[symbol], let close = market.prices[open], close > 0 else { return nil }
      let factor = WideDecimal(close, scale: market.instrument.priceScale)
      let isForward = market.instrument.base == at
      guard
        let next = isForward ? try? price.times(factor) : try? price.divided(by: factor, digits: AssetLedger.costDigits)
      else { return nil }
      price = next.rounded(AssetLedger.costDigits)
      at = isForward ? market.instrument.quote : market.instrument.base
    }
    return price
  }
}
