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
  func count(_ trades: [Trade], of bridge: TradeBridge, in state: InstrumentState) {
    guard !trades.isEmpty else { return }
    // None of them came later than the last events.
    let now = lastHeard
    state.revision.raise(.figures)
    for trade in bridge.uncharted(trades) {
      let time = Self.chartTime(min(trade.time, now + Self.clockTolerance))
      // A restored candle has it.
      if trade.isBacklog, state.chart.hasWholeMinute(of: time) { continue }
      if state.chart.add(price: trade.price, size: trade.size, time: time, now: now) {
        scheduleReissue(state, now: now)
      }
    }
  }

  /// Takes over the last trade of an earlier run, if there has been none since. It is not new, so nothing is published.
  /// Returns whether it was used.
  package func restore(lastTrade trade: Trade) -> Bool {
    guard trade.instrument.index >= 0, trade.instrument.index < instruments.count, trade.price > 0, trade.size > 0
    else { return false }
    let state = instruments[trade.instrument.index]
    state.bridge?.restore(until: trade)
    guard state.lastTrade == nil else { return false }
    state.lastTrade = trade
    // Where its minute was not restored, the venue's last trades may fill it.
    if state.chart.hasMinute(of: trade.time) { state.counted.restore(until: trade) }
    return true
  }

  /// When the observation of an instrument has ended since the last call, even if it has begun again; nil if it has
  /// not. O(1).
  package func takeInterruption(of id: InstrumentID) -> Timestamp? {
    guard instruments.indices.contains(id.index) else { return nil }
    return instruments[id.index].chart.takeInterruption()
  }

  /// The minutes of an instrument that the next run may complete; see `Chart.openMinutes`. O(1).
  package func openMinutes(of id: InstrumentID, now: Timestamp) -> [OpenMinute] {
    guard instruments.indices.contains(id.index) else { return [] }
    return instruments[id.index].chart.openMinutes(of: id, now: now)
  }

  /// The closed minutes of an instrument that late trades have changed since they were issued; see
  /// `Chart.unissuedMinutes`. O(1) if there is none.
  package func unissuedMinutes(of id: InstrumentID, now: Timestamp) -> [Candle] {
    guard instruments.indices.contains(id.index) else { return [] }
    return instruments[id.index].chart.unissuedMinutes(of: id, now: now)
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

extension Market {
  /// Continues after the last trades that an earlier run has published, if `bridgesTrades` is true. Those trades are
  /// not published again. The venue's trades of the time in between are published as `.trades`, although they are
  /// backlog. If some may be missing, `.tradeGap` precedes them.
  ///
  /// - Parameters:
  ///   - told: the published trades, oldest first, at the instrument's scales; if empty, none are known, and trades may
  ///     be missing.
  ///   - isCounted: whether the venue numbers the instrument's trades without gaps.
  package func bridge(after told: [Trade], isCounted: Bool, of id: InstrumentID, into changes: inout MarketChanges) {
    guard id.index >= 0, id.index < instruments.count else { return }
    let state = instruments[id.index]
    state.bridge?.begin(after: told, isCounted: isCounted)
    if state.bridge != nil { cross(state, into: &changes) }
  }

  /// Publishes the held trades of an instrument without an earlier run.
  package func beginWithoutPast(of id: InstrumentID, into changes: inout MarketChanges) {
    guard id.index >= 0, id.index < instruments.count, let bridge = instruments[id.index].bridge else { return }
    let state = instruments[id.index]
    state.bridge = nil
    state.junction = .gap
    count(bridge.held, of: bridge, in: state)
    missDropped(of: bridge, in: state)
    append(bridge.held.filter { !$0.isBacklog }, of: id, into: &changes)
  }

  /// Marks the time of trades that found no room in the bridge, and that no other run has.
  private func missDropped(of bridge: TradeBridge, in state: InstrumentState) {
    guard let dropped = bridge.dropped else { return }
    let end = min(dropped.to, lastHeard)
    if state.chart.miss(TimeSpan(from: min(dropped.from, end), to: end)) { scheduleReissue(state, now: lastHeard) }
  }

  /// Publishes those of the received trades that the bridge decides to publish.
  func cross(_ state: InstrumentState, into changes: inout MarketChanges) {
    guard let crossing = state.bridge?.cross(), let bridge = state.bridge else { return }
    state.bridge = nil
    let id = state.instrument.id
    var news = crossing.news.map { bridge.held[$0] }
    state.junction = crossing.hasGap ? .gap : .joined(at: lastHeard)
    count(news, of: bridge, in: state)
    guard crossing.hasGap else { return append(news, of: id, into: &changes) }
    missDropped(of: bridge, in: state)
    if !news.isEmpty {
      news[0].breakBefore = crossing.isRenumbered ? .renumbered : .gap
      if crossing.isRenumbered, let last = bridge.last { renumberings.note(id, before: last, after: news[0].id) }
    }
    let start = changes.trades.count
    changes.trades += news.filter(\.isBacklog)
    changes.items.append(.tradeGap(id, start..<changes.trades.count))
    append(news.filter { !$0.isBacklog }, of: id, into: &changes)
  }

  /// How often instruments began new numbers.
  package var renumberingCount: Int { renumberings.count }

  /// Beginnings of new numbers since the last call, in order; beyond 16, later ones are left out.
  package func takeRenumberings() -> [Renumbering] { renumberings.take() }

  private func append(_ trades: [Trade], of id: InstrumentID, into changes: inout MarketChanges) {
    guard !trades.isEmpty else { return }
    let start = changes.trades.count
    changes.trades += trades
    changes.items.append(.trades(id, start..<changes.trades.count))
  }
}
