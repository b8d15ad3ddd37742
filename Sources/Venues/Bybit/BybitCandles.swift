import MarketData

/// How Bybit is asked for candles.
enum BybitCandles {
  /// Both ends are included. 600 requests in 5 s.
  static let format = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60", .fourHours: "240", .day: "D"],
    rowLimit: 1_000, pace: 100 * Microseconds.millisecond, path: [.key("result"), .key("list")],
    layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume, .quoteVolume])
  ) { query, name in
    let category = query.instrument.kind == .spot ? "spot" : "linear"
    return CandleRequest(
      "/v5/market/kline?category=\(category)&symbol=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&start=\(query.window.lowerBound.milliseconds)&end=\(query.last.milliseconds)&limit=1000"
    )
  }
}
