import Bytes
import MarketData

/// Crypto.com's lists: instruments, and the 24 h figures of all of them.
extension CryptoCom {
  private static let code = ListFormat.Code(field: "code", good: "0", message: "message")

  /// `{"id":1,"method":"public/get-instruments","code":0,"result":{"data":[{"symbol":"BTCUSD-PERP","inst_type":"PERPETUAL_SWAP","base_ccy":"BTC","quote_ccy":"USD","price_tick_size":"0.5","qty_tick_size":"0.0001","tradable":true,"contract_size":"1",…},…]}}`:
  /// all of them in one.
  static let listing = MarketListing(
    "/exchange/v1/public/get-instruments", ListFormat("get-instruments", at: "result", "data", code: code)
  ) { (row) throws(FeedError) in
    let name = try row.name("symbol")
    guard let kind = kind(of: name), let base = row.text("base_ccy"), let quote = row.text("quote_ccy") else {
      return nil
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind),
      priceScale: row.printedScale("price_tick_size"), sizeScale: row.printedScale("qty_tick_size"),
      priceIncrement: row.number("price_tick_size"), sizeIncrement: row.number("qty_tick_size"),
      contractSize: row.number("contract_size") ?? Decimal64(mantissa: 1, scale: 0),
      state: .init(isTrading: row.flag("tradable") ?? true))
  }

  /// The name tells the kind: `BTC_USD`, `BTCUSD-PERP`, `BTCUSD-261225`; nil for another form, as an index has.
  static func kind(of name: String) -> Instrument.Kind? {
    guard let end = name.split(separator: "-", omittingEmptySubsequences: false).dropFirst().last else {
      return name.contains("_") ? .spot : nil
    }
    if end == "PERP" { return .perpetual }
    return end.utf8.count == 6 && FeedSymbol("A-B-20\(end)") != nil ? .future(expiry: "20\(end)") : nil
  }

  /// `{"code":0,"result":{"data":[{"i":"BTCUSD-PERP","a":"51174.5","v":"879.5024","vv":…,…},…]}}`: `v` is in base
  /// units; `vv` is in US dollars, whatever the quote currency is.
  static let volumes = VolumeListing(
    "/exchange/v1/public/get-tickers", ListFormat("get-tickers", at: "result", "data", code: code), name: "i",
    volume: { $0.product("v", "a") })
}
