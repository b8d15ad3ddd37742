import MarketData

@testable import VenueSimulator
@testable import Venues

extension CoinbaseProtocol: VenueTrials {
  static let setups = [
    // Nothing numbers its updates; a time that goes back is all that shows.
    BookPropertyTests.Setup(
      "coinbase", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(
        order: .delivered, blindTo: [.gap, .reorder, .lateDuplicate], seesLate: true, vouched: 0, depth: .max,
        refusal: .byRequest, books: "level2"))
  ]

  static var candleSheets: [CandleSheet] { [.coinbase] }
}

extension CandleSheet {
  static let coinbase = CandleSheet(
    venue: "coinbase", symbol: "BTC-USD", names: ["60", "300", "900", "3600", nil, "86400"], isNewestFirst: true,
    isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/products/\(symbol)/candles",
        query: [("granularity", interval), ("start", iso(from)), ("end", iso(to))])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1_000, open: 3, high: 2, low: 1, close: 4, volume: 5, count: 6))
}
