import MarketData

@testable import VenueSimulator
@testable import Venues

extension GeminiProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "gemini", ["BTC-USD", "ZEC-USD", "ETH-GUSD-PERP"], levels: [30, 110, 20],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, refusal: .byRequest, books: "fastBook"))
  ]

  static let crowds = [
    // Half of 120 requests, less the list.
    CrowdTests.Crowd("gemini", "USD", count: 40, perMinute: 60)
  ]

  static var candleSheets: [CandleSheet] { [.gemini] }
}

extension CandleSheet {
  static let gemini = CandleSheet(
    venue: "gemini", symbol: "btcusd", names: ["1m", "5m", "15m", "1hr", nil, "1day"], isNewestFirst: true,
    request: { symbol, interval, _, _ in Request(path: "/v2/candles/\(symbol)/\(interval)") },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 6))
}
