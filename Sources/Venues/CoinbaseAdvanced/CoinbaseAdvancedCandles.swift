import MarketData

/// How CoinbaseAdvanced is asked for candles.
enum CoinbaseAdvancedCandles {
  /// Spans of 350 intervals were refused. Ten requests a second.
  static let format = CandleFormat(
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
        + "&start=\(query.window.lowerBound.seconds)&end=\(query.last.seconds)&limit=300")
  }
}
