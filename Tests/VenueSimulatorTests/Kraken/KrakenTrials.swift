import MarketData

@testable import VenueSimulator
@testable import Venues

extension KrakenProtocol: VenueTrials {
  static let setups = [
    // The checksum covers ten levels of each side; a hundred are subscribed.
    BookPropertyTests.Setup(
      "kraken", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(order: .delivered, blindTo: [.gap, .reorder, .lateDuplicate], vouched: 10, depth: 100, books: "book("))
  ]

  static var candleSheets: [CandleSheet] { [.kraken] }
}

extension CandleSheet {
  static let kraken = CandleSheet(
    venue: "kraken", symbol: "XBTUSD", names: ["1", "5", "15", "60", "240", "1440"],
    request: { symbol, interval, from, _ in
      Request(
        path: "/0/public/OHLC", query: [("pair", symbol), ("interval", interval), ("since", "\(from - 1)")])
    },
    // By the legacy name, by the name that was asked for: whichever is not `last`.
    rows: { json in
      let result = (json as? [String: Any])?["result"] as? [String: Any]
      return result?.first { $0.key != "last" }?.value as? [Any] ?? []
    },
    read: array(unit: 1_000, open: 1, high: 2, low: 3, close: 4, volume: 6, trades: 7, count: 8))
}
