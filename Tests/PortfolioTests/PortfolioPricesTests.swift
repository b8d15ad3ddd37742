import Bytes
import MarketData
import Portfolio
import Testing

@Suite("Prices of portfolios")
struct PortfolioPricesTests {
  private static let now = Timestamp(microseconds: 1_795_348_800_000_000)

  private func decimal(_ text: String) -> Decimal64 { try! DecimalText.parse(Array(text.utf8).span.bytes) }

  /// A market at two digits after the point.
  private func market(
    _ base: String, _ quote: String, bid: Int64, ask: Int64, open: Int64? = nil, last: Int64? = nil,
    isLive: Bool = true, isFeedLive: Bool = true, kind: Instrument.Kind = .spot
  ) -> PortfolioPrices.Market {
    var market = VenueMarket(
      instrument: Instrument(
        id: InstrumentID(rawValue: 0), venue: "test", venueSymbol: base + quote, base: base, quote: quote, kind: kind,
        priceScale: 2,
        sizeScale: 8),
      isLive: isLive, last: last, lastTime: Self.now - 5, open: open)
    if bid > 0 {
      market.quote = Quote(
        instrument: InstrumentID(rawValue: 0), bid: bid, bidSize: 1, ask: ask, askSize: 1, time: Self.now)
    }
    return .init(market, isFeedLive: isFeedLive)
  }

  @Test("an asset goes through two markets, and so does its price of 24 h ago")
  func twoMarkets() throws {
    var prices = PortfolioPrices([
      market("BTC", "USD", bid: 5_999_900, ask: 6_000_100, open: 5_000_000),
      market("EUR", "USD", bid: 120, ask: 120, open: 125),
    ])
    let rate = prices.rate(.init("BTC", "EUR"))
    #expect(rate.reading == PriceReading(decimal("50000"), dayOpen: decimal("40000")))
    #expect(rate.path == ["test:BTC-USD", "test:EUR-USD"])
    #expect(prices.rate(.init("EUR", "EUR")).reading == .one)
    #expect(prices.rate(.init("XMR", "EUR")).reading.trust == .missing)
  }

  @Test(
    "a live way comes before a shorter one that is stale; a stale one is taken where there is no other, and says so")
  func stale() throws {
    let dead = market("ETH", "EUR", bid: 300_000, ask: 300_000, last: 300_000, isLive: false, isFeedLive: false)
    let alive = [
      market("ETH", "USD", bid: 240_000, ask: 240_000, open: 240_000), market("EUR", "USD", bid: 120, ask: 120),
    ]
    var both = PortfolioPrices([dead] + alive)
    #expect(both.rate(.init("ETH", "EUR")).path.count == 2 && both.rate(.init("ETH", "EUR")).reading.trust == .live)
    var alone = PortfolioPrices([dead])
    let rate = alone.rate(.init("ETH", "EUR"))
    #expect(rate.reading.trust == .stale && rate.reading.price == decimal("3000"))
    let contents = PortfolioContents(
      currency: "EUR",
      holdings: [.init(asset: "ETH", quantity: decimal("2")), .init(asset: "EUR", quantity: decimal("100"))])
    let priced = PricedPortfolio(contents, in: "EUR", at: &alone)
    #expect(priced.valuation.value?.text == "6100" && priced.valuation.trust == .stale)
    #expect(priced.valuation.holdings.map(\.trust) == [.stale, .live])
    #expect(priced.staleSince[0] != nil && priced.staleSince[1] == nil)
  }

  @Test("a holding has the price that tickers show; the way is chosen by the spreads; a mark stays the middle")
  func lastPrice() throws {
    var prices = PortfolioPrices([
      market("BTC", "USD", bid: 5_999_900, ask: 6_000_100, open: 5_000_000, last: 6_000_100),
      market("EUR", "USD", bid: 120, ask: 120, open: 125, last: 125),
    ])
    #expect(prices.rate(.init("BTC", "USD")).reading == PriceReading(decimal("60001"), dayOpen: decimal("50000")))
    #expect(prices.rate(.init("BTC", "EUR")).reading.price == decimal("48000.8"))
    #expect(prices.mark("test:BTC-USD").reading.price == Decimal64(mantissa: 6_000_000, scale: 2))
  }

  @Test("the venue's own mark values a position, all its digits, while the feed is live")
  func venueMark() throws {
    func mark(isFeedLive: Bool, isThere: Bool = true) -> PriceReading {
      var item = market(
        "BTC", "USDT", bid: 5_999_900, ask: 6_000_100, last: 6_000_200, isLive: isFeedLive, isFeedLive: isFeedLive,
        kind: .perpetual)
      if isThere {
        var derivative = Derivative(instrument: InstrumentID(0))
        var report = DerivativeReport(instrument: InstrumentID(0), time: Self.now - 9)
        report.mark = .value(decimal("60001.23456"))
        _ = derivative.take(report)
        item.market.contract = VenueContract(derivative)
      }
      var prices = PortfolioPrices([item])
      let rate = prices.mark("test:BTC-USDT-PERP")
      #expect(!isThere || !isFeedLive || rate.oldest == Self.now - 9)
      return rate.reading
    }
    #expect(mark(isFeedLive: true) == PriceReading(decimal("60001.23456")))
    #expect(mark(isFeedLive: true, isThere: false).price == Decimal64(mantissa: 6_000_000, scale: 2))
    #expect(mark(isFeedLive: false) == PriceReading(Decimal64(mantissa: 6_000_200, scale: 2), trust: .stale))
  }

  @Test("a mark is the exact middle of a live book, else the last trade, stale where the feed is")
  func marks() throws {
    var prices = PortfolioPrices([
      market("A", "USD", bid: 101, ask: 102), market("B", "USD", bid: 101, ask: 103, last: 200, isLive: false),
      market("C", "USD", bid: 101, ask: 103, last: 200, isLive: false, isFeedLive: false),
    ])
    #expect(prices.mark("test:A-USD").reading == PriceReading(decimal("1.015")))
    #expect(prices.mark("test:B-USD").reading == PriceReading(Decimal64(mantissa: 200, scale: 2)))
    #expect(prices.mark("test:C-USD").reading.trust == .stale)
    #expect(prices.mark("test:D-USD").reading.trust == .missing)
  }

  @Test("a position's profit is in the currency of the report; what is sold needs no price")
  func positionsAndSold() throws {
    var prices = PortfolioPrices([
      market("BTC", "USD", bid: 110, ask: 110), market("EUR", "USD", bid: 200, ask: 200),
    ])
    let contents = PortfolioContents(
      currency: "EUR",
      positions: [
        .init(symbol: "test:BTC-USD", side: .short, size: decimal("10"), leverage: decimal("5"), entry: decimal("1"))
      ])
    var ledger = PortfolioLedger(currency: "EUR", method: .fifo)
    for kind in [PortfolioTransaction.Kind.buy, .sell] {
      try ledger.apply(
        PortfolioTransaction(kind, "GONE", quantity: decimal("1"), price: decimal("3"), time: Self.now))
    }
    let priced = PricedPortfolio(contents, ledger: ledger, in: "EUR", at: &prices)
    let line = try #require(priced.valuation.positions.first)
    #expect(line.unrealised?.text == "-0.5" && line.unrealisedPercent?.text == "-50")
    #expect(priced.valuation.value?.text == "-0.5" && priced.valuation.trust == .live)
    #expect(priced.symbols == ["test:BTC-USD", "test:EUR-USD"])
  }

  @Test("a ledger of all transactions at once is the ledger of one after the other")
  func ledgers() throws {
    for method in CostMethod.allCases {
      let transactions = (1...300).map { index in
        PortfolioTransaction(
          index % 3 == 0 ? .sell : .buy, index % 2 == 0 ? "A" : "B", quantity: decimal("\(1 + index % 5)"),
          price: decimal("\(index)"), time: Self.now)
      }.filter { $0.kind == .buy || $0.quantity.mantissa == 1 }
      var single = PortfolioLedger(currency: "USD", method: method)
      for transaction in transactions { try single.apply(transaction) }
      #expect(try PortfolioLedger(currency: "USD", method: method, transactions) == single)
    }
    let oversold = [PortfolioTransaction(.sell, "A", quantity: decimal("1"), price: decimal("1"), time: Self.now)]
    #expect(throws: LedgerError.oversold(asset: "A")) {
      try PortfolioLedger(currency: "USD", method: .fifo, oversold)
    }
  }
}
