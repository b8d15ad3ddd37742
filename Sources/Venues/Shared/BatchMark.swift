import MarketData

/// How far a batch was filled, to take back what came after.
struct BatchMark {
  let events: Int
  let bids: Int
  let asks: Int
  let instruments: Int

  init(_ batch: borrowing EventBatch) {
    events = batch.events.count
    bids = batch.bids.count
    asks = batch.asks.count
    instruments = batch.instruments.count
  }

  /// Takes back the levels of what is not applied.
  func dropLevels(_ batch: inout EventBatch) {
    if batch.bids.count > bids { batch.bids.removeLast(batch.bids.count - bids) }
    if batch.asks.count > asks { batch.asks.removeLast(batch.asks.count - asks) }
  }

  func rewind(_ batch: inout EventBatch) {
    batch.events.removeSubrange(events...)
    batch.bids.removeSubrange(bids...)
    batch.asks.removeSubrange(asks...)
    batch.instruments.removeSubrange(instruments...)
  }
}

extension EventBatch {
  /// Appends the event of a book whose levels are all that stands here since `mark`.
  mutating func appendBook(
    _ kind: BookEvent.Kind, _ place: Int, since mark: BatchMark, time: Timestamp, checksum: UInt32? = nil
  ) {
    events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: kind, bidRange: mark.bids..<bids.count,
          askRange: mark.asks..<asks.count, time: time, checksum: checksum)))
  }
}
