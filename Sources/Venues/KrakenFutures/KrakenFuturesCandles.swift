import MarketData

/// How Kraken Futures is asked for candles.
enum KrakenFuturesCandles {
  /// Times of a request are seconds, those of rows milliseconds. The number of rows is not documented; clients ask for
  /// 2,000 and more. Whether the end is included is not certain, so it is the last second that is wanted.
  static let format = CandleFormat(
    names: CandleFormat.usual, rowLimit: 1_000, pace: 250 * Microseconds.millisecond, path: [.key("candles")],
    layout: .object([
      ("time", .milliseconds), ("open", .open), ("high", .high), ("low", .low), ("close", .close),
      ("volume", .baseVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/api/charts/v1/trade/\(query.instrument.venueSymbol)/\(name)?from=\(query.window.lowerBound.seconds)"
        + "&to=\(query.window.upperBound.seconds - 1)")
  }
}
