import MarketData

/// How Crypto.com is asked for candles.
enum CryptoComCandles {
  /// Whether either end of the window is included is not certain: it lies between two candles on both sides. 300 rows
  /// at most, 100 requests a second.
  static let format = CandleFormat(
    names: [
      .minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1h", .fourHours: "4h", .day: "1D",
    ],
    rowLimit: 300, pace: 200 * Microseconds.millisecond, path: [.key("result"), .key("data")],
    layout: .object([
      ("t", .milliseconds), ("o", .open), ("h", .high), ("l", .low), ("c", .close), ("v", .baseVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/exchange/v1/public/get-candlestick?instrument_name=\(query.instrument.venueSymbol)&timeframe=\(name)"
        + "&start_ts=\(query.window.lowerBound.milliseconds - 1)&end_ts=\(query.window.upperBound.milliseconds - 1)"
        + "&count=300")
  }
}
