import MarketData

/// What a publisher takes over from an earlier run.
extension StreamPublisher {
  /// Shows a trade from before this run to those who join, unless there have been others since.
  package func restore(_ trade: Trade, market: Int) {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(trade.instrument),
      instrument.recentTrades.isEmpty
    else { return }
    instrument.recentTrades.append(trade)
  }

  /// Whether somebody subscribes to a stream of an instrument.
  package func hasSubscribers(of id: InstrumentID, market: Int) -> Bool {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return false }
    return instrument.hasStreams
  }
}

extension PublishedInstrument {
  var hasStreams: Bool {
    !(trades.isEmpty && quotes.isEmpty && tickers.isEmpty && pulses.isEmpty && books.isEmpty && sparklines.isEmpty)
  }
}
