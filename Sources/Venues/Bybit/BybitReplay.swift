import MarketData

extension Bybit {
  /// Spot markets and perpetuals; a name is one of the venue (`BTCUSDT`, `BTCPERP`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Bybit v5 spot and linear", names: ["bybit"], markets: ["spot", "linear", "mixed"],
    lists: ["/v5/market/instruments-info"], marketFields: [MarketField("topic", after: ".")],
    made: MadeList(#"{"retCode":0,"result":{"list":["#, "symbol", "baseCoin", "quoteCoin", tail: "]}}") {
      $0 == "spot" ? "" : #""contractType":"LinearPerpetual","#
    }
  ) { (name, start) throws(RecordedNameError) in
    if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
      let venueName = symbol.base + (symbol.quote == "USDC" ? "PERP" : symbol.quote)
      return NamedMarket(name: venueName, symbol: symbol)
    }
    guard start.market != "spot" else { return try .joined(name) }
    guard name.hasSuffix("PERP"), name != "PERP" else { return try .joined(name, .perpetual) }
    let symbol = FeedSymbol(base: String(name.dropLast(4)), quote: "USDC", kind: .perpetual)
    return NamedMarket(name: name, symbol: symbol)
  }
}
