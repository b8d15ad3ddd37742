import Bytes
import MarketData

/// Prices for portfolios as the markets have them at one moment: what assets are worth in currencies, and marks of
/// positions. Each is computed once, however many portfolios hold it.
///
/// Live markets come first, by the ways of `ConversionTable`. Where they lead nowhere, markets that are not live are
/// taken too, and the price says that it is stale.
package struct PortfolioPrices {
  /// A market as it was gathered.
  package struct Market: Sendable {
    /// `isLive`: its feed is, and its book is in sync.
    package var market: VenueMarket
    /// Whether its feed is live, whatever its book.
    package var isFeedLive: Bool

    package init(_ market: VenueMarket, isFeedLive: Bool) {
      self.market = market
      self.isFeedLive = isFeedLive
    }
  }

  /// An asset in a currency.
  package struct Pair: Sendable, Hashable {
    package var base: String
    package var quote: String

    package init(_ base: String, _ quote: String) {
      self.base = base
      self.quote = quote
    }
  }

  /// A price with where it comes from.
  package struct Rate: Sendable, Equatable {
    package var reading: PriceReading
    /// The symbols of the markets on the way.
    package var path: [String]
    /// When the oldest price on the way was made; nil from a currency to itself.
    package var oldest: Timestamp?

    static let none = Rate(reading: PriceReading(nil), path: [], oldest: nil)
  }

  private let markets: [Market]
  private let live: ConversionTable
  /// Of all markets, made when it is first needed.
  private var all: ConversionTable?
  private var rates: [Pair: Rate] = [:]
  private var marks: [String: Rate] = [:]
  private var indices: [String: Int] = [:]

  /// O(n log n).
  package init(_ markets: [Market]) {
    self.markets = markets
    live = ConversionTable(markets.lazy.map(\.market))
    for (index, market) in markets.enumerated() { indices[market.market.instrument.symbol] = index }
  }

  /// What one unit of an asset is worth in a currency, now and 24 h ago. O(markets) the first time.
  package mutating func rate(_ pair: Pair) -> Rate {
    if let known = rates[pair] { return known }
    let rate = find(pair)
    rates[pair] = rate
    return rate
  }

  private mutating func find(_ pair: Pair) -> Rate {
    guard pair.base != pair.quote else { return Rate(reading: .one, path: [], oldest: nil) }
    if let found = live.convert(pair.base, to: pair.quote) { return Self.rate(found, .live) }
    let table =
      all
      ?? ConversionTable(
        markets.lazy.map { item in
          var market = item.market
          market.isLive = true
          return market
        })
    all = table
    return table.convert(pair.base, to: pair.quote).map { Self.rate($0, .stale) } ?? .none
  }

  private static func rate(_ found: Conversion, _ trust: PriceTrust) -> Rate {
    Rate(
      reading: PriceReading(found.rate, dayOpen: found.dayOpen, trust: trust), path: found.path, oldest: found.oldest)
  }

  /// The price at which a position in a market stands: the middle of a live book, else the last trade.
  package mutating func mark(_ symbol: String) -> Rate {
    if let known = marks[symbol] { return known }
    var rate = Rate.none
    if let index = indices[symbol] {
      let (market, isFeedLive) = (markets[index].market, markets[index].isFeedLive)
      let instrument = market.instrument
      if market.isLive, let quote = market.quote, quote.bidSize > 0, quote.askSize > 0, quote.bid > 0 {
        rate.reading = PriceReading(Self.middle(quote, instrument.priceScale))
        rate.oldest = quote.time
      }
      if rate.reading.price == nil, let last = market.last, last > 0 {
        rate.reading = PriceReading(
          Decimal64(mantissa: last, scale: instrument.priceScale), trust: isFeedLive ? .live : .stale)
        rate.oldest = market.lastTime
      }
      rate.path = [symbol]
    }
    marks[symbol] = rate
    return rate
  }

  /// What a position's market is quoted in; nil where the market is not known.
  package func quoteCurrency(of symbol: String) -> String? {
    indices[symbol].map { markets[$0].market.instrument.quote }
  }

  /// Exact, with one digit more than the prices where it takes one; nil if that does not fit.
  private static func middle(_ quote: Quote, _ scale: UInt8) -> Decimal64? {
    let (sum, overflow) = quote.bid.addingReportingOverflow(quote.ask)
    guard !overflow else { return nil }
    if sum % 2 == 0 { return Decimal64(mantissa: sum / 2, scale: scale) }
    let (fives, isTooLarge) = sum.multipliedReportingOverflow(by: 5)
    guard !isTooLarge, scale < DecimalText.scaleLimit else { return nil }
    return Decimal64(mantissa: fives, scale: scale + 1)
  }
}

/// A portfolio's contents at the prices of one moment, with the markets that made them.
package struct PricedPortfolio: Sendable, Equatable {
  package var valuation: Valuation
  package var currency: String
  /// When the price of each holding and position was made; nil where it is live or missing.
  package var staleSince: [Timestamp?]
  /// The markets that took part, each once, in the order of their symbols.
  package var symbols: [String]

  private static let zero = Decimal64(mantissa: 0, scale: 0)

  /// Values contents. O(lines), with prices that are computed already.
  /// - Parameters:
  ///   - realised: what sales have made, by asset, in the contents' currency; nil: nothing is known of sales.
  ///   - currency: of the report.
  package init(
    _ contents: PortfolioContents, ledger: PortfolioLedger? = nil, in currency: String,
    at prices: inout PortfolioPrices
  ) {
    var staleSince: [Timestamp?] = []
    var symbols: Set<String> = []
    var holdings: [HoldingReading] = []
    let costRate = prices.rate(.init(contents.currency, currency))
    func add(
      _ asset: String, _ quantity: WideDecimal, _ cost: WideDecimal?, _ realised: WideDecimal?,
      _ price: PortfolioPrices.Rate
    ) {
      var price = price
      // What is sold needs no price.
      if quantity.isZero {
        price = .init(reading: PriceReading(price.reading.price ?? Self.zero), path: [], oldest: nil)
      }
      symbols.formUnion(price.path)
      if cost != nil || realised != nil { symbols.formUnion(costRate.path) }
      staleSince.append(price.reading.trust == .stale ? price.oldest : nil)
      holdings.append(
        HoldingReading(
          asset: asset, quantity: quantity, cost: cost, realised: realised, price: price.reading,
          costRate: costRate.reading))
    }
    for holding in contents.holdings {
      add(
        holding.asset, WideDecimal(holding.quantity), holding.cost.map { WideDecimal($0) }, nil,
        prices.rate(.init(holding.asset, currency)))
    }
    for asset in ledger?.assets ?? [] {
      add(
        asset.asset, asset.quantity, asset.isCostKnown ? asset.cost : nil,
        asset.isRealisedKnown ? asset.realised : nil, prices.rate(.init(asset.asset, currency)))
    }
    var positions: [PositionReading] = []
    for position in contents.positions {
      let mark = prices.mark(position.symbol)
      let rate = prices.quoteCurrency(of: position.symbol).map { prices.rate(.init($0, currency)) } ?? .none
      symbols.formUnion(mark.path)
      symbols.formUnion(rate.path)
      let isStale = mark.reading.trust == .stale || rate.reading.trust == .stale
      staleSince.append(isStale ? [mark.oldest, rate.oldest].compactMap(\.self).min() : nil)
      positions.append(
        PositionReading(
          symbol: position.symbol, side: position.side, size: position.size, leverage: position.leverage,
          entry: position.entry, mark: mark.reading, rate: rate.reading))
    }
    self.currency = currency
    self.staleSince = staleSince
    valuation = Valuation(holdings, positions)
    self.symbols = symbols.sorted()
  }
}
