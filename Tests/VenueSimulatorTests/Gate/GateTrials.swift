import MarketData

@testable import VenueSimulator
@testable import Venues

extension GateProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "gate", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], levels: [30, 415, 415],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 400, books: "stream(")),
    // Gate's older book, joined to REST snapshots.
    BookPropertyTests.Setup(
      Gate.venue(.bridged), "bridged", ["BTC-USDT", "ZEC-USDT"], levels: [30, 110],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, books: "updates(")),
  ]

  static let crowds = [
    CrowdTests.Crowd("gate", "USDT", count: 30),
    CrowdTests.Crowd(Gate.venue(.bridged), "USDT", count: 150, perMinute: 240) { $0.contains("order_book") ? 1 : 0 },
  ]

  static var candleSheets: [CandleSheet] { [.gate] }
}

extension CandleSheet {
  static let gate = CandleSheet(
    venue: "gate", symbol: "BTC_USDT", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v4/spot/candlesticks",
        query: [("currency_pair", symbol), ("interval", interval), ("from", "\(from)"), ("to", "\(to)")])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1_000, open: 5, high: 3, low: 4, close: 2, volume: 6, closed: 7, count: 8))
}
