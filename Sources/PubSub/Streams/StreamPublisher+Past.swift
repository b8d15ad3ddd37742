import MarketData

/// What a publisher takes over from an earlier run.
extension StreamPublisher {
  /// Shows trades from before this run to those who join, unless there have been others since.
  /// - Parameter trades: of one instrument, oldest first.
  package func restore(_ trades: [Trade], market: Int) {
    guard let first = trades.first, market >= 0, market < markets.count,
      let instrument = markets[market].instrument(first.instrument), instrument.recentTrades.isEmpty
    else { return }
    for trade in trades { instrument.recentTrades.append(trade) }
  }

  /// How many trades of an instrument there have been, and the last of them, at most 50, oldest first.
  package func lastTrades(of id: InstrumentID, market: Int) -> (count: UInt64, trades: ArraySlice<Trade>) {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return (0, []) }
    return (instrument.recentTrades.appended, instrument.recentTrades.last(TradesChannel.recent))
  }

  /// The number of the same; O(1).
  package func tradeCount(of id: InstrumentID, market: Int) -> UInt64 {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return 0 }
    return instrument.recentTrades.appended
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
