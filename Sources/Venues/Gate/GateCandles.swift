import MarketData

/// How Gate is asked for candles.
enum GateCandles {
  /// Both ends are included, and the open is last. The newest 10,000 intervals; older ones are refused. 200 requests in
  /// 10 s.
  static let format = CandleFormat(
    names: CandleFormat.usual, rowLimit: 999, pace: 200 * Microseconds.millisecond, reach: { _ in 9_990 }, path: [],
    layout: .array([.seconds, .quoteVolume, .close, .high, .low, .open, .baseVolume, .closed("true")])
  ) { query, name in
    CandleRequest(
      "/api/v4/spot/candlesticks?currency_pair=\(query.instrument.venueSymbol)&interval=\(name)"
        + "&from=\(query.window.lowerBound.seconds)&to=\(query.last.seconds)")
  }
}
