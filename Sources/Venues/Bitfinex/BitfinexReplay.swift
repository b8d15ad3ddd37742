import Bytes
import MarketData

extension Bitfinex {
  /// A name is one of the venue (`tBTCUST`), or a symbol as it was configured, with a colon (`BTC:USDT`).
  static let replay = VenueReplay(
    title: "Bitfinex spot", names: ["bitfinex"], markets: ["spot", "mixed"],
    lists: [listPath, "/conf/pub:list:pair:exchange"], marketFields: [MarketField("symbol")]
  ) { start in
    let known = start.list.flatMap { try? BitfinexPair.list($0.span.bytes) } ?? []
    let markets = start.markets { (name) throws(RecordedNameError) in
      let pair =
        known.first { $0.name == name || "\($0.symbol.base):\($0.symbol.quote)" == name }
        ?? BitfinexPair(pair: name.hasPrefix("t") ? String(name.dropFirst()) : name)
      guard let pair else { throw RecordedNameError("\(name) cannot be taken apart into base and quote") }
      return NamedMarket(name: pair.name, symbol: pair.symbol)
    }
    let names = JSONText.array(markets.found.map { String($0.name.dropFirst()) })
    return ReplayStart(markets, instruments: start.list ?? Array("[\(names)]".utf8))
  }
}
