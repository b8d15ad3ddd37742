import Bytes
import MarketData

/// The snapshots of bridged books.
extension FeedEngine {
  /// Chooses how deep the snapshots are for so many symbols.
  func chooseDepth() {
    guard let bridge = facts.bridge else { return }
    let snapshot = bridge.snapshots.first { $0.weight * lines.count <= bridge.startMinutes * pacer.weightPerMinute }
    guard let chosen = snapshot ?? bridge.snapshots.last else { return }
    snapshotLevels = chosen.levels
    pacer.requestWeight = chosen.weight
  }

  func pump(_ now: Timestamp) {
    guard isConnected, let bridge = facts.bridge else { return }
    while let (place, request) = pacer.next(now: now) {
      // One whose subscription is being renewed is wanted when that is acknowledged.
      let line = lines[place]
      let isWanted = !line.book.isLive && line.acknowledged != nil || renewal?.place == place
      guard line.book.isBridged, line.isCarried, isWanted else {
        _ = pacer.answered(request)
        continue
      }
      actions.append(
        .get(
          request: request, path: bridge.path(known[place], snapshotLevels), bodyLimit: bridge.bodyLimit))
    }
  }

  func takeSnapshot(
    _ place: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    // The symbol may have been refused since.
    guard lines[place].isCarried else { return }
    let isRenewal = lines[place].book.isLive
    guard lines[place].book.isBridged, !isRenewal || renewal?.place == place else { return pacer.succeeded(place) }
    if let missing = facts.bridge?.missing, status.code == missing, !isRenewal {
      refuse(place, "\(venue.title) has no order book of it (\(missing))")
      return pacer.succeeded(place)
    }
    guard status.isOK else { return snapshotFailed(place, status, now) }
    var mark = BatchMark(batch)
    let id: Int64
    do throws(FeedError) {
      id = try snapshot(body, place, from: &mark, into: &batch)
    } catch {
      snapshotFailed(place, status, now)
      throw error
    }
    guard !isStale(id, place, isRenewal, now) else {
      // Older than the first update that was kept: another one, and what is kept stays.
      mark.rewind(&batch)
      return snapshotFailed(place, status, now)
    }
    if isRenewal { return renew(place, at: id, from: mark, now, into: &batch) }
    let time = unnumbered == nil ? now : Timestamp(microseconds: id)
    if join(
      &lines[place].book.bridge, place, at: id, from: mark, time: time, isLinked: unnumbered == nil, into: &batch)
    {
      lines[place].wasLive = true
      lines[place].isHeard = true
      if let unnumbered { lines[place].renewDue = now + unnumbered.firstRenewal }
      pacer.succeeded(place)
    } else {
      pacer.failed(place, status: status.code, retryAfter: status.retryAfter, now: now)
    }
  }

  /// Reads the snapshot of a book by REST, at scales that are widened as it wants them.
  /// - Parameter mark: behind it the snapshot's levels stand.
  /// - Returns: the number or time that the snapshot stands at.
  func snapshot(
    _ body: RawSpan, _ place: Int, from mark: inout BatchMark, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    guard let bridge = facts.bridge else { preconditionFailure("a snapshot of a book that is not bridged") }
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        known.begin()
        var reader = FieldReader(body)
        return try bridge.read(&reader, place, &known, &batch)
      } catch {
        mark.rewind(&batch)
        guard widenIfNeeded(into: &batch) else { throw error }
        mark = BatchMark(batch)
      }
    }
    throw FeedError(.decimal, "snapshot of a book: no scale fits its values")
  }

  /// Joins what `bridge` has kept to a snapshot at `id` that is not stale and whose levels stand in `batch` from
  /// `mark` on. Appends and counts the snapshot and every kept update that follows it. False if there is a hole among
  /// what was kept: the book has been reset, and another snapshot is wanted. O(kept).
  ///
  /// - Parameter isLinked: whether an update that follows vouches for the one before it, and is counted for that.
  func join(
    _ bridge: inout SnapshotBridge, _ place: Int, at id: Int64, from mark: BatchMark, time: Timestamp,
    isLinked: Bool = true, into batch: inout EventBatch
  ) -> Bool {
    let instrument = InstrumentID(place)
    known.note(place, batch.bids[mark.bids...])
    known.note(place, batch.asks[mark.asks...])
    batch.appendBook(.snapshot, place, since: mark, time: time)
    var counts = seen[place]
    counts.snapshots += 1
    let whole = bridge.bridge(id) { verdict, update, updateBids, updateAsks in
      switch verdict {
      case .old:
        counts.dropped += 1
        return
      case .joined: counts.bridged += 1
      case .followed: counts.sequenceOK += isLinked ? 1 : 0
      default: return
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

  private func isStale(_ id: Int64, _ place: Int, _ isRenewal: Bool, _ now: Timestamp) -> Bool {
    if isRenewal { return id < renewal?.floor ?? 0 }
    guard lines[place].book.isStale(id, begun: lines[place].acknowledged, unnumbered) else { return false }
    // The times of what came are not believed any more.
    if let unnumbered, lines[place].book.staleSnapshots >= unnumbered.staleAttempts { beginAnew(place, now) }
    return true
  }

  /// Asks again, later; a renewal is given up until its next turn.
  private func snapshotFailed(_ place: Int, _ status: AnswerStatus, _ now: Timestamp) {
    guard let renewed = renewal, renewed.place == place else {
      return pacer.failed(place, status: status.code, retryAfter: status.retryAfter, now: now)
    }
    renewal = nil
    if let unnumbered { lines[place].renewDue = now + unnumbered.firstRenewal }
    // The book is good as it is: nothing of this counts against it.
    pacer.failed(place, status: status.isOK ? 0 : status.code, retryAfter: status.retryAfter, now: now)
  }

  /// A bridged book has been lost: it wants another snapshot.
  func lostBridged(_ place: Int, _ now: Timestamp) {
    if renewal?.place == place { renewal = nil }
    lines[place].unfollowed = nil
    pacer.lost(place, notBefore: now + (facts.bridge?.delay ?? 0), now: now)
  }
}

/// Books whose updates have a time and no number: **an update that is lost shows in nothing.** What can be done is
/// done:
///
/// - A snapshot is used only if it is from after what was not kept (`SnapshotBridge`): answers come from a cache.
/// - A time that goes back is a message that came late, and takes the book out of sync.
/// - A trade changes the book. One that no update follows means that the book's channel is dead, not quiet.
/// - Every book is renewed by a snapshot from time to time, without leaving sync.
extension FeedEngine {
  /// Looks after the books that are live: a channel that is contradicted is subscribed anew, a book that is due is
  /// renewed.
  func tendUnnumbered(_ unnumbered: DialectFacts.Unnumbered, _ now: Timestamp, into batch: inout EventBatch) {
    for place in lines.indices where lines[place].isCarried && lines[place].book.isLive {
      if let unfollowed = lines[place].unfollowed, now - unfollowed.since >= unnumbered.tradePatience {
        take(place, outOfSync: .stale, now: now, into: &batch)
        beginAnew(place, now)
        // A snapshot is of no use before the channel speaks again.
        lines[place].acknowledged = nil
        desk.renew([place], channel: 0)
      } else if renewal == nil, now >= lines[place].renewDue {
        let bridge = lines[place].book.bridge
        renewal = BookRenewal(
          place: place, floor: max(0, bridge.newest), bridge: SnapshotBridge(rule: bridge.rule))
        pacer.want(place)
      }
    }
  }

  /// A trade: what it took is missing in the book from then on, and the next update says so. One without a time of
  /// its own has the clock's.
  func traded(_ trade: Trade, _ now: Timestamp) {
    let place = trade.instrument.index
    guard lines[place].unfollowed == nil, lines[place].book.isLive, trade.time != now,
      trade.time.microseconds > lines[place].book.bridge.newest
    else { return }
    lines[place].unfollowed = (trade.time, now)
  }

  /// An update, which the book has taken already.
  func updated(_ event: BookEvent, _ numbers: UpdateNumbers, _ batch: borrowing EventBatch, _ now: Timestamp) {
    let place = event.instrument.index
    if let unfollowed = lines[place].unfollowed, numbers.last >= unfollowed.time.microseconds {
      lines[place].unfollowed = nil
    }
    guard renewal?.place == place, var renewed = renewal.take() else { return }
    _ = renewed.bridge.receive(
      numbers, bids: batch.bids[event.bidRange], asks: batch.asks[event.askRange], time: event.time)
    renewed.kept += 1
    if renewed.bridge.updates.count == renewed.kept {
      renewal = renewed
    } else if let unnumbered {
      // More than is kept: the renewal is off, and the book goes on as it was.
      lines[place].renewDue = now + unnumbered.firstRenewal
    }
  }

  /// Puts the snapshot that stands in the batch from `mark` on, and what came after it, in the place of a live book.
  func renew(_ place: Int, at id: Int64, from mark: BatchMark, _ now: Timestamp, into batch: inout EventBatch) {
    guard var renewed = renewal.take(), let unnumbered else { return }
    // What goes on after it is told by the book's own bridge, which has seen the same updates, and counted them.
    var counted = seen[place]
    counted.snapshots += 1
    _ = join(
      &renewed.bridge, place, at: id, from: mark, time: Timestamp(microseconds: id), isLinked: false, into: &batch)
    seen[place] = counted
    lines[place].renewDue = now + unnumbered.renewal
    pacer.succeeded(place)
  }

  /// What was lost is of a time that is not known: the book is as if it had just been subscribed.
  func beginAnew(_ place: Int, _ now: Timestamp) {
    lines[place].book.beginAnew()
    lines[place].acknowledged = now
  }

  /// Something was lost of a book that cannot be told: each is renewed as soon as it can be.
  func renewAll(_ now: Timestamp) {
    for place in lines.indices where lines[place].book.isLive { lines[place].renewDue = now }
  }
}
