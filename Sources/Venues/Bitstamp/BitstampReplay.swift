import Bytes
import MarketData

extension BitstampHandler {
  /// A name is one of the venue (`btcusd`), or a symbol as it was configured, with a slash (`BTC/USD`).
  static let replay = VenueReplay(
    title: "Bitstamp spot", names: ["bitstamp"], markets: ["spot"], lists: listPaths,
    books: [BookRequest("/order_book/")]
  ) { (start) throws(RecordedNameError) in
    let known = start.list.flatMap { try? readMarkets($0.span.bytes) } ?? []
    var markets: [NamedMarket] = []
    for name in start.names {
      let parts = name.split(separator: "/")
      if let market = known.first(where: { $0.venueSymbol == name || "\($0.symbol.base)/\($0.symbol.quote)" == name }) {
        markets.append(NamedMarket(name: market.venueSymbol, symbol: market.symbol))
      } else if parts.count == 2 {
        let symbol = FeedSymbol(base: String(parts[0]), quote: String(parts[1]))
        markets.append(NamedMarket(name: parts.joined().lowercased(), symbol: symbol))
      } else {
        markets.append(NamedMarket(name: name, symbol: try NamedMarket.joined(name.uppercased()).symbol))
      }
    }
    return ReplayStart(
      symbols: markets.map(\.symbol.text),
      instruments: start.list
        ?? NamedMarket.list("[", markets, "]") { market, out in
          market.append("market_symbol", "base_currency", "counter_currency", to: &out)
        })
  }
}
