import MarketData

/// How Gemini is asked for candles.
enum GeminiCandles {
  /// Always the same newest intervals, whatever is asked for. One request a second is advised.
  static let format = CandleFormat(
    names: [.minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1hr", .day: "1day"],
    rowLimit: 2_015, pace: 2 * Microseconds.second,
    reach: { interval in
      switch interval {
      case .minute: 1_440
      case .fiveMinutes: 2_015
      case .quarterHour: 1_343
      case .hour: 1_463
      case .fourHours: nil
      case .day: 364
      }
    }, path: [],
    layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume])
  ) { query, name in
    let symbol = query.instrument.venueSymbol
    return CandleRequest(
      query.instrument.kind == .spot
        ? "/v2/candles/\(symbol)/\(name)" : "/v2/derivatives/candles/\(symbol.uppercased())/\(name)")
  }
}
