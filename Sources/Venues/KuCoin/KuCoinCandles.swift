import MarketData

/// How KuCoin is asked for candles.
enum KuCoinCandles {
  /// The close is second. Whether the end is included is not certain, so one more is asked for. Weight 3 of 2,000 in 30
  /// s.
  static let format = CandleFormat(
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
}
