import MarketData

/// How Bitget is asked for candles.
enum BitgetCandles {
  /// History has no open interval; `candles`, which has, knows a month of minutes only, and answers for another time
  /// without a word. Plain days begin at 16:00 UTC. 20 requests a second.
  private static func bitget(
    _ names: [String], limit: Int, _ turnover: CandleFormat.Column, _ path: String, startsAfter: Int64 = 0
  ) -> CandleFormat {
    CandleFormat(
      names: [CandleInterval: String](uniqueKeysWithValues: zip(CandleInterval.allCases, names)), rowLimit: limit,
      pace: 200 * Microseconds.millisecond, path: [.key("data")],
      layout: .array([.milliseconds, .open, .high, .low, .close, .baseVolume, turnover])
    ) { query, name in
      CandleRequest(
        "\(path)symbol=\(URLText.percentEncoded(query.instrument.venueSymbol))&granularity=\(name)"
          + "&startTime=\(query.window.lowerBound.milliseconds - startsAfter)"
          + "&endTime=\(query.last.milliseconds)&limit=\(limit)")
    }
  }

  /// Which of the last two columns is in the quote currency is not certain.
  static let spot = bitget(
    ["1min", "5min", "15min", "1h", "4h", "1Dutc"], limit: 200, .other, "/api/v2/spot/market/history-candles?")
  /// The start excludes its own interval. 90 days a request at most.
  static let contracts = bitget(
    ["1m", "5m", "15m", "1H", "4H", "1Dutc"], limit: 90, .quoteVolume,
    "/api/v2/mix/market/history-candles?productType=usdt-futures&", startsAfter: 1)
}
