import MarketData

@testable import VenueSimulator
@testable import Venues

extension CoinbaseAdvancedProtocol: VenueTrials {
  static let setups = [
    // The connection's numbers show every hole, whosever message is missing.
    BookPropertyTests.Setup(
      "coinbase-advanced", ["BTC-USD", "ZEC-USD"], levels: [30, 110],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, books: "level2"))
  ]

  static let crowds = [
    CrowdTests.Crowd("coinbase-advanced", "USD", count: 30)
  ]

  static var candleSheets: [CandleSheet] { [.coinbaseAdvanced] }
}

extension CandleSheet {
  static let coinbaseAdvanced = CandleSheet(
    venue: "coinbase-advanced", symbol: "BTC-USD",
    names: ["ONE_MINUTE", "FIVE_MINUTE", "FIFTEEN_MINUTE", "ONE_HOUR", "FOUR_HOUR", "ONE_DAY"], isNewestFirst: true,
    isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v3/brokerage/market/products/\(symbol)/candles",
        query: [("granularity", interval), ("start", "\(from)"), ("end", "\(to + 1)")])
    },
    rows: list("candles"),
    read: object(unit: 1_000, start: "start", names: ["open", "high", "low", "close", "volume"]))
}
