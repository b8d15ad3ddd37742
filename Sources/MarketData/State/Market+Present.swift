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
}
