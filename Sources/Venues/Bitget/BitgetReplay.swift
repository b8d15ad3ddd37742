import MarketData

extension Bitget {
  /// Spot markets and USDT perpetuals; a name is one of the venue (`BTCUSDT`, of either kind), or a symbol as it was
  /// configured. The first API, which had sockets for each kind and other names in its lists, is not read.
  static let replay = VenueReplay(
    title: "Bitget v2 spot and USDT perpetuals", names: ["bitget"], markets: ["spot", "usdt", "mixed"],
    lists: ["/api/v2/spot/public/symbols"], ownLists: ["usdt": "/api/v2/mix/market/contracts"],
    marketFields: [MarketField("instId")], isRead: { $0.url?.contains("/v2/") != false },
    made: MadeList(#"{"code":"00000","data":["#, "symbol", "baseCoin", "quoteCoin", tail: "]}") {
      $0 == "usdt" ? #""symbolStatus":"normal","# : #""status":"online","#
    }
  ) { (name, start) throws(RecordedNameError) in
    if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
      return NamedMarket(name: symbol.base + symbol.quote, symbol: symbol)
    }
    return try .joined(name, start.market == "usdt" ? .perpetual : .spot)
  }
}
