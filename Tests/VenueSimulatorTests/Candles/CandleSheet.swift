import Foundation
import MarketData
import VenueSimulator

/// A bar as a test has read it from a venue's answer.
struct ReadCandle: Equatable {
  /// When it opens, ms since 1970.
  var start: Int64
  var open: Double
  var high: Double
  var low: Double
  var close: Double
  /// In the units that the venue counts volumes of bars in.
  var volume: Double
  var trades: Int64?
  /// What the row says of itself; nil if it says nothing.
  var isClosed: Bool?
}

/// How one venue's candles are asked for and read, written from what is known of the venue and sharing nothing with its
/// simulation.
struct CandleSheet: Sendable, CustomStringConvertible {
  struct Request {
    var path: String
    var query: [(name: String, value: String)] = []
    /// Of a POST.
    var body: String?
  }

  let venue: String
  /// By the venue's name.
  let symbol: String
  /// Of 1, 5, 15 minutes, 1, 4 and 24 hours; nil for one that there is not.
  let names: [String?]
  var isNewestFirst = false
  /// Whether an interval without a trade has a row.
  var isFilled = true
  /// Whether the bar under way comes with the others.
  var hasRunning = true
  /// How far behind midnight UTC a day begins, hours.
  var dayOffset: Int64 = 0
  let request: @Sendable (_ symbol: String, _ interval: String, _ from: Int64, _ to: Int64) -> Request
  let rows: @Sendable (Any) -> [Any]
  let read: @Sendable (Any) -> ReadCandle?

  var description: String { "\(venue) \(symbol)" }

  static let lengths: [Int64] = [60, 300, 900, 3_600, 14_400, 86_400]

  /// Asks for the bars that open from `from` to `to`, in seconds since 1970; nil if the answer is a refusal.
  func ask(_ simulated: SimulatedVenue, _ interval: String, _ from: Int64, _ to: Int64) -> [ReadCandle]? {
    let response = Self.answer(simulated, request(symbol, interval, from, to))
    guard response.status == 200, let json = Self.json(response.body) else { return nil }
    return rows(json).compactMap(read)
  }

  static func answer(_ simulated: SimulatedVenue, _ request: Request) -> SimulatedResponse {
    guard let body = request.body else { return simulated.respond(path: request.path, query: request.query) }
    return Array(body.utf8).withUnsafeBytes { simulated.respond(path: request.path, body: RawSpan(_unsafeBytes: $0)) }
  }

  static func json(_ text: String) -> Any? {
    try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
  }

  /// The number in a field, bare or in quotes.
  static func number(_ value: Any?) -> Double? { (value as? String).flatMap(Double.init) ?? (value as? Double) }

  /// A row whose fields stand at these places; the time in units of `unit` ms.
  private static func array(
    unit: Int64, open: Int, high: Int, low: Int, close: Int, volume: Int, trades: Int? = nil, closed: Int? = nil,
    count: Int
  ) -> @Sendable (Any) -> ReadCandle? {
    { row in
      guard let row = row as? [Any], row.count == count else { return nil }
      let numbers = row.map(number)
      guard let start = numbers[0], let o = numbers[open], let h = numbers[high], let l = numbers[low],
        let c = numbers[close], let v = numbers[volume]
      else { return nil }
      return ReadCandle(
        start: Int64(start) * unit, open: o, high: h, low: l, close: c, volume: v,
        trades: trades.flatMap { numbers[$0] }.map { Int64($0) },
        isClosed: closed.flatMap { row[$0] as? String }.map { $0 == "1" || $0 == "true" })
    }
  }

  private static func object(
    unit: Int64, start: String, names: [String], trades: String? = nil
  ) -> @Sendable (Any) -> ReadCandle? {
    { row in
      guard let row = row as? [String: Any], let start = number(row[start]) else { return nil }
      let numbers = (names + (trades.map { [$0] } ?? [])).compactMap { number(row[$0]) }
      guard numbers.count == (trades == nil ? 5 : 6) else { return nil }
      return ReadCandle(
        start: Int64(start) * unit, open: numbers[0], high: numbers[1], low: numbers[2], close: numbers[3],
        volume: numbers[4], trades: trades == nil ? nil : Int64(numbers[5]))
    }
  }

  private static func list(_ keys: String...) -> @Sendable (Any) -> [Any] {
    { json in
      var value: Any? = json
      for key in keys { value = (value as? [String: Any])?[key] }
      return value as? [Any] ?? []
    }
  }

  private static func iso(_ seconds: Int64) -> String {
    let format = ISO8601DateFormatter()
    return format.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
  }

  // MARK: - The venues

  static let kraken = CandleSheet(
    venue: "kraken", symbol: "XBTUSD", names: ["1", "5", "15", "60", "240", "1440"],
    request: { symbol, interval, from, _ in
      Request(
        path: "/0/public/OHLC", query: [("pair", symbol), ("interval", interval), ("since", "\(from - 1)")])
    },
    // By the legacy name, by the name that was asked for: whichever is not `last`.
    rows: { json in
      let result = (json as? [String: Any])?["result"] as? [String: Any]
      return result?.first { $0.key != "last" }?.value as? [Any] ?? []
    },
    read: array(unit: 1_000, open: 1, high: 2, low: 3, close: 4, volume: 6, trades: 7, count: 8))

  static let coinbase = CandleSheet(
    venue: "coinbase", symbol: "BTC-USD", names: ["60", "300", "900", "3600", nil, "86400"], isNewestFirst: true,
    isFilled: false,
    request: { symbol, interval, from, to in
      Request(
        path: "/products/\(symbol)/candles",
        query: [("granularity", interval), ("start", iso(from)), ("end", iso(to))])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1_000, open: 3, high: 2, low: 1, close: 4, volume: 5, count: 6))

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

  static func bybit(_ category: String) -> CandleSheet {
    CandleSheet(
      venue: "bybit", symbol: "BTCUSDT", names: ["1", "5", "15", "60", "240", "D"], isNewestFirst: true,
      request: { symbol, interval, from, to in
        Request(
          path: "/v5/market/kline",
          query: [
            ("category", category), ("symbol", symbol), ("interval", interval), ("start", "\(from * 1_000)"),
            ("end", "\(to * 1_000)"), ("limit", "1000"),
          ])
      },
      rows: list("result", "list"),
      read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 7))
  }

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

  static let gemini = CandleSheet(
    venue: "gemini", symbol: "btcusd", names: ["1m", "5m", "15m", "1hr", nil, "1day"], isNewestFirst: true,
    request: { symbol, interval, _, _ in Request(path: "/v2/candles/\(symbol)/\(interval)") },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 6))

  static let deribit = CandleSheet(
    venue: "deribit", symbol: "BTC_USDC-PERPETUAL", names: ["1", "5", "15", "60", nil, "1D"], dayOffset: 8,
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v2/public/get_tradingview_chart_data",
        query: [
          ("instrument_name", symbol), ("resolution", interval), ("start_timestamp", "\(from * 1_000)"),
          ("end_timestamp", "\(to * 1_000)"),
        ])
    },
    // Columns.
    rows: { json in
      guard let result = (json as? [String: Any])?["result"] as? [String: Any] else { return [] }
      let columns = ["ticks", "open", "high", "low", "close", "volume", "cost"].compactMap { result[$0] as? [Any] }
      guard columns.count == 7, columns.allSatisfy({ $0.count == columns[0].count }) else { return [] }
      return columns[0].indices.map { row in columns.map { $0[row] } as [Any] }
    },
    read: array(unit: 1, open: 1, high: 2, low: 3, close: 4, volume: 5, count: 7))

  static let hyperliquid = CandleSheet(
    venue: "hyperliquid", symbol: "BTC", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/info",
        body: #"{"type":"candleSnapshot","req":{"coin":"\#(symbol)","interval":"\#(interval)","#
          + #""startTime":\#(from * 1_000),"endTime":\#(to * 1_000)}}"#)
    },
    rows: { $0 as? [Any] ?? [] },
    read: object(unit: 1, start: "t", names: ["o", "h", "l", "c", "v"], trades: "n"))

  static let gate = CandleSheet(
    venue: "gate", symbol: "BTC_USDT", names: ["1m", "5m", "15m", "1h", "4h", "1d"],
    request: { symbol, interval, from, to in
      Request(
        path: "/api/v4/spot/candlesticks",
        query: [("currency_pair", symbol), ("interval", interval), ("from", "\(from)"), ("to", "\(to)")])
    },
    rows: { $0 as? [Any] ?? [] },
    read: array(unit: 1_000, open: 5, high: 3, low: 4, close: 2, volume: 6, closed: 7, count: 8))

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

  static let all: [CandleSheet] = [
    kraken, coinbase, coinbaseAdvanced, binance, binanceFutures, bybit("spot"), bybit("linear"),
    okx("BTC-USDT", volume: 5), okx("BTC-USDT-SWAP", volume: 6), bitfinex, bitstamp, gemini, deribit, hyperliquid,
    gate, kucoin, bitget(isSpot: true), bitget(isSpot: false),
  ]
}
