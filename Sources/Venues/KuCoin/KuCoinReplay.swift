import MarketData

extension KuCoin {
  /// A name is one of the venue (`BTC-USDT`, `XBTUSDTM`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "KuCoin spot and linear perpetuals", names: ["kucoin"], markets: ["spot", "futures", "mixed"],
    lists: ["/api/v2/symbols", "/api/v1/contracts/active"], ownLists: ["futures": "/api/v1/contracts/active"],
    marketFields: [MarketField("s")],
    made: MadeList(#"{"code":"200000","data":["#, "symbol", "baseCurrency", "quoteCurrency", tail: "]}")
  ) { (name, start) throws(RecordedNameError) in
    guard start.market == "futures" else { return try .separated(name, by: "-") }
    guard start.list != nil else {
      throw RecordedNameError(
        "\(name) is a contract, and the recording has no instrument list that says what a lot is worth")
    }
    if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
      return NamedMarket(name: "\(symbol.base == "BTC" ? "XBT" : symbol.base)\(symbol.quote)M", symbol: symbol)
    }
    guard name.hasSuffix("M") else { throw RecordedNameError("\(name) is no linear perpetual of KuCoin") }
    let symbol = try NamedMarket.joined(String(name.dropLast()), .perpetual).symbol
    return NamedMarket(
      name: name,
      symbol: symbol.base == "XBT" ? FeedSymbol(base: "BTC", quote: symbol.quote, kind: .perpetual) : symbol)
  }
}
