import MarketData

/// What the data file must know about the observation of an instrument, besides its candles: since when it is observed,
/// and whether trades are missing between the run before and this one.
///
/// It goes into the same transaction as the last trades: a later run that continues after those trades decides by it
/// which gap they end.
package struct ObservationNews {
  private var isObserved = false
  /// Whether the data file has the instrument, and nothing has been noted yet of how the two runs join.
  private var isJoining = false
  /// When the run before ceased to observe the instrument; nil if that is not known.
  private var pastEnd: Timestamp?

  package init() {}

  /// The data file has the instrument.
  package mutating func expectPast() { isJoining = true }

  /// The past is there. Call it before the market begins.
  package mutating func begin(after end: Timestamp?) { pastEnd = end }

  /// Appends what has changed since the last call. Returns whether an observation has begun.
  package mutating func take(
    _ market: Market, _ id: InstrumentID, as symbol: String, now: Timestamp, into batch: inout HistoryBatch
  ) -> Bool {
    let state = market[id]
    // A connection may have been lost and made again in the meantime.
    if let end = market.takeInterruption(of: id), isObserved {
      isObserved = false
      batch.observations.append(.init(symbol: symbol, time: end, isObserved: false))
    }
    let isBeginning = state.chart.isObserved && !isObserved
    if isBeginning {
      isObserved = true
      batch.observations.append(.init(symbol: symbol, time: now, isObserved: true))
    }
    if isJoining, let junction = state.junction {
      isJoining = false
      join(junction, market, id, as: symbol, now: now, into: &batch)
    }
    return isBeginning
  }

  private func join(
    _ junction: TradeJunction, _ market: Market, _ id: InstrumentID, as symbol: String, now: Timestamp,
    into batch: inout HistoryBatch
  ) {
    switch junction {
    case .gap:
      // The next run continues after the trades of this one, and ends the gap from here on only.
      if !isObserved { batch.divideGap(of: symbol, at: now) }
    case .joined(let time):
      guard let pastEnd else { return }
      // Without observation, trades that were under way then may still be missing.
      let end = isObserved ? now : time - Chart.grace
      market.join(TimeSpan(from: pastEnd, to: end), of: id, now: now)
      batch.junctions.append(.init(symbol: symbol, start: pastEnd, end: end))
    }
  }
}
