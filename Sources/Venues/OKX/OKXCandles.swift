import MarketData

/// How OKX is asked for candles.
enum OKXCandles {
  /// Neither end is included. The plain `1D` begins at 16:00 UTC. 20 requests in 2 s. A swap's first volume counts
  /// contracts.
  static let format = CandleFormat(
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
        + "&before=\(query.window.lowerBound.milliseconds - 1)"
        + "&after=\(query.window.upperBound.milliseconds)&limit=300"
    )
  }
}
