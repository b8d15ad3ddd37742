import Bytes
import MarketData

extension CoinbaseAdvancedHandler {
  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "Coinbase Advanced Trade", names: ["coinbase-advanced"], markets: ["spot"],
    lists: ["/api/v3/brokerage/market/products"]
  ) { (start) throws(RecordedNameError) in
    ReplayStart(
      symbols: start.names,
      instruments: start.list
        ?? NamedMarket.list(#"{"products":["#, start.names.map { .separated($0, by: "-") }, "]}") { market, out in
          out.append(#""product_type":"SPOT","#)
          market.append("product_id", "base_currency_id", "quote_currency_id", to: &out)
        })
  }
}
