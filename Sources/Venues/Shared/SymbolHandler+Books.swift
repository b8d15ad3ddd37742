import MarketData

/// What the handlers of several venues do with books.
extension SymbolHandler {
  /// Joins what `bridge` has kept to a snapshot at `id` that is not stale and whose levels stand in `batch` from `mark` on. Appends and
  /// counts the snapshot and every kept update that follows it. False if there is a hole among what was kept: the book has been
  /// reset, and another snapshot is wanted. O(kept).
  ///
  /// - Parameter isLinked: whether an update that follows vouches for the one before it, and is counted for that.
  final func join(
    _ bridge: inout SnapshotBridge, _ place: Int, at id: Int64, from mark: BatchMark, time: Timestamp,
    isLinked: Bool = true, into batch: inout EventBatch
  ) -> Bool {
    let instrument = InstrumentID(place)
    append(.snapshot, place, since: mark, time: time, into: &batch)
    var counts = seen[place]
    counts.snapshots += 1
    let whole = bridge.bridge(id) { verdict, update, updateBids, updateAsks in
      switch verdict {
      case .old:
        counts.dropped += 1
        return
      case .joined: counts.bridged += 1
      case .followed: counts.sequenceOK += isLinked ? 1 : 0
      case .buffered, .gap: return
      }
      let bidStart = batch.bids.count
      let askStart = batch.asks.count
      batch.bids.append(contentsOf: updateBids)
      batch.asks.append(contentsOf: updateAsks)
      batch.events.append(
        .book(
          BookEvent(
            instrument: instrument, kind: .delta, bidRange: bidStart..<batch.bids.count,
            askRange: askStart..<batch.asks.count, time: update.time)))
    }
    if !whole {
      counts.gaps += 1
      batch.events.append(.bookReset(instrument, .gap))
    }
    seen[place] = counts
    return whole
  }
}
