import MarketData

/// The candle formats of the venues. Each line is from the venue's documents, from clients that use it, or from
/// recorded answers; where they disagree the answer counts.
extension CandleFormat {
  /// The format for a connection of a venue; nil where it has no candles to ask for.
  package static func format(of venue: Venue) -> CandleFormat? {
    switch venue.name {
    case "binance": venue.part == "usdm" ? binanceFutures : binanceSpot
    case "bitfinex": bitfinex
    case "bitget": venue.part == "spot" ? bitgetSpot : bitgetContracts
    case "bitstamp": bitstamp
    case "bybit": bybit
    case "coinbase": coinbase
    case "coinbase-advanced": coinbaseAdvanced
    case "deribit": deribit
    case "gate": gate
    case "gemini": gemini
    case "hyperliquid": hyperliquid
    case "kraken": kraken
    case "kucoin": kuCoin
    case "okx": okx
    default: nil
    }
  }

  private static func seconds(_ time: Timestamp) -> Int64 { time.microseconds / Microseconds.second }
  private static func milliseconds(_ time: Timestamp) -> Int64 { time.microseconds / Microseconds.millisecond }

  /// `2026-11-22T19:05:00Z`.
  static func text(_ time: Timestamp) -> String {
    let day = VenueTime.day(time)
    let second = seconds(time) % 86_400
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(day.prefix(4))-\(day.dropFirst(4).prefix(2))-\(day.suffix(2))"
      + "T\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
  }

  /// The newest 720 intervals, whatever is asked for, and the open one after them. One request a second.
  static let kraken = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60", .fourHours: "240", .day: "1440"],
    rowLimit: 720, pace: 2 * Microseconds.second, reach: { _ in 720 }, path: [.key("result"), .firstArray],
    layout: .array([.seconds, .open, .high, .low, .close, .other, .baseVolume, .trades])
  ) { query, name in
    // Whether `since` itself is included is not certain.
    CandleRequest(
      "/0/public/OHLC?pair=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&since=\(seconds(query.window.lowerBound - query.interval.length))")
  }

  /// Both ends are included, and at most 300 intervals lie between them. Ten requests a second.
  static let coinbase = CandleFormat(
    names: [.minute: "60", .fiveMinutes: "300", .quarterHour: "900", .hour: "3600", .day: "86400"],
    rowLimit: 300, pace: 200 * Microseconds.millisecond, path: [],
    layout: .array([.seconds, .low, .high, .open, .close, .baseVolume])
  ) { query, name in
    CandleRequest(
      "/products/\(query.instrument.venueSymbol)/candles?granularity=\(name)"
        + "&start=\(text(query.window.lowerBound))&end=\(text(query.last))")
  }

  /// Spans of 350 intervals were refused. Ten requests a second.
  static let coinbaseAdvanced = CandleFormat(
    names: [
      .minute: "ONE_MINUTE", .fiveMinutes: "FIVE_MINUTE", .quarterHour: "FIFTEEN_MINUTE", .hour: "ONE_HOUR",
      .fourHours: "FOUR_HOUR", .day: "ONE_DAY",
    ],
    rowLimit: 300, pace: 200 * Microseconds.millisecond, path: [.key("candles")],
    layout: .object([
      ("start", .seconds), ("low", .low), ("high", .high), ("open", .open), ("close", .close), ("volume", .baseVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/api/v3/brokerage/market/products/\(query.instrument.venueSymbol)/candles?granularity=\(name)"
        + "&start=\(seconds(query.window.lowerBound))&end=\(seconds(query.last))&limit=300")
  }

  private static let usual: [CandleInterval: String] = [
    .minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1h", .fourHours: "4h", .day: "1d",
  ]
  private static let binanceRow = Layout.array([
    .milliseconds, .open, .high, .low, .close, .baseVolume, .other, .quoteVolume, .trades,
  ])
  private static func binance(_ path: String, limit: Int, pace: Int64) -> CandleFormat {
    CandleFormat(names: usual, rowLimit: limit, pace: pace, path: [], layout: binanceRow) { query, name in
      CandleRequest(
        "\(path)?symbol=\(query.instrument.venueSymbol)&interval=\(name)"
          + "&startTime=\(milliseconds(query.window.lowerBound))&endTime=\(milliseconds(query.last))&limit=\(limit)")
    }
  }

  /// Both ends are included. Weight 2 of 6,000 a minute: a fifth of it is used, as books need the rest.
  static let binanceSpot = binance("/api/v3/klines", limit: 1_000, pace: 100 * Microseconds.millisecond)
  /// Up to 499 rows weigh 2 of 2,400 a minute, the least for a row. A quarter of it is used.
  static let binanceFutures = binance("/fapi/v1/klines", limit: 499, pace: 200 * Microseconds.millisecond)

  /// Both ends are included. 600 requests in 5 s.
  static let bybit = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60", .fourHours: "240", .day: "D"],
    rowLimit: 1_000, pace: 100 * Microseconds.millisecond, path: [.key("result"), .key("list")],
    layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume, .quoteVolume])
  ) { query, name in
    let category = query.instrument.kind == .spot ? "spot" : "linear"
    return CandleRequest(
      "/v5/market/kline?category=\(category)&symbol=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&start=\(milliseconds(query.window.lowerBound))&end=\(milliseconds(query.last))&limit=1000")
  }

  /// Neither end is included. The plain `1D` begins at 16:00 UTC. 20 requests in 2 s. A swap's first volume counts
  /// contracts.
  static let okx = CandleFormat(
    names: [.minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1H", .fourHours: "4H", .day: "1Dutc"],
    rowLimit: 300, pace: 250 * Microseconds.millisecond, path: [.key("data")],
    layout: .array([
      .milliseconds, .open, .high, .low, .close, .baseVolume, .other, .quoteVolume, .closed("1"),
    ]),
    contractLayout: .array([
      .milliseconds, .open, .high, .low, .close, .other, .baseVolume, .quoteVolume, .closed("1"),
    ])
  ) { query, name in
    CandleRequest(
      "/api/v5/market/history-candles?instId=\(query.instrument.venueSymbol)&bar=\(name)"
        + "&before=\(milliseconds(query.window.lowerBound) - 1)"
        + "&after=\(milliseconds(query.window.upperBound))&limit=300"
    )
  }

  /// History has no open interval; `candles`, which has, knows a month of minutes only, and answers for another time
  /// without a word. Plain days begin at 16:00 UTC. 20 requests a second.
  private static func bitget(
    _ names: [String], limit: Int, _ turnover: Column, _ path: String, startsAfter: Int64 = 0
  ) -> CandleFormat {
    CandleFormat(
      names: [CandleInterval: String](uniqueKeysWithValues: zip(CandleInterval.allCases, names)), rowLimit: limit,
      pace: 200 * Microseconds.millisecond, path: [.key("data")],
      layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume, turnover])
    ) { query, name in
      CandleRequest(
        "\(path)symbol=\(URLText.percentEncoded(query.instrument.venueSymbol))&granularity=\(name)"
          + "&startTime=\(milliseconds(query.window.lowerBound) - startsAfter)"
          + "&endTime=\(milliseconds(query.last))&limit=\(limit)")
    }
  }

  /// Which of the last two columns is in the quote currency is not certain.
  static let bitgetSpot = bitget(
    ["1min", "5min", "15min", "1h", "4h", "1Dutc"], limit: 200, .other, "/api/v2/spot/market/history-candles?")
  /// The start excludes its own interval. 90 days a request at most.
  static let bitgetContracts = bitget(
    ["1m", "5m", "15m", "1H", "4H", "1Dutc"], limit: 90, .quoteVolume,
    "/api/v2/mix/market/history-candles?productType=usdt-futures&", startsAfter: 1)

  /// The close is second. 30 requests a minute.
  static let bitfinex = CandleFormat(
    names: [.minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1h", .day: "1D"],
    rowLimit: 5_000, pace: 4 * Microseconds.second, path: [],
    layout: .array([.milliseconds, .open, .close, .high, .low, .baseVolume])
  ) { query, name in
    CandleRequest(
      "/v2/candles/trade:\(name):\(query.instrument.venueSymbol)/hist"
        + "?start=\(milliseconds(query.window.lowerBound))&end=\(milliseconds(query.last))&limit=5000")
  }

  /// Given both ends it forgets the first and counts rows back from the last, so that the limit is the window's. 400
  /// requests a second.
  static let bitstamp = CandleFormat(
    names: [
      .minute: "60", .fiveMinutes: "300", .quarterHour: "900", .hour: "3600", .fourHours: "14400", .day: "86400",
    ],
    rowLimit: 1_000, pace: 200 * Microseconds.millisecond, path: [.key("data"), .key("ohlc")],
    layout: .object([
      ("timestamp", .seconds), ("open", .open), ("high", .high), ("low", .low), ("close", .close),
      ("volume", .baseVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/api/v2/ohlc/\(query.instrument.venueSymbol)/?step=\(name)&limit=\(query.count)&end=\(seconds(query.last))"
        + "&exclude_current_candle=true")
  }

  /// Always the same newest intervals, whatever is asked for. One request a second is advised.
  static let gemini = CandleFormat(
    names: [.minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1hr", .day: "1day"],
    rowLimit: 2_015, pace: 2 * Microseconds.second,
    reach: { interval in
      switch interval {
      case .minute: 1_440
      case .fiveMinutes: 2_015
      case .quarterHour: 1_343
      case .hour: 1_463
      case .fourHours: nil
      case .day: 364
      }
    }, path: [],
    layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume])
  ) { query, name in
    let symbol = query.instrument.venueSymbol
    return CandleRequest(
      query.instrument.kind == .spot
        ? "/v2/candles/\(symbol)/\(name)" : "/v2/derivatives/candles/\(symbol.uppercased())/\(name)")
  }

  /// Both ends are included; the first interval was missing at times, so one more is asked for. Days begin at 08:00
  /// UTC. 20 requests a second.
  static let deribit = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60"],
    rowLimit: 4_900, pace: 250 * Microseconds.millisecond, path: [.key("result")],
    layout: .columns([
      ("ticks", .milliseconds), ("open", .open), ("high", .high), ("low", .low), ("close", .close),
      ("volume", .baseVolume), ("cost", .quoteVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/api/v2/public/get_tradingview_chart_data?instrument_name=\(query.instrument.venueSymbol)&resolution=\(name)"
        + "&start_timestamp=\(milliseconds(query.window.lowerBound - query.interval.length))"
        + "&end_timestamp=\(milliseconds(query.last))")
  }

  /// The newest 5,000 intervals. A page of 1,500 weighs 45 of 1,200 a minute.
  static let hyperliquid = CandleFormat(
    names: usual, rowLimit: 1_500, pace: 5 * Microseconds.second, reach: { _ in 5_000 }, path: [],
    layout: .object([
      ("t", .milliseconds), ("o", .open), ("h", .high), ("l", .low), ("c", .close), ("v", .baseVolume), ("n", .trades),
    ])
  ) { query, name in
    CandleRequest(
      "/info",
      body: #"{"type":"candleSnapshot","req":{"coin":"# + JSONText.quoted(query.instrument.venueSymbol)
        + #","interval":"\#(name)","startTime":\#(milliseconds(query.window.lowerBound)),"#
        + #""endTime":\#(milliseconds(query.last))}}"#)
  }

  /// Both ends are included, and the open is last. The newest 10,000 intervals; older ones are refused. 200 requests in
  /// 10 s.
  static let gate = CandleFormat(
    names: usual, rowLimit: 999, pace: 200 * Microseconds.millisecond, reach: { _ in 9_990 }, path: [],
    layout: .array([.seconds, .quoteVolume, .close, .high, .low, .open, .baseVolume, .closed("true")])
  ) { query, name in
    CandleRequest(
      "/api/v4/spot/candlesticks?currency_pair=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&from=\(seconds(query.window.lowerBound))&to=\(seconds(query.last))")
  }

  /// The close is second. Whether the end is included is not certain, so one more is asked for. Weight 3 of 2,000 in 30
  /// s.
  static let kuCoin = CandleFormat(
    names: [
      .minute: "1min", .fiveMinutes: "5min", .quarterHour: "15min", .hour: "1hour", .fourHours: "4hour", .day: "1day",
    ],
    rowLimit: 1_400, pace: 200 * Microseconds.millisecond, path: [.key("data")],
    layout: .array([.seconds, .open, .close, .high, .low, .baseVolume, .quoteVolume])
  ) { query, name in
    CandleRequest(
      "/api/v1/market/candles?symbol=\(query.instrument.venueSymbol)&type=\(name)"
        + "&startAt=\(seconds(query.window.lowerBound))&endAt=\(seconds(query.window.upperBound))")
  }
}
