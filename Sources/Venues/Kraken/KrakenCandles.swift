import MarketData

/// How Kraken is asked for candles.
enum KrakenCandles {
  /// The newest 720 intervals, whatever is asked for, and the open one after them. One request a second.
  static let format = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60", .fourHours: "240", .day: "1440"],
    rowLimit: 720, pace: 2 * Microseconds.second, reach: { _ in 720 }, path: [.key("result"), .firstArray],
    layout: .array([.seconds, .open, .high, .low, .close, .other, .baseVolume, .trades])
  ) { query, name in
    // Whether `since` itself is included is not certain.
    CandleRequest(
      "/0/public/OHLC?pair=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&since=\((query.window.lowerBound - query.interval.length).seconds)")
  }
}
