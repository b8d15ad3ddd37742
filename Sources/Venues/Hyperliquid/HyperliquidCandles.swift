import MarketData

/// How Hyperliquid is asked for candles.
enum HyperliquidCandles {
  /// The newest 5,000 intervals. A page of 1,500 weighs 45 of 1,200 a minute.
  static let format = CandleFormat(
    names: CandleFormat.usual, rowLimit: 1_500, pace: 5 * Microseconds.second, reach: { _ in 5_000 }, path: [],
    layout: .object([
      ("t", .milliseconds), ("o", .open), ("h", .high), ("l", .low), ("c", .close), ("v", .baseVolume), ("n", .trades),
    ])
  ) { query, name in
    CandleRequest(
      "/info",
      body: #"{"type":"candleSnapshot","req":{"coin":"# + JSONQuoting.quoted(query.instrument.venueSymbol)
        + #","interval":"\#(name)","startTime":\#(query.window.lowerBound.milliseconds),"#
        + #""endTime":\#(query.last.milliseconds)}}"#)
  }
}
