import MarketData

@testable import VenueSimulator
@testable import Venues

extension CryptoComProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "crypto-com", ["BTC-USD", "BTC-USD-PERP", "ZEC-USD-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 50, books: "book"))
  ]

  static let crowds = [
    CrowdTests.Crowd("crypto-com", "USD", count: 60)
  ]

  static var candleSheets: [CandleSheet] { [.cryptoCom] }
}

extension CandleSheet {
  static let cryptoCom = CandleSheet(
    venue: "crypto-com", symbol: "BTC_USD", names: ["1m", "5m", "15m", "1h", "4h", "1D"],
    request: { symbol, interval, from, to in
      Request(
        path: "/exchange/v1/public/get-candlestick",
        query: [
          ("instrument_name", symbol), ("timeframe", interval), ("start_ts", "\(from * 1_000)"),
          ("end_ts", "\(to * 1_000)"), ("count", "300"),
        ])
    },
    rows: list("result", "data"),
    read: object(unit: 1, start: "t", names: ["o", "h", "l", "c", "v"]))
}
