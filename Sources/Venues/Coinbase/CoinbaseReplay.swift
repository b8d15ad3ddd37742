import Bytes
import MarketData

extension Coinbase {
  /// Names are the gateway's own. Frames of Advanced Trade, which others record under the same name, have `channel`
  /// where these have `type`.
  static let replay = VenueReplay(
    title: "the Coinbase Exchange feed", names: ["coinbase"], markets: ["spot", "mixed"], lists: ["/products"],
    marks: [CoinbaseAdvanced.sequenceMark], marketFields: [MarketField("product_id")]
  ) { start in
    guard !start.marks.contains(CoinbaseAdvanced.sequenceMark) else { return nil }
    let markets = start.markets { (name) throws(RecordedNameError) in try .separated(name, by: "-") }
    return ReplayStart(
      markets,
      instruments: start.list
        ?? NamedMarket.list("[", markets.found, "]") { market, out in
          market.append("id", "base_currency", "quote_currency", to: &out)
        })
  }
}
