import Bytes
import MarketData

extension Bitget {
  /// Spot markets and USDT perpetuals; a name is one of the venue (`BTCUSDT`, of either kind), or a symbol as it was
  /// configured. The first API, which had sockets for each kind and other names in its lists, is not read.
  static let replay = VenueReplay(
    title: "Bitget v2 spot and USDT perpetuals", names: ["bitget"], markets: ["spot", "usdt", "mixed"],
    lists: ["/api/v2/spot/public/symbols"], ownLists: ["usdt": "/api/v2/mix/market/contracts"],
    marketFields: [MarketField("instId")]
  ) { start in
    guard start.url?.contains("/v2/") != false else { return nil }
    let isSpot = start.market != "usdt"
    let markets = start.markets { (name) throws(RecordedNameError) in
      if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
        return NamedMarket(name: symbol.base + symbol.quote, symbol: symbol)
      }
      return try .joined(name, isSpot ? .spot : .perpetual)
    }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list(#"{"code":"00000","data":["#, markets.found, "]}") { market, out in
          out.append(isSpot ? #""status":"online","# : #""symbolStatus":"normal","#)
          market.append("symbol", "baseCoin", "quoteCoin", to: &out)
        })
  }
}
