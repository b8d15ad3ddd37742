import MarketData

/// How Deribit is asked for candles.
enum DeribitCandles {
  /// Both ends are included; the first interval was missing at times, so one more is asked for. Days begin at 08:00
  /// UTC. 20 requests a second.
  static let format = CandleFormat(
    names: [.minute: "1", .fiveMinutes: "5", .quarterHour: "15", .hour: "60"],
    rowLimit: 4_900, pace: 250 * Microseconds.millisecond, path: [.key("result")],
    layout: .columns([
      ("ticks", .milliseconds), ("open", .open), ("high", .high), ("low", .low), ("close", .close),
      ("volume", .baseVolume), ("cost", .quoteVolume),
    ])
  ) { query, name in
    CandleRequest(
      "/api/v2/public/get_tradingview_chart_data?instrument_name=\(query.instrument.venueSymbol)&resolution=\(name)"
        + "&start_timestamp=\((query.window.lowerBound - query.interval.length).milliseconds)"
        + "&end_timestamp=\(query.last.milliseconds)")
  }
}
