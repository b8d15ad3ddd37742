import MarketData

/// How Bitfinex is asked for candles.
enum BitfinexCandles {
  /// The close is second. 30 requests a minute.
  static let format = CandleFormat(
    names: [.minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1h", .day: "1D"],
    rowLimit: 5_000, pace: 4 * Microseconds.second, path: [],
    layout: .array([.milliseconds, .open, .close, .high, .low, .baseVolume])
  ) { query, name in
    CandleRequest(
      "/v2/candles/trade:\(name):\(query.instrument.venueSymbol)/hist"
        + "?start=\(query.window.lowerBound.milliseconds)&end=\(query.last.milliseconds)&limit=5000"
    )
  }
}
