import MarketData

extension Bitfinex {
  /// A name is one of the venue (`tBTCUST`), or a symbol as it was configured, with a colon (`BTC:USDT`).
  static let replay = VenueReplay(
    title: "Bitfinex spot", names: ["bitfinex"], markets: ["spot", "mixed"],
    lists: [listPath, "/conf/pub:list:pair:exchange"], marketFields: [MarketField("symbol")],
    listing: { _ in listing }, made: MadeList("[[", tail: "]]")
  ) { (name, start) throws(RecordedNameError) in
    let known = start.known.first { $0.venueSymbol == name || "\($0.symbol.base):\($0.symbol.quote)" == name }
    if let known { return NamedMarket(name: String(known.venueSymbol.dropFirst()), symbol: known.symbol) }
    let own = name.hasPrefix("t") ? String(name.dropFirst()) : name
    guard let pair = BitfinexPair(pair: own) else {
      throw RecordedNameError("\(name) does not show its base and quote")
    }
    return NamedMarket(name: own, symbol: pair.symbol)
  }
}
