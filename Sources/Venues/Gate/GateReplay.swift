import Bytes
import MarketData

extension GateHandler {
  static let replay = VenueReplay(
    title: "Gate spot", names: ["gate"], markets: ["spot"], lists: ["/api/v4/spot/currency_pairs"],
    books: [BookRequest("/spot/order_book?", parameter: "currency_pair")]
  ) { (start) throws(RecordedNameError) in
    let markets = start.names.map { NamedMarket.separated($0, by: "_") }
    return ReplayStart(
      symbols: start.names.map { $0.split(separator: "_").joined(separator: "-") },
      instruments: start.list
        ?? NamedMarket.list("[", markets, "]") { market, out in market.append("id", "base", "quote", to: &out) })
  }
}
