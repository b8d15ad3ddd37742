import Bytes
import MarketData

/// What the handlers of several venues do with books.
extension SymbolHandler {
  /// Reads the snapshot of a book by REST, at scales that are widened as it wants them. Nil if it cannot be read: the
  /// reason is kept.
  /// - Parameter mark: behind it the snapshot's levels stand.
  /// - Returns: the number or time that the snapshot stands at.
  final func snapshot(
    _ body: RawSpan, _ place: Int, from mark: inout BatchMark, into batch: inout EventBatch
  ) -> Int64? {
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        return try readSnapshot(body, place, into: &batch)
      } catch {
        mark.rewind(&batch)
        guard widenIfNeeded(into: &batch) else {
          rejectAnswer(error)
          return nil
        }
        mark = BatchMark(batch)
      }
    }
    rejectAnswer(FeedError(.decimal, "snapshot of a book: scales that were widened 32 times do not do"))
    return nil
  }

  /// Joins what `bridge` has kept to a snapshot at `id` that is not stale and whose levels stand in `batch` from
  /// `mark` on. Appends and counts the snapshot and every kept update that follows it. False if there is a hole among
  /// what was kept: the book has been reset, and another snapshot is wanted. O(kept).
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
