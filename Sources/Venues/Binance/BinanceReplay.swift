import Bytes
import MarketData

extension Binance {
  /// Names run base and quote together; dated futures have their day behind an underscore.
  static let replay = VenueReplay(
    title: "Binance spot (binance, binanceus, binancetr) and USD-M", names: ["binance", "binanceus", "binancetr"],
    markets: ["spot", "usdm", "mixed"], lists: [BinanceMarket.spot.infoPath, "/exchangeInfo"],
    ownLists: ["usdm": BinanceMarket.usdm.infoPath],
    marketFields: [MarketField("s")], books: [BookRequest("/depth?", parameter: "symbol")]
  ) { start in
    let isFutures = start.market == "usdm"
    let known = start.list.map { list in
      (try? (isFutures ? BinanceMarket.usdm : .spot).readList(list.span.bytes))?.markets ?? []
    }
    let byName = Dictionary((known ?? []).map { ($0.venueSymbol, $0) }, uniquingKeysWith: { first, _ in first })
    let markets = start.markets { (name) throws(RecordedNameError) in
      let parts = name.split(separator: "_")
      let kind: Instrument.Kind =
        !isFutures ? .spot : parts.count == 2 ? .future(expiry: "20" + parts[1]) : .perpetual
      if let market = byName[name] { return NamedMarket(name: name, symbol: market.symbol) }
      return try .joined(name, kind)
    }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list(#"{"symbols":["#, markets.found, "]}") { market, out in
          if isFutures { out.append(#""contractType":"PERPETUAL","#) }
          market.append("symbol", "baseAsset", "quoteAsset", to: &out)
        })
  }
}
