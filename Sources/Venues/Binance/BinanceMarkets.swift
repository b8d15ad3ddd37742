import Bytes
import MarketData

/// What is asked of Binance by REST: lists of symbols, their 24 h figures, snapshots of books.
extension BinanceMarket {
  private static let symbols = ListFormat("exchangeInfo", at: "symbols")
  private static let limits = ListFormat("exchangeInfo", at: "rateLimits")

  /// A name that the venue does not know fails the whole request, a list of one name too many is refused whole, and a
  /// URL has its limit too: then the whole list is asked for.
  var listing: MarketListing {
    var listing = MarketListing(
      path: { query in
        let names = query.symbols.map { URLText.percentEncoded($0.base + $0.quote) }
        guard selectsSymbols, !query.isOtherWay, !query.isWhole, (1...100).contains(names.count) else {
          return infoPath
        }
        return infoPath + "?symbols=%5B" + names.map { "%22\($0)%22" }.joined(separator: ",") + "%5D"
      }, read: readList)
    // Room for the whole list (some 16 MB for 3,000 symbols), asked for if the short one is refused.
    listing.bodyLimit = 32 << 20
    listing.otherWayAfter = [400]
    return listing
  }

  /// A larger weight is none that a venue permits; it permits some thousands.
  private static let weightLimit: Int64 = 10_000_000

  @Sendable func readList(_ body: RawSpan) throws(FeedError) -> ListPage {
    var page = try Self.symbols.markets(body, readMarket)
    _ = try? Self.limits.read(body) { limit in
      guard limit.says("rateLimitType", "REQUEST_WEIGHT") == true, limit.says("interval", "MINUTE") == true,
        let weight = limit.integer("limit"), let minutes = limit.integer("intervalNum"),
        (1...Self.weightLimit).contains(weight), (1...1_440).contains(minutes)
      else { return }
      // Half of what the venue says an address may use; other programs share the address.
      page.weightPerMinute = Int(weight / minutes) / 2
    }
    return page
  }

  /// Nil for a kind that is not followed. Dated futures have their day in their name: `BTCUSDT_261225`.
  private func readMarket(_ row: borrowing FieldObject) throws(FeedError) -> ListedMarket? {
    let name = try row.name("symbol")
    let parts = name.split(separator: "_")
    let kind: Instrument.Kind
    if part == "spot" {
      kind = .spot
    } else if parts.count == 2, parts[1].utf8.count == 6 {
      kind = .future(expiry: "20" + parts[1])
    } else if row.text("contractType")?.hasSuffix("PERPETUAL") == true {
      kind = .perpetual
    } else {
      return nil
    }
    var (price, size): (Decimal64?, Decimal64?)
    // A tick or step of 0 means that there is no such rule. LOT_SIZE comes before MARKET_LOT_SIZE, whose step is
    // usually 0.
    _ = try? row.objects("filters") { (filter, _) -> Bool? in
      price = filter.step("tickSize") ?? price
      size = size ?? filter.step("stepSize")
      return nil
    }
    return ListedMarket(
      venueSymbol: name,
      symbol: FeedSymbol(base: row.text("baseAsset") ?? "", quote: row.text("quoteAsset") ?? "", kind: kind),
      // Digits that futures are printed with. (They are not the tick.)
      priceScale: scale ?? row.digits("pricePrecision"), sizeScale: scale ?? row.digits("quantityPrecision"),
      priceIncrement: price, sizeIncrement: size,
      // The others are `BREAK`, `HALT`, `PENDING_TRADING`, `SETTLING`….
      state: .init(isTrading: row.says("status", "TRADING") ?? true))
  }

  /// `[{"symbol":"BTCUSDT","quoteVolume":"15.30000000",…},…]`
  var volumes: VolumeListing {
    VolumeListing(volumePath, ListFormat("ticker"), name: "symbol", volume: "quoteVolume")
  }

  @Sendable func snapshotPath(_ instrument: Instrument, _ levels: Int) -> String {
    "\(depthPath)?symbol=\(URLText.percentEncoded(instrument.venueSymbol))&limit=\(levels)"
  }

  /// `{"lastUpdateId":…,"bids":[["price","size"],…],"asks":[…]}`. Digits are learnt where no list has said them.
  @Sendable func readSnapshot(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, _ batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    let format = BookFormat(title: "depth snapshot", learns: scale == nil ? .all : .nothing)
    return try instruments.readSnapshot(&reader, index, number: "lastUpdateId", format, into: &batch)
  }
}

extension BinanceMarket {
  private static let tradeLayout: TradePages.Layout = .object([
    ("id", .id), ("price", .price), ("qty", .size), ("isBuyerMaker", .isBuyerMaker), ("time", .time(.epoch)),
  ])

  /// The newest 1,000 trades, which have nearly all that was missed a moment ago; if they do not, 1,000 from a number
  /// on. Each weighs 25 of 6,000 a minute.
  static let spotTrades = TradePages(path: [], layout: tradeLayout, requestsPerMinute: 20) { query in
    let symbol = query.instrument.venueSymbol
    if query.attempt == 0 { return "/api/v3/trades?symbol=\(symbol)&limit=1000" }
    return "/api/v3/historicalTrades?symbol=\(symbol)&limit=\(min(1_000, query.count))&fromId=\(query.first)"
  }

  /// The newest 1,000 trades: older ones are for those with a key. Trades of the insurance fund are never among them.
  /// Weight 5 of 2,400 a minute.
  static let futuresTrades = TradePages(path: [], layout: tradeLayout, requestsPerMinute: 40) { query in
    "/fapi/v1/trades?symbol=\(query.instrument.venueSymbol)&limit=1000"
  }
}
