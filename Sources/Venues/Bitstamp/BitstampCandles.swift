import MarketData

/// How Bitstamp is asked for candles.
enum BitstampCandles {
  /// Given both ends it forgets the first and counts rows back from the last, so that the limit is the window's. 400
  /// requests a second.
  static let format = CandleFormat(
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
      "/api/v2/ohlc/\(query.instrument.venueSymbol)/?step=\(name)&limit=\(query.count)&end=\(query.last.seconds)"
        + "&exclude_current_candle=true")
  }
}
