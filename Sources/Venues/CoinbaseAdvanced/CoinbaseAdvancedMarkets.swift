import Bytes
import MarketData

/// Advanced Trade's list of products.
extension CoinbaseAdvanced {
  /// The spot products of `{"products":[…]}`, without those that were delisted. A product whose book is another's has
  /// that one's name.
  static let listing = MarketListing(
    "/api/v3/brokerage/market/products?product_type=SPOT", ListFormat("product list", at: "products")
  ) { (row) throws(FeedError) in
    let id = try row.name("product_id")
    guard row.says("product_type", "SPOT") ?? true, row.says("status", "delisted") != true,
      let symbol = FeedSymbol(id)
    else { return nil }
    // Whether no flag keeps orders from being matched.
    var isTrading = true
    for flag: StaticString in [
      "trading_disabled", "is_disabled", "view_only", "cancel_only", "post_only", "auction_mode",
    ] {
      if row.flag(flag) ?? false { isTrading = false }
    }
    let (price, quote) = (row.step("price_increment"), row.step("quote_increment"))
    var market = ListedMarket(
      venueSymbol: row.text("alias") ?? id, symbol: symbol, priceScale: max(price?.scale ?? 0, quote?.scale ?? 0),
      priceIncrement: price ?? quote, sizeIncrement: row.step("base_increment"), state: .init(isTrading: isTrading),
      quoteVolume: row.number("approximate_quote_24h_volume"))
    // A book that has two names is listed once, under the name that its data has.
    market.isAlias = market.venueSymbol != symbol.text
    return market
  }
}
