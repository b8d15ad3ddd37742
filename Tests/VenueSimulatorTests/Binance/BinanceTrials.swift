import MarketData

@testable import VenueSimulator
@testable import Venues

extension BinanceProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "binance", ["BTC-USDT", "ZEC-USDT"], levels: [30, 110],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, refusal: .forGood, books: "depth(")),
    BookPropertyTests.Setup(
      "binance", ["BTC-USDT-PERP", "BTC-USDT-20261225", "ZEC-USDT-PERP"], levels: [30, 20, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: .max, refusal: .forGood, books: "depth(")),
  ]

  static let crowds = [
    // Half of the 6,000 and the 2,400 that an address may spend.
    CrowdTests.Crowd("binance", "USDT", count: 120, perMinute: 3_000) {
      binanceWeight($0, [(1_000, 50), (500, 25), (100, 5)])
    },
    CrowdTests.Crowd("binance", "USDT", .perpetual, count: 120, perMinute: 1_200) {
      binanceWeight($0, [(1_000, 20), (500, 10), (100, 5)])
    },
  ]

  /// Snapshots of books at Binance cost by their depth; all else is asked for once.
  private static func binanceWeight(_ path: String, _ depths: [(levels: Int, weight: Int)]) -> Int {
    depths.first { path.contains("limit=\($0.levels)") }?.weight ?? 0
  }

  static var candleSheets: [CandleSheet] { [.binance, .binanceFutures] }
}

extension CandleSheet {
  static let binance = CandleSheet(
    venue: "binance", symbol: "BTCUSDT", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v3/klines",
        query: [
          ("symbol", symbol), ("interval", interval), ("startTime", "\(from * 1_000)"), ("endTime", "\(to * 1_000)"),
          ("limit", "1000"),
        ])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, trades: 8, count: 12))

  static let binanceFutures = CandleSheet(
    venue: "binance", symbol: "BTCUSDT", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      var request = binance.request(symbol, interval, from, to)
      request.path = "/fapi/v1/klines"
      return request
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, trades: 8, count: 12))
}
