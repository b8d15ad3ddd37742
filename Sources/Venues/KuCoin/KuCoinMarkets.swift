import Bytes
import MarketData

/// KuCoin's lists: instruments, and the 24 h figures of all of them.
extension KuCoin {
  private static let code = ListFormat.Code(field: "code", good: "200000", message: "msg")

  /// `{"code":"200000","data":[{"symbol":"BTC-USDT","baseCurrency":…,"quoteCurrency":…,"baseIncrement":…,"priceIncrement":…,"enableTrading":true},…]}`:
  /// all of them in one.
  static let listing = MarketListing("/api/v2/symbols", ListFormat("symbols", at: "data", code: code)) {
    (row) throws(FeedError) in
    ListedMarket(
      venueSymbol: try row.name("symbol"),
      symbol: FeedSymbol(base: try row.name("baseCurrency"), quote: try row.name("quoteCurrency")),
      priceScale: row.printedScale("priceIncrement"), sizeScale: row.printedScale("baseIncrement"),
      priceIncrement: row.number("priceIncrement"), sizeIncrement: row.number("baseIncrement"),
      state: .init(isTrading: row.flag("enableTrading") ?? true))
  }

  /// `{"code":"200000","data":{"time":…,"ticker":[{"symbol":"BTC-USDT","vol":…,"volValue":"133988049.45",…},…]}}`;
  /// `volValue` is in the quote currency.
  static let volumes = VolumeListing(
    "/api/v1/market/allTickers", ListFormat("allTickers", at: "data", "ticker", code: code), name: "symbol",
    volume: "volValue")
}

extension KuCoin {
  /// `{"code":"200000","data":[{"currency":"BTC","name":"BTC","fullName":"Bitcoin",…}]}`: `name` is the code again.
  static let assetNames = AssetNameFormat(
    path: "/api/v3/currencies", layout: .objects(under: ["data"], code: "currency", name: "fullName"))
}
