import Bytes
import MarketData

extension KuCoinHandler {
  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "KuCoin spot", names: ["kucoin"], markets: ["spot"], lists: ["/api/v2/symbols"]
  ) { (start) throws(RecordedNameError) in
    let markets = start.names.map { NamedMarket.separated($0, by: "-") }
    return ReplayStart(
      symbols: start.names,
      instruments: start.list
        ?? NamedMarket.list(#"{"code":"200000","data":["#, markets, "]}") { market, out in
          market.append("symbol", "baseCurrency", "quoteCurrency", to: &out)
        })
  }
}
