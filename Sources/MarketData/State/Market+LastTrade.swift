extension Market {
  /// Takes over the last trade of an earlier run, if there has been none since. It is not new, so nothing is published.
  /// Returns whether it was used.
  package func restore(lastTrade trade: Trade) -> Bool {
    guard trade.instrument.index >= 0, trade.instrument.index < instruments.count, trade.price > 0, trade.size > 0
    else { return false }
    let state = instruments[trade.instrument.index]
    guard state.lastTrade == nil else { return false }
    state.lastTrade = trade
    // Where its minute was not restored, the venue's last trades may fill it.
    if state.chart.hasMinute(of: trade.time) { state.counted.restore(until: trade) }
    return true
  }

  /// How often instruments began new numbers.
  package var renumberingCount: Int { renumberings.count }

  /// Beginnings of new numbers since the last call, in order; beyond 16, later ones are left out.
  package func takeRenumberings() -> [Renumbering] { renumberings.take() }
}
