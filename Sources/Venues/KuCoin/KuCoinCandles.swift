import MarketData

/// How KuCoin is asked for candles.
enum KuCoinCandles {
  /// The close is second. Whether the end is included is not certain, so one more is asked for. Weight 3 of 2,000 in 30
  /// s.
  static let spot = CandleFormat(
    names: [
      .minute: "1min", .fiveMinutes: "5min", .quarterHour: "15min", .hour: "1hour", .fourHours: "4hour", .day: "1day",
    ],
    rowLimit: 1_400, pace: 200 * Microseconds.millisecond, path: [.key("data")],
    layout: .array([.seconds, .open, .close, .high, .low, .baseVolume, .quoteVolume])
  ) { query, name in
    CandleRequest(
      "/api/v1/market/candles?symbol=\(query.instrument.venueSymbol)&type=\(name)"
        + "&startAt=\(query.window.lowerBound.seconds)&endAt=\(query.window.upperBound.seconds)"
    )
  }

  /// Volumes are in lots, and times in ms. Both ends are given, and an answer has 500 rows at most. Weight 3 of 2,000
  /// in 30 s.
  static let futures = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60", .fourHours: "240", .day: "1440"],
    rowLimit: 200, pace: 200 * Microseconds.millisecond, path: [.key("data")],
    layout: .array([.milliseconds, .open, .high, .low, .close, .contracts])
  ) { query, name in
    CandleRequest(
      "/api/v1/kline/query?symbol=\(query.instrument.venueSymbol)&granularity=\(name)"
        + "&from=\(query.window.lowerBound.milliseconds)&to=\(query.last.milliseconds)")
  }
}
