import Bytes
import MarketData

extension Bybit {
  /// Spot markets and perpetuals; a name is one of the venue (`BTCUSDT`, `BTCPERP`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Bybit v5 spot and linear", names: ["bybit"], markets: ["spot", "linear", "mixed"],
    lists: ["/v5/market/instruments-info"], marketFields: [MarketField("topic", after: ".")]
  ) { start in
    let isSpot = start.market == "spot"
    let markets = start.markets { (name) throws(RecordedNameError) in
      if let symbol = FeedSymbol(name), symbol.kind == .perpetual {
        let venueName = symbol.base + (symbol.quote == "USDC" ? "PERP" : symbol.quote)
        return NamedMarket(name: venueName, symbol: symbol)
      }
      if !isSpot, name.hasSuffix("PERP"), name != "PERP" {
        let symbol = FeedSymbol(base: String(name.dropLast(4)), quote: "USDC", kind: .perpetual)
        return NamedMarket(name: name, symbol: symbol)
      }
      return try .joined(name, isSpot ? .spot : .perpetual)
    }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list(#"{"retCode":0,"result":{"list":["#, markets.found, "]}}") { market, out in
          if !isSpot { out.append(#""contractType":"LinearPerpetual","#) }
          market.append("symbol", "baseCoin", "quoteCoin", to: &out)
        })
  }
}
