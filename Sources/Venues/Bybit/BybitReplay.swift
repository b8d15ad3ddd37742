import Bytes
import MarketData

extension BybitHandler {
  /// Spot markets and perpetuals; a name is one of the venue (`BTCUSDT`, `BTCPERP`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Bybit v5 spot and linear", names: ["bybit"], markets: ["spot", "linear"],
    lists: ["/v5/market/instruments-info"]
  ) { (start) throws(RecordedNameError) in
    let isSpot = start.market == "spot"
    var markets: [NamedMarket] = []
    for name in start.names {
      if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
        let venueName = symbol.base + (symbol.quote == "USDC" ? "PERP" : symbol.quote)
        markets.append(NamedMarket(name: venueName, symbol: symbol))
      } else if !isSpot, name.hasSuffix("PERP"), name != "PERP" {
        let symbol = FeedSymbol(base: String(name.dropLast(4)), quote: "USDC", kind: .perpetual)
        markets.append(NamedMarket(name: name, symbol: symbol))
      } else {
        markets.append(try .joined(name, isSpot ? .spot : .perpetual))
      }
    }
    return ReplayStart(
      symbols: markets.map(\.symbol.text),
      instruments: start.list
        ?? NamedMarket.list(#"{"retCode":0,"result":{"list":["#, markets, "]}}") { market, out in
          if !isSpot { out.append(#""contractType":"LinearPerpetual","#) }
          market.append("symbol", "baseCoin", "quoteCoin", to: &out)
        })
  }
}
