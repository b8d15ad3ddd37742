import MarketData

@testable import VenueSimulator
@testable import Venues

extension BybitProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "bybit", ["BTC-USDT", "ZEC-USDT"], levels: [30, 215],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 200, refusal: .byRequest, books: "book(depth: 200)")),
    BookPropertyTests.Setup(
      "bybit", ["BTC-USDT-PERP", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 200, refusal: .byRequest, books: "book(depth: 200)")),
  ]

  static let crowds = [
    CrowdTests.Crowd("bybit", "USDT", count: 40),
    CrowdTests.Crowd("bybit", "USDT", .perpetual, count: 40),
  ]

  static var candleSheets: [CandleSheet] { [.bybit("spot"), .bybit("linear")] }
}

extension CandleSheet {
  static func bybit(_ category: String) -> CandleSheet {
    CandleSheet(
      venue: "bybit", symbol: "BTCUSDT", names: ["1", "5", "15", "60", "240", "D"], isNewestFirst: true,
      request: { symbol, interval, from, to in
        Request(
          path: "/v5/market/kline",
          query: [
            ("category", category), ("symbol", symbol), ("interval", interval), ("start", "\(from * 1_000)"),
            ("end", "\(to * 1_000)"), ("limit", "1000"),
          ])
      },
      rows: list("result", "list"),
      read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 7))
  }
}
