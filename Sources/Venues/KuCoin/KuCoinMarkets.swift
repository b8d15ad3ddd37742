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
  /// `{"code":"200000","data":[{"symbol":"XBTUSDTM","baseCurrency":"XBT","quoteCurrency":"USDT","multiplier":0.001,"lotSize":1,"tickSize":0.1,"isInverse":false,"type":"FFWCSX","status":"Open","turnoverOf24h":…},…]}`:
  /// all contracts in one. `FFWCSX` is a perpetual; those that end on a day are inverse. A lot is `multiplier` base
  /// units, but for inverse contracts, whose lot is a dollar.
  static let contracts = MarketListing(
    "/api/v1/contracts/active", ListFormat("contracts", at: "data", code: code)
  ) { (row) throws(FeedError) in
    guard row.says("type", "FFWCSX") == true else { return nil }
    let base = try row.name("baseCurrency")
    let isInverse = row.flag("isInverse") ?? false
    return ListedMarket(
      venueSymbol: try row.name("symbol"),
      symbol: FeedSymbol(
        base: base == "XBT" ? "BTC" : base, quote: try row.name("quoteCurrency"),
        kind: .perpetual),
      priceIncrement: row.number("tickSize"), sizeIncrement: row.number("lotSize"),
      contractSize: isInverse ? nil : row.number("multiplier") ?? Decimal64(mantissa: 1, scale: 0),
      state: .init(isTrading: row.says("status", "Open") ?? true),
      quoteVolume: isInverse ? nil : row.number("turnoverOf24h"))
  }
}

extension KuCoin {
  /// `{"code":"200000","data":[{"currency":"BTC","name":"BTC","fullName":"Bitcoin",…}]}`: `name` is the code again.
  static let assetNames = AssetNameFormat(
    path: "/api/v3/currencies", layout: .objects(under: ["data"], code: "currency", name: "fullName"))
}
