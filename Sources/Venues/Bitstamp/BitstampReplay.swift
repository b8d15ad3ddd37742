import MarketData

extension Bitstamp {
  /// A name is one of the venue (`btcusd`), or a symbol as it was configured, with a slash (`BTC/USD`).
  static let replay = VenueReplay(
    title: "Bitstamp spot", names: ["bitstamp"], markets: ["spot", "mixed"], lists: listPaths,
    marketFields: [MarketField("channel", after: "_")], books: [BookRequest("/order_book/")],
    listing: { _ in listing }, made: MadeList("[", "market_symbol", "base_currency", "counter_currency", tail: "]")
  ) { (name, start) throws(RecordedNameError) in
    let known = start.known.first { $0.venueSymbol == name || "\($0.symbol.base)/\($0.symbol.quote)" == name }
    if let known { return NamedMarket(name: known.venueSymbol, symbol: known.symbol) }
    let parts = name.split(separator: "/")
    if parts.count == 2 {
      let symbol = FeedSymbol(base: String(parts[0]), quote: String(parts[1]))
      return NamedMarket(name: parts.joined().lowercased(), symbol: symbol)
    }
    return NamedMarket(name: name, symbol: try NamedMarket.joined(name.uppercased()).symbol)
  }
}
