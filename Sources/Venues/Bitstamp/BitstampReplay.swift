import Bytes
import MarketData

extension Bitstamp {
  /// A name is one of the venue (`btcusd`), or a symbol as it was configured, with a slash (`BTC/USD`).
  static let replay = VenueReplay(
    title: "Bitstamp spot", names: ["bitstamp"], markets: ["spot", "mixed"], lists: listPaths,
    marketFields: [MarketField("channel", after: "_")], books: [BookRequest("/order_book/")]
  ) { start in
    let known = start.list.flatMap { try? readList($0.span.bytes).markets } ?? []
    let markets = start.markets { (name) throws(RecordedNameError) in
      let parts = name.split(separator: "/")
      if let market = known.first(where: { $0.venueSymbol == name || "\($0.symbol.base)/\($0.symbol.quote)" == name }) {
        return NamedMarket(name: market.venueSymbol, symbol: market.symbol)
      }
      if parts.count == 2 {
        let symbol = FeedSymbol(base: String(parts[0]), quote: String(parts[1]))
        return NamedMarket(name: parts.joined().lowercased(), symbol: symbol)
      }
      return NamedMarket(name: name, symbol: try NamedMarket.joined(name.uppercased()).symbol)
    }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list("[", markets.found, "]") { market, out in
          market.append("market_symbol", "base_currency", "counter_currency", to: &out)
        })
  }
}
