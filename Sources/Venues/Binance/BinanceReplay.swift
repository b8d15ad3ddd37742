import Bytes
import MarketData

extension BinanceHandler {
  /// Names run base and quote together; dated futures have their day behind an underscore.
  static let replay = VenueReplay(
    title: "Binance spot (binance, binanceus, binancetr) and USD-M", names: ["binance", "binanceus", "binancetr"],
    markets: ["spot", "usdm"], lists: [BinanceMarket.spot.infoPath, "/exchangeInfo"],
    ownLists: ["usdm": BinanceMarket.usdm.infoPath],
    books: [BookRequest("/depth?", parameter: "symbol")]
  ) { (start) throws(RecordedNameError) in
    let isFutures = start.market == "usdm"
    let known = start.list.map { list in
      (try? BinanceHandler(isFutures ? .usdm : .spot, configuration: FeedConfiguration(symbols: [])).readMarkets(
        list.span.bytes))?
        .markets ?? []
    }
    var markets: [NamedMarket] = []
    for name in start.names {
      let parts = name.split(separator: "_")
      let kind: Instrument.Kind =
        !isFutures ? .spot : parts.count == 2 ? .future(expiry: "20" + parts[1]) : .perpetual
      if let market = known?.first(where: { $0.venueSymbol == name }) {
        markets.append(NamedMarket(name: name, symbol: market.symbol))
      } else {
        markets.append(try .joined(name, kind))
      }
    }
    return ReplayStart(
      symbols: markets.map(\.symbol.text),
      instruments: start.list
        ?? NamedMarket.list(#"{"symbols":["#, markets, "]}") { market, out in
          if isFutures { out.append(#""contractType":"PERPETUAL","#) }
          market.append("symbol", "baseAsset", "quoteAsset", to: &out)
        })
  }
}
