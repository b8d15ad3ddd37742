import MarketData

/// How far a batch was filled, to take back what came after.
struct BatchMark {
  let events: Int
  let bids: Int
  let asks: Int
  let instruments: Int
  let derivatives: Int

  init(_ batch: borrowing EventBatch) {
    events = batch.events.count
    bids = batch.bids.count
    asks = batch.asks.count
    instruments = batch.instruments.count
    derivatives = batch.derivatives.count
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
    batch.derivatives.removeSubrange(derivatives...)
  }
}

extension EventBatch {
  /// Appends the event of a book whose levels are all that stands here since `mark`.
  mutating func appendBook(
    _ kind: BookEvent.Kind, _ index: Int, since mark: BatchMark, time: Timestamp, checksum: UInt32? = nil
  ) {
    events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(index), kind: kind, bidRange: mark.bids..<bids.count,
          askRange: mark.asks..<asks.count, time: time, checksum: checksum)))
  }

  /// Puts the trades that stand here from an index on into the order of execution, whatever their order in a message:
  /// by time, and by number where that is the same. Nothing is allocated where it is that order or the other way round.
  mutating func orderTrades(from first: Int) {
    guard events.count - first > 1 else { return }
    if Self.order(events[first]) > Self.order(events[events.count - 1]) {
      var (low, high) = (first, events.count - 1)
      while low < high {
        events.swapAt(low, high)
        low += 1
        high -= 1
      }
    }
    for index in (first + 1)..<events.count where Self.order(events[index]) < Self.order(events[index - 1]) {
      return events[first...].sort { Self.order($0) < Self.order($1) }
    }
  }

  private static func order(_ event: MarketEvent) -> (Timestamp, UInt64) {
    if case .trade(let trade) = event { (trade.time, trade.id.number ?? 0) } else { (.distantPast, 0) }
  }
}
