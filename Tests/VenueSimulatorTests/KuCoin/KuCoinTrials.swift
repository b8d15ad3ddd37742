import MarketData

@testable import VenueSimulator
@testable import Venues

extension KuCoinProtocol: VenueTrials {
  static let setups = [
    BookPropertyTests.Setup(
      "kucoin", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], levels: [30, 40, 515],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 500, refusal: .bySilence, books: "book")),
    BookPropertyTests.Setup(
      "kucoin", ["BTC-USDT-PERP", "ETH-USDT-PERP", "ADA-USDT-PERP"], levels: [30, 40, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 500, refusal: .bySilence, books: "book")),
  ]

  static let crowds = [
    CrowdTests.Crowd("kucoin", "USDT", count: 20), CrowdTests.Crowd("kucoin", "USDT", .perpetual, count: 20),
  ]

  static var candleSheets: [CandleSheet] { [.kucoin, .kucoinFutures] }
}

extension CandleSheet {
  static let kucoin = CandleSheet(
    venue: "kucoin", symbol: "BTC-USDT", names: ["1min", "5min", "15min", "1hour", "4hour", "1day"],
    isNewestFirst: true, isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v1/market/candles",
        query: [("symbol", symbol), ("type", interval), ("startAt", "\(from)"), ("endAt", "\(to + 1)")])
    },
    rows: list("data"),
    read: array(unit: 1_000, open: 1, high: 3, low: 4, close: 2, volume: 5, count: 7))

  /// Volumes are in lots.
  static let kucoinFutures = CandleSheet(
    venue: "kucoin", symbol: "XBTUSDTM", names: ["1", "5", "15", "60", "240", "1440"], isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v1/kline/query",
        query: [
          ("symbol", symbol), ("granularity", interval), ("from", "\(from * 1_000)"), ("to", "\(to * 1_000)"),
        ])
    },
    rows: list("data"),
    read: { row in
      var candle = array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 7)(row)
      // A lot is a thousandth of a base unit.
      candle?.volume /= 1_000
      return candle
    })
}
