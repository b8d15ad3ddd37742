import MarketData

extension Binance {
  /// Names run base and quote together; dated futures have their day behind an underscore.
  static let replay = VenueReplay(
    title: "Binance spot (binance, binanceus, binancetr) and USD-M", names: ["binance", "binanceus", "binancetr"],
    markets: ["spot", "usdm", "mixed"], lists: [BinanceMarket.spot.infoPath, "/exchangeInfo"],
    ownLists: ["usdm": BinanceMarket.usdm.infoPath], marketFields: [MarketField("s")],
    books: [BookRequest("/depth?", parameter: "symbol")],
    listing: { ($0 == "usdm" ? BinanceMarket.usdm : .spot).listing },
    made: MadeList(#"{"symbols":["#, "symbol", "baseAsset", "quoteAsset", tail: "]}") {
      $0 == "usdm" ? #""contractType":"PERPETUAL","# : ""
    }
  ) { (name, start) throws(RecordedNameError) in
    if let market = start.known.first(where: { $0.venueSymbol == name }) {
      return NamedMarket(name: name, symbol: market.symbol)
    }
    guard start.market == "usdm" else { return try .joined(name) }
    let parts = name.split(separator: "_")
    return try .joined(name, parts.count == 2 ? .future(expiry: "20" + parts[1]) : .perpetual)
  }
}
