import MarketData

/// How Binance is asked for candles.
enum BinanceCandles {
  private static let binanceRow = CandleFormat.Layout.array([
    .milliseconds, .open, .high, .low, .close, .baseVolume, .other, .quoteVolume, .trades,
  ])
  private static func binance(_ path: String, limit: Int, pace: Int64) -> CandleFormat {
    CandleFormat(names: CandleFormat.usual, rowLimit: limit, pace: pace, path: [], layout: binanceRow) { query, name in
      CandleRequest(
        "\(path)?symbol=\(query.instrument.venueSymbol)&interval=\(name)"
          + "&startTime=\(query.window.lowerBound.milliseconds)&endTime=\(query.last.milliseconds)&limit=\(limit)"
      )
    }
  }

  /// Both ends are included. Weight 2 of 6,000 a minute: a fifth of it is used, as books need the rest.
  static let spot = binance("/api/v3/klines", limit: 1_000, pace: 100 * Microseconds.millisecond)
  /// Up to 499 rows weigh 2 of 2,400 a minute, the least for a row. A quarter of it is used.
  static let futures = binance("/fapi/v1/klines", limit: 499, pace: 200 * Microseconds.millisecond)
}
