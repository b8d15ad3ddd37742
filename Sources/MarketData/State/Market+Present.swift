/// What a market is taken over with, and what it shows to one who takes it over.
extension Market {
  /// Appends what there is as changes, for a reader that has followed none of them: every instrument, and the state of
  /// its book. O(instruments).
  package func appendPresent(to changes: inout MarketChanges) {
    for state in instruments {
      let id = state.instrument.id
      changes.items.append(.instrument(id))
      guard state.bookState != .absent else { continue }
      changes.items.append(.bookState(id, state.bookState))
      if state.bookState == .live { changes.items.append(.bookSnapshot(id)) }
    }
  }

  /// Takes over the last trade that an earlier run saw, if there has been none since. It is no news: nothing is
  /// published. Returns whether it was of use.
  package func restore(lastTrade trade: Trade) -> Bool {
    guard trade.instrument.index >= 0, trade.instrument.index < instruments.count, trade.price > 0, trade.size > 0
    else { return false }
    let state = instruments[trade.instrument.index]
    guard state.lastTrade == nil else { return false }
    state.lastTrade = trade
    return true
  }
}
