import Bytes
import MarketData

/// The prices for portfolios at one moment: the values of assets in currencies, and the marks of positions. Each is
/// computed once for all portfolios.
///
/// It first uses live markets, with the paths of `ConversionTable`, at the prices that tickers and charts show. If they
/// do not connect the two assets, it also uses markets that are not live, and marks the price as stale.
package struct PortfolioPrices {
  /// A market's values at the moment.
  package struct Market: Sendable {
    /// `isLive`: its feed is live, and its book is in sync.
    package var market: VenueMarket
    /// Whether its feed is live, regardless of its book.
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

  /// A price with its source.
  package struct Rate: Sendable, Equatable {
    package var reading: PriceReading
    /// The symbols of the markets on the path.
    package var path: [String]
    /// The time of the oldest price on the path; nil from a currency to itself.
    package var oldest: Timestamp?

    static let none = Rate(reading: PriceReading(nil), path: [], oldest: nil)
  }

  private let markets: [Market]
  private let live: ConversionTable
  /// The table of all markets, made on first use.
  private var all: ConversionTable?
  private var rates: [Pair: Rate] = [:]
  private var marks: [String: Rate] = [:]
  private var indices: [String: Int] = [:]

  /// O(n log n).
  package init(_ markets: [Market]) {
    self.markets = markets
    live = ConversionTable(markets.lazy.map(\.market), prices: .last)
    for (index, market) in markets.enumerated() { indices[market.market.instrument.symbol] = index }
  }

  /// The value of one unit of an asset in a currency, now and 24 h ago. O(markets) the first time.
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
        }, prices: .last)
    all = table
    return table.convert(pair.base, to: pair.quote).map { Self.rate($0, .stale) } ?? .none
  }

  private static func rate(_ found: Conversion, _ trust: PriceTrust) -> Rate {
    Rate(
      reading: PriceReading(found.rate, dayOpen: found.dayOpen, trust: trust), path: found.path, oldest: found.oldest)
  }

  /// The mark of a position in a market: the venue's own, otherwise the middle of a live book, otherwise the last
  /// trade.
  package mutating func mark(_ symbol: String) -> Rate {
    if let known = marks[symbol] { return known }
    var rate = Rate.none
    if let index = indices[symbol] {
      let (market, isFeedLive) = (markets[index].market, markets[index].isFeedLive)
      let instrument = market.instrument
      if isFeedLive, let mark = market.contract?.derivative.mark, mark.value.mantissa > 0 {
        rate.reading = PriceReading(mark.value)
        rate.oldest = mark.time
      }
      if rate.reading.price == nil, market.isLive, let quote = market.quote, quote.bidSize > 0, quote.askSize > 0,
        quote.bid > 0
      {
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

  /// The quote currency of a position's market; nil if the market is unknown.
  package func quoteCurrency(of symbol: String) -> String? {
    indices[symbol].map { markets[$0].market.instrument.quote }
  }

  /// The exact middle, with one more digit than the prices if necessary; nil if that does not fit.
  private static func middle(_ quote: Quote, _ scale: UInt8) -> Decimal64? {
    let (sum, overflow) = quote.bid.addingReportingOverflow(quote.ask)
    guard !overflow else { return nil }
    if sum % 2 == 0 { return Decimal64(mantissa: sum / 2, scale: scale) }
    let (fives, isTooLarge) = sum.multipliedReportingOverflow(by: 5)
    guard !isTooLarge, scale < DecimalText.scaleLimit else { return nil }
    return Decimal64(mantissa: fives, scale: scale + 1)
  }
}

/// A portfolio's contents at the prices of one moment, with the used markets.
package struct PricedPortfolio: Sendable, Equatable {
  package var valuation: Valuation
  package var currency: String
  /// The time of the price of each holding and position; nil if the price is live or missing.
  package var staleSince: [Timestamp?]
  /// The used markets, each once, in the order of their symbols.
  package var symbols: [String]

  private static let zero = Decimal64(mantissa: 0, scale: 0)

  /// Values contents. O(lines) if the prices are already computed.
  /// - Parameters:
  ///   - realised: the realised profit by asset, in the contents' currency; nil: unknown.
  ///   - currency: the currency of the report.
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
      // A sold asset needs no price.
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
          entry: position.entry, maintenance: position.maintenance, mark: mark.reading, rate: rate.reading))
    }
    self.currency = currency
    self.staleSince = staleSince
    valuation = Valuation(holdings, positions)
    self.symbols = symbols.sorted()
  }
}
