import Bytes
import MarketData

/// Bybit's lists: instruments, and the 24 h figures of all of them. Every answer is
/// `{"retCode":0,"retMsg":"OK","result":{"category":…,"list":[…]}}`.
extension Bybit {
  private static let code = ListFormat.Code(field: "retCode", good: "0", message: "retMsg")

  /// Spot has no pages; elsewhere one is 1,000 instruments, about 1 MB: some 700 linear contracts are the first and a
  /// part of another.
  static func listing(_ part: String) -> MarketListing {
    MarketListing(
      "/v5/market/instruments-info?category=\(part)\(part == "spot" ? "" : "&limit=1000")",
      ListFormat("instruments-info", at: "result", "list", code: code, cursor: "nextPageCursor")
    ) { (row) throws(FeedError) in try readMarket(row, isSpot: part == "spot") }
  }

  static func volumes(_ part: String) -> VolumeListing {
    VolumeListing(
      "/v5/market/tickers?category=\(part)", ListFormat("tickers", at: "result", "list", code: code), name: "symbol",
      volume: "turnover24h")
  }

  /// Nil for a kind that is not followed.
  private static func readMarket(_ row: borrowing FieldObject, isSpot: Bool) throws(FeedError) -> ListedMarket? {
    let name = try row.name("symbol")
    guard let base = row.text("baseCoin"), let quote = row.text("quoteCoin") else { return nil }
    let kind: Instrument.Kind
    if isSpot {
      kind = .spot
    } else if row.says("contractType", "LinearPerpetual") == true {
      kind = .perpetual
    } else if row.says("contractType", "LinearFutures") == true, let time = row.integer("deliveryTime"),
      let day = VenueTime.epoch(time).map(VenueTime.day)
    {
      kind = .future(expiry: day)
    } else {
      return nil
    }
    let prices = try row.object("priceFilter")
    let sizes = try row.object("lotSizeFilter")
    // `qtyStep` on linear, `basePrecision` on spot.
    let step: StaticString = isSpot ? "basePrecision" : "qtyStep"
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind),
      priceScale: prices?.printedScale("tickSize"), sizeScale: sizes?.printedScale(step),
      priceIncrement: prices?.number("tickSize"), sizeIncrement: sizes?.number(step),
      // The others are `PreLaunch`, `Delivering`, `Closed`.
      state: .init(isTrading: row.says("status", "Trading") ?? true))
  }
}
