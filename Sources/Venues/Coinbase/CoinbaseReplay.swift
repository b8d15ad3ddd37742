import Bytes
import MarketData

extension CoinbaseHandler {
  /// Names are the gateway's own.
  static let replay = VenueReplay(
    title: "the Coinbase Exchange feed", names: ["coinbase"], markets: ["spot"], lists: ["/products"]
  ) { (start) throws(RecordedNameError) in
    ReplayStart(
      symbols: start.names,
      instruments: start.list
        ?? NamedMarket.list("[", start.names.map { .separated($0, by: "-") }, "]") { market, out in
          market.append("id", "base_currency", "quote_currency", to: &out)
        })
  }
}
