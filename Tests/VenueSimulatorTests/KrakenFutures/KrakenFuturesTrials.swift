import MarketData

@testable import VenueSimulator
@testable import Venues

extension KrakenFuturesProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "kraken-futures", ["BTC-USD-PERP", "BTC-USD-20261225", "ZEC-USD-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, books: "book"))
  ]

  static let crowds = [
    CrowdTests.Crowd("kraken-futures", "USD", .perpetual, count: 40)
  ]

  static var candleSheets: [CandleSheet] { [.krakenFutures] }
}

extension CandleSheet {
  static let krakenFutures = CandleSheet(
    venue: "kraken-futures", symbol: "PF_XBTUSD", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/api/charts/v1/trade/\(symbol)/\(interval)", query: [("from", "\(from)"), ("to", "\(to)")])
    },
    rows: list("candles"),
    read: object(unit: 1, start: "time", names: ["open", "high", "low", "close", "volume"]))
}
