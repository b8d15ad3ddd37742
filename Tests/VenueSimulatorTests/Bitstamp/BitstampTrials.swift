import MarketData

@testable import VenueSimulator
@testable import Venues

extension BitstampProtocol: VenueTrials {
  static let setups = [
    // A time is all that an update has, and snapshots are of the same times.
    BookPropertyTests.Setup(
      "bitstamp", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(
        order: .numbered, blindTo: [.gap, .reorder, .lateDuplicate], seesLate: true, vouched: 0, depth: .max,
        refusal: .forGood, books: "difference"))
  ]

  static let crowds = [
    CrowdTests.Crowd("bitstamp", "USD", count: 160, perMinute: 300) { $0.contains("order_book") ? 1 : 0 }
  ]

  static var candleSheets: [CandleSheet] { [.bitstamp] }
}

extension CandleSheet {
  static let bitstamp = CandleSheet(
    venue: "bitstamp", symbol: "btcusd", names: ["60", "300", "900", "3600", "14400", "86400"],
    request: { symbol, interval, from, to in
      let count = (to - from) / (Int64(interval) ?? 60) + 1
      return Request(
        path: "/api/v2/ohlc/\(symbol)/",
        query: [("step", interval), ("end", "\(to)"), ("limit", "\(count)")])
    },
    rows: list("data", "ohlc"),
    read: object(unit: 1_000, start: "timestamp", names: ["open", "high", "low", "close", "volume"]))
}
