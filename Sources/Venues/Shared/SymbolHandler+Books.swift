import MarketData

/// What the handlers of several venues do with books.
extension SymbolHandler {
  /// Reads a side of a book as most venues print it: `[["price","size"],…]`, with whatever else stands in a level; null is no level.
  /// O(levels).
  final func readPairs(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, into levels: inout [PriceLevel]
  ) throws(FeedError) {
    reader.field = field
    if try reader.null() { return }
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.arrayStart()
      guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
      let price = try price(&reader, place, field)
      guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
      let size = try size(&reader, place, field)
      while try reader.nextElement() { try reader.skipValue() }
      levels.append(PriceLevel(price: price, size: size))
    }
  }

  /// Joins what `bridge` has kept to a snapshot at `id` that is not stale and whose levels stand in `batch` from `mark` on. Appends and
  /// counts the snapshot and every kept update that follows it. False if there is a hole among what was kept: the book has been
  /// reset, and another snapshot is wanted. O(kept).
  final func join(
    _ bridge: inout SnapshotBridge, _ place: Int, at id: Int64, from mark: BatchMark, time: Timestamp,
    into batch: inout EventBatch
  ) -> Bool {
    let instrument = InstrumentID(place)
    let bids = mark.bids..<batch.bids.count
    let asks = mark.asks..<batch.asks.count
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    batch.events.append(
      .book(BookEvent(instrument: instrument, kind: .snapshot, bidRange: bids, askRange: asks, time: time)))
    var counts = seen[place]
    counts.snapshots += 1
    let whole = bridge.bridge(id) { verdict, update, updateBids, updateAsks in
      switch verdict {
      case .old:
        counts.dropped += 1
        return
      case .joined: counts.bridged += 1
      case .followed: counts.sequenceOK += 1
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
