import MarketData

/// How Coinbase is asked for candles.
enum CoinbaseCandles {
  /// Both ends are included, and at most 300 intervals lie between them. Ten requests a second.
  static let format = CandleFormat(
    names: [.minute: "60", .fiveMinutes: "300", .quarterHour: "900", .hour: "3600", .day: "86400"],
    rowLimit: 300, pace: 200 * Microseconds.millisecond, path: [],
    layout: .array([.seconds, .low, .high, .open, .close, .baseVolume])
  ) { query, name in
    CandleRequest(
      "/products/\(query.instrument.venueSymbol)/candles?granularity=\(name)"
        + "&start=\(CandleFormat.text(query.window.lowerBound))&end=\(CandleFormat.text(query.last))")
  }
}
