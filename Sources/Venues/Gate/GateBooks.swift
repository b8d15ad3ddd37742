import Bytes
import MarketData

/// Gate's books out of sync: the streamed one is subscribed again, the bridged one gets another REST snapshot.
extension GateHandler {
  /// The streamed book has a hole.
  func lost(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), reason))
    tick(now: now, into: &batch)
  }

  /// The bridged book, which was live, is out of sync.
  func lostBridged(_ place: Int, now: Timestamp) {
    guard isConnected else { return }
    pacer.lost(place, now: now)
    pump(now)
  }

  /// The bridged book wants its first snapshot.
  func wantSnapshot(_ place: Int, now: Timestamp) {
    guard isConnected else { return }
    pacer.want(place)
    pump(now)
  }

  func pump(_ now: Timestamp) {
    while let (place, request) = pacer.next(now: now) {
      guard feeds[place].isBridged, feeds[place].isCarried, !feeds[place].bridge.isLive else {
        _ = pacer.answered(request)
        continue
      }
      let symbol = BinanceHandler.percentEncoded(name(place))
      actions.append(
        .get(
          request: request,
          path: "/api/v4/spot/order_book?currency_pair=\(symbol)&limit=\(Self.snapshotLimit)&with_id=true",
          bodyLimit: Self.snapshotBodyLimit))
    }
  }

  func takeSnapshot(_ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].isBridged, !feeds[place].bridge.isLive else { return pacer.succeeded(place) }
    guard status == 200 else { return pacer.failed(place, status: status, retryAfter: retryAfter, now: now) }
    var mark = BatchMark(batch)
    guard let id = snapshot(body, place, from: &mark, into: &batch) else {
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    guard !feeds[place].bridge.isStale(id) else {
      mark.rewind(&batch)
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    feeds[place].isHeard = true
    if join(&feeds[place].bridge, place, at: id, from: mark, time: now, into: &batch) {
      pacer.succeeded(place)
    } else {
      pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
  }
}

extension SequenceRule {
  /// Gate, "How to maintain local order book": drop `u <= id`; first `U <= id+1 <= u`; then `U == last+1`. Numbers rise by one with every
  /// change of a book.
  static let gate = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.first <= snapshot &+ 1 && update.last >= snapshot &+ 1 },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.first == last &+ 1 })
}
