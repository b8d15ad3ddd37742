import MarketData

/// The venues that number an instrument's trades without holes, and how their REST is asked for those that are
/// missing.
extension TradePages {
  private static func seconds(_ time: Timestamp) -> Int64 { time.microseconds / Microseconds.second }

  /// Up to 1,000 trades after `since`, a time in ns that is itself left out, the oldest first. One request a second.
  static let kraken = TradePages(
    path: [.key("result"), .firstArray],
    layout: .array([.price, .size, .seconds, .side(buy: "b", sell: "s"), .other, .other, .id]), requestsPerMinute: 20
  ) { query in
    // The docs' times have digits below a µs, which are cut here.
    "/0/public/Trades?pair=\(query.instrument.venueSymbol)&since=\(query.from.microseconds - 1)000&count=1000"
  }

  /// Up to 1,000 trades before the cursor `after`, a trade's number, the newest first. `side` is the maker's. Ten
  /// requests a second.
  static let coinbase = TradePages(
    path: [],
    layout: .object([
      ("trade_id", .id), ("price", .price), ("size", .size), ("side", .side(buy: "sell", sell: "buy")),
      ("time", .time(.text)),
    ]), requestsPerMinute: 60
  ) { query in
    "/products/\(query.instrument.venueSymbol)/trades?limit=\(min(1_000, query.count))&after=\(query.last + 1)"
  }

  /// Up to 100 trades before the cursor `after`, a trade's number, the newest first. Where a message of the stream
  /// stands for several fills, each is a row here. Twenty requests in two seconds.
  static let okx = TradePages(
    path: [.key("data")],
    layout: .object([
      ("tradeId", .id), ("px", .price), ("sz", .size), ("side", .side(buy: "buy", sell: "sell")), ("ts", .time(.epoch)),
    ]), requestsPerMinute: 120
  ) { query in
    "/api/v5/market/history-trades?instId=\(query.instrument.venueSymbol)&type=1&after=\(query.last + 1)"
      + "&limit=\(min(100, query.count))"
  }

  private static let binance: Layout = .object([
    ("id", .id), ("price", .price), ("qty", .size), ("isBuyerMaker", .isBuyerMaker), ("time", .time(.epoch)),
  ])

  /// The newest 1,000 trades, which have nearly all that was missed a moment ago; if they do not, 1,000 from a number
  /// on. Each weighs 25 of 6,000 a minute.
  static let binanceSpot = TradePages(path: [], layout: binance, requestsPerMinute: 20) { query in
    let symbol = query.instrument.venueSymbol
    if query.attempt == 0 { return "/api/v3/trades?symbol=\(symbol)&limit=1000" }
    return "/api/v3/historicalTrades?symbol=\(symbol)&limit=\(min(1_000, query.count))&fromId=\(query.first)"
  }

  /// The newest 1,000 trades: older ones are for those with a key. Trades of the insurance fund are never among them.
  /// Weight 5 of 2,400 a minute.
  static let binanceFutures = TradePages(path: [], layout: binance, requestsPerMinute: 40) { query in
    "/fapi/v1/trades?symbol=\(query.instrument.venueSymbol)&limit=1000"
  }
}
