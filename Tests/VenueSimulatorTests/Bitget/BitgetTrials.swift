import MarketData

@testable import VenueSimulator
@testable import Venues

extension BitgetProtocol: VenueTrials {
  static let setups = [
    // Levels that fall out of the venue's 500 are told of for one of the markets, and not for the other.
    BookPropertyTests.Setup(
      "bitget", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], levels: [30, 515, 515],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 500, books: "books")),
    BookPropertyTests.Setup(
      "bitget", ["BTC-USDT-PERP", "ETH-USDT-PERP", "ZEC-USDT-PERP"], levels: [30, 515, 20],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 500, books: "books")),
  ]

  static var candleSheets: [CandleSheet] { [.bitget(isSpot: true), .bitget(isSpot: false)] }
}

extension CandleSheet {
  /// Pages of history are 200 rows, and have no bar under way.
  static func bitget(isSpot: Bool) -> CandleSheet {
    CandleSheet(
      venue: "bitget", symbol: "BTCUSDT",
      names: isSpot ? ["1min", "5min", "15min", "1h", "4h", "1Dutc"] : ["1m", "5m", "15m", "1H", "4H", "1Dutc"],
      hasRunning: false,
      request: { symbol, interval, from, to in
        Request(
          path: "/api/v2/\(isSpot ? "spot" : "mix")/market/history-candles",
          query: [
            ("symbol", symbol), ("productType", "usdt-futures"), ("granularity", interval),
            // Of contracts the start excludes its own bar.
            ("startTime", "\(from * 1_000 - (isSpot ? 0 : 1))"), ("endTime", "\(to * 1_000)"), ("limit", "200"),
          ])
      },
      rows: list("data"),
      read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: isSpot ? 8 : 7))
  }
}
