import MarketData

@testable import VenueSimulator
@testable import Venues

extension OKXProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "okx", ["BTC-USDT", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 400, books: "books"))
  ]

  static let crowds = [
    CrowdTests.Crowd("okx", "USDT", count: 90)
  ]

  static var candleSheets: [CandleSheet] { [.okx("BTC-USDT", volume: 5), .okx("BTC-USDT-SWAP", volume: 6)] }
}

extension CandleSheet {
  /// Of contracts the volume in base units is a field later.
  static func okx(_ symbol: String, volume: Int) -> CandleSheet {
    CandleSheet(
      venue: "okx", symbol: symbol, names: ["1m", "5m", "15m", "1H", "4H", "1Dutc"], isNewestFirst: true,
      request: { symbol, interval, from, to in
        Request(
          path: "/api/v5/market/history-candles",
          query: [
            ("instId", symbol), ("bar", interval), ("before", "\(from * 1_000 - 1)"), ("after", "\(to * 1_000 + 1)"),
            ("limit", "300"),
          ])
      },
      rows: list("data"),
      read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: volume, closed: 8, count: 9))
  }
}
