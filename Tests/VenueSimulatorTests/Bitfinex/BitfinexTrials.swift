import MarketData

@testable import VenueSimulator
@testable import Venues

extension BitfinexProtocol: VenueTrials {
  static let setups = [
    // Every message of the connection is counted.
    BookPropertyTests.Setup(
      "bitfinex", ["BTC-USD", "BTC-USDT", "DOGE-USD"], levels: [30, 110, 60],
      .init(order: .numbered, blindTo: [], vouched: 0, depth: 100, books: "book("))
  ]

  static var candleSheets: [CandleSheet] { [.bitfinex] }
}

extension CandleSheet {
  static let bitfinex = CandleSheet(
    venue: "bitfinex", symbol: "tBTCUSD", names: ["1m", "5m", "15m", "1h", nil, "1D"], isNewestFirst: true,
    isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/v2/candles/trade:\(interval):\(symbol)/hist",
        query: [("start", "\(from * 1_000)"), ("end", "\(to * 1_000)"), ("limit", "10000")])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1, open: 1, high: 3, low: 4, close: 2, volume: 5, count: 6))
}
