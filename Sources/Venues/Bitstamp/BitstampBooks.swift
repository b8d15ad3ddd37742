import MarketData

/// A book that is renewed while it goes on: what came since the request.
struct BitstampRenewal {
  let place: Int
  /// The newest update at the request, µs.
  let floor: Int64
  var bridge = SnapshotBridge(rule: .bitstamp)
  var kept = 0
}

/// Bitstamp's books: updates that have a time and nothing else, joined to snapshots that are asked for by REST, and
/// renewed.
extension BitstampHandler {
  /// An update at `time` with the levels that stand in the batch since `mark`.
  func update(_ place: Int, at time: Int64, since mark: BatchMark, now: Timestamp, into batch: inout EventBatch) {
    let bids = mark.bids..<batch.bids.count
    let asks = mark.asks..<batch.asks.count
    seen[place].deltas += 1
    let numbers = UpdateNumbers(first: time, last: time)
    let venueTime = Timestamp(microseconds: time)
    let verdict = feeds[place].bridge.receive(
      numbers, bids: batch.bids[bids], asks: batch.asks[asks], time: venueTime)
    if renewing?.place == place { keepForRenewal(numbers, batch.bids[bids], batch.asks[asks], venueTime, now) }
    if let unfollowed = feeds[place].unfollowed, time >= unfollowed.time { feeds[place].unfollowed = nil }
    if verdict == .joined || verdict == .followed {
      append(.delta, place, since: mark, time: venueTime, into: &batch)
    } else {
      note(place, batch.bids[bids])
      note(place, batch.asks[asks])
      mark.dropLevels(&batch)
    }
    switch verdict {
    case .joined: seen[place].bridged += 1
    case .followed: break
    case .old: seen[place].dropped += 1
    case .buffered:
      if feeds[place].floor == nil { feeds[place].floor = time }
      pacer.want(place, notBefore: now + Self.snapshotDelay)
    case .gap:
      // It came late, or what was between it and the last one never did.
      seen[place].gaps += 1
      feeds[place].newest = max(feeds[place].newest, time)
      lose(place, .gap, wasLive: true, now: now, into: &batch)
      return
    }
    feeds[place].newest = max(feeds[place].newest, time)
  }

  /// A trade: what it took is missing in the book from then on, and the next update says so.
  func traded(_ place: Int, at time: Timestamp?, now: Timestamp) {
    guard let time, feeds[place].bridge.isLive, feeds[place].unfollowed == nil,
      time.microseconds > feeds[place].newest
    else { return }
    feeds[place].unfollowed = (time.microseconds, now)
  }

  private func keepForRenewal(
    _ numbers: UpdateNumbers, _ bids: ArraySlice<PriceLevel>, _ asks: ArraySlice<PriceLevel>, _ time: Timestamp,
    _ now: Timestamp
  ) {
    guard var renewal = renewing.take() else { return }
    _ = renewal.bridge.receive(numbers, bids: bids, asks: asks, time: time)
    renewal.kept += 1
    // More than is kept: the renewal is off, and the book goes on as it was.
    if renewal.bridge.updates.count == renewal.kept {
      renewing = renewal
    } else {
      feeds[renewal.place].renewDue = now + Self.firstRenewal
    }
  }

  /// Takes a book out of sync, whether it is live or waits for a snapshot: what has been kept is of no use.
  func lose(
    _ place: Int, _ reason: ResyncReason, wasLive: Bool, now: Timestamp, into batch: inout EventBatch
  ) {
    restart(place, wasLive: wasLive, now: now)
    batch.events.append(.bookReset(InstrumentID(place), reason))
  }

  /// What was lost is of a time that is not known: the book is as if it had just been subscribed.
  func beginAnew(_ place: Int, now: Timestamp) {
    feeds[place].newest = 0
    feeds[place].floor = nil
    feeds[place].begun = now
    feeds[place].attempts = 0
    feeds[place].bridge.reset()
  }

  func restart(_ place: Int, wasLive: Bool, now: Timestamp) {
    feeds[place].bridge.reset()
    if feeds[place].newest > 0 { feeds[place].floor = feeds[place].newest }
    feeds[place].unfollowed = nil
    if renewing?.place == place { renewing = nil }
    let due = now + Self.snapshotDelay
    if wasLive { pacer.lost(place, notBefore: due, now: now) } else { pacer.want(place, notBefore: due) }
  }

  /// Something was lost of a book that cannot be told: each is renewed as soon as it can be.
  func renewAll(now: Timestamp) {
    for place in feeds.indices where feeds[place].bridge.isLive { feeds[place].renewDue = now }
  }

  func pump(_ now: Timestamp) {
    while let (place, request) = pacer.next(now: now) {
      let isWanted = feeds[place].isCarried && (!feeds[place].bridge.isLive || renewing?.place == place)
      guard isWanted else {
        _ = pacer.answered(request)
        continue
      }
      actions.append(
        .get(
          request: request, path: "/api/v2/order_book/\(instruments[place].venueSymbol)/?group=1",
          bodyLimit: Self.bodyLimit))
    }
  }

  func takeSnapshot(_ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    let isRenewal = feeds[place].bridge.isLive
    if isRenewal, renewing?.place != place { return pacer.succeeded(place) }
    guard status == 200 else {
      if status == 404, !isRenewal {
        dismiss(place, "Bitstamp has no order book of it (404)")
        return pacer.succeeded(place)
      }
      return snapshotFailed(place, status: status, now: now)
    }
    var mark = BatchMark(batch)
    guard let time = snapshot(body, place, from: &mark, into: &batch) else {
      return snapshotFailed(place, status: status, now: now)
    }
    guard isUsable(time, place) else {
      mark.rewind(&batch)
      feeds[place].attempts += isRenewal ? 0 : 1
      if feeds[place].attempts >= Self.staleAttempts { beginAnew(place, now: now) }
      return snapshotFailed(place, status: status, now: now)
    }
    feeds[place].attempts = 0
    join(place, time, mark: mark, now: now, into: &batch)
  }

  /// Asks again, later; a renewal is given up until its next turn.
  private func snapshotFailed(_ place: Int, status: Int, now: Timestamp) {
    if renewing?.place == place {
      renewing = nil
      feeds[place].renewDue = now + Self.firstRenewal
      // The book is good as it is: nothing of this counts against it.
      return pacer.failed(place, status: status == 200 ? 0 : status, retryAfter: retryAfter, now: now)
    }
    pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
  }

  /// Whether a snapshot of `time` has everything in it that was not kept.
  private func isUsable(_ time: Int64, _ place: Int) -> Bool {
    if let renewing, renewing.place == place, feeds[place].bridge.isLive { return time >= renewing.floor }
    let first = feeds[place].bridge.updates.first?.numbers.last
    if let needed = [feeds[place].floor, first].compactMap({ $0 }).max() { return time >= needed }
    // Nothing has been heard of the book: the clocks decide, as far as they can be believed.
    guard let begun = feeds[place].begun, feeds[place].attempts < Self.quietAttempts else { return true }
    return time >= begun.microseconds
  }

  /// Goes live on the snapshot that stands in the batch from `mark` on, with what has been kept since.
  private func join(_ place: Int, _ time: Int64, mark: BatchMark, now: Timestamp, into batch: inout EventBatch) {
    let venueTime = Timestamp(microseconds: time)
    if feeds[place].bridge.isLive, var renewal = renewing.take() {
      // What goes on after it is told by the book's own bridge, which has seen the same updates, and counted them.
      var counted = seen[place]
      counted.snapshots += 1
      _ = join(&renewal.bridge, place, at: time, from: mark, time: venueTime, isLinked: false, into: &batch)
      seen[place] = counted
      feeds[place].renewDue = now + Self.renewal
      return pacer.succeeded(place)
    }
    feeds[place].renewDue = now + Self.firstRenewal
    if join(&feeds[place].bridge, place, at: time, from: mark, time: venueTime, isLinked: false, into: &batch) {
      pacer.succeeded(place)
    } else {
      // Two updates had come in the wrong order.
      pacer.failed(place, status: 200, now: now)
      restart(place, wasLive: false, now: now)
    }
  }
}

extension SequenceRule {
  /// Bitstamp: updates have a time and no number, so nothing tells a hole; what is older than a snapshot is in it,
  /// and times do not go back. Two updates of one time are both applied: sizes are absolute, so that one that came
  /// twice changes nothing.
  static let bitstamp = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.last > snapshot },
    isRepeat: { _, _ in false },
    follows: { update, last in update.last >= last })
}
