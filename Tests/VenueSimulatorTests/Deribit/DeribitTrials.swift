import MarketData

@testable import VenueSimulator
@testable import Venues

extension DeribitProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "deribit", ["BTC-USDC-PERP", "BTC-USDC-20261225", "ZEC-USDC-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, books: "Kind.book"))
  ]

  static var candleSheets: [CandleSheet] { [.deribit] }
}

extension CandleSheet {
  static let deribit = CandleSheet(
    venue: "deribit", symbol: "BTC_USDC-PERPETUAL", names: ["1", "5", "15", "60", nil, "1D"], dayOffset: 8,
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v2/public/get_tradingview_chart_data",
        query: [
          ("instrument_name", symbol), ("resolution", interval), ("start_timestamp", "\(from * 1_000)"),
          ("end_timestamp", "\(to * 1_000)"),
        ])
    },
    // Columns.
    rows: { json in
      guard let result = (json as? [String: Any])?["result"] as? [String: Any] else { return [] }
      let columns = ["ticks", "open", "high", "low", "close", "volume", "cost"].compactMap { result[$0] as? [Any] }
      guard columns.count == 7, columns.allSatisfy({ $0.count == columns[0].count }) else { return [] }
      return columns[0].indices.map { row in columns.map { $0[row] } as [Any] }
    },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 7))
}
