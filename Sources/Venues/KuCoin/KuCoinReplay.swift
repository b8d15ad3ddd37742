import Bytes
import MarketData

extension KuCoin {
  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "KuCoin spot", names: ["kucoin"], markets: ["spot", "mixed"], lists: ["/api/v2/symbols"],
    marketFields: [MarketField("s")]
  ) { start in
    let markets = start.markets { (name) throws(RecordedNameError) in try .separated(name, by: "-") }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list(#"{"code":"200000","data":["#, markets.found, "]}") { market, out in
          market.append("symbol", "baseCurrency", "quoteCurrency", to: &out)
        })
  }
}
