/// Whether trades are missing between those of an earlier run and those of this one.
package enum TradeJunction: Sendable, Equatable {
  /// None is missing until this moment of the gateway's clock.
  case joined(at: Timestamp)
  /// Some may be missing.
  case gap
}

extension Market {
  /// The time of a trade as charts have it: to the millisecond, so that the last trade and the last price of a line
  /// always match.
  static func chartTime(_ time: Timestamp) -> Timestamp {
    Timestamp(milliseconds: floorDivide(time.rawValue, Microseconds.millisecond))
  }

  /// Adds held trades to the charts, after the bridge has decided that they are new. O(trades).
  func count(_ trades: [Trade], in state: InstrumentState) {
    guard !trades.isEmpty else { return }
    // None of them came later than the last events.
    let now = lastHeard
    state.revision.raise(.figures)
    for trade in trades {
      let time = Self.chartTime(min(trade.time, now + Self.clockTolerance))
      // A restored candle has it.
      if trade.isBacklog, state.chart.hasWholeMinute(of: time) { continue }
      if state.chart.add(price: trade.price, size: trade.size, time: time, now: now) {
        scheduleReissue(state, now: now)
      }
    }
  }

  /// The minutes of an instrument that have not closed; see `Chart.openMinutes`. O(1).
  package func openMinutes(of id: InstrumentID, now: Timestamp) -> [OpenMinute] {
    guard instruments.indices.contains(id.index) else { return [] }
    return instruments[id.index].chart.openMinutes(of: id, now: now)
  }

  /// Continues the minutes that an earlier run left open; see `Chart.restore(open:)`. Call it before `bridge(after:)`.
  /// Returns how many were used. O(minutes of a day).
  @discardableResult
  package func restore(
    open minutes: [OpenMinute], observed: TimeSpan?, of id: InstrumentID, now: Timestamp,
    into changes: inout MarketChanges
  ) -> Int {
    guard instruments.indices.contains(id.index) else { return 0 }
    let state = instruments[id.index]
    let restored = state.chart.restore(open: minutes, observed: observed, of: id, now: now)
    if restored > 0 || observed != nil {
      state.revision.raise(.figures)
      if nextRoll == .distantFuture { startClock(now: now) }
      changes.items.append(.past(id))
    }
    return restored
  }

  /// Marks the time between two runs as observed, because no trade of it is missing (`InstrumentState.junction`).
  /// Closed candles of that time are published again. O(minutes of the time, at most those of a day).
  package func join(_ span: TimeSpan, of id: InstrumentID, now: Timestamp) {
    guard instruments.indices.contains(id.index), span.from < span.to else { return }
    let state = instruments[id.index]
    state.revision.raise(.figures)
    if state.chart.join(span) { scheduleReissue(state, now: now) }
  }
}
