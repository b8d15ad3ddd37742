import Bytes
import MarketData

/// Brings the changes of a market to the streams of its instruments, and calls those that are due.
extension StreamPublisher {
  /// Publishes the changes of a batch: streams at full rate at once, the others at their next tick.
  package func publish(_ changes: borrowing MarketChanges, market: Int, now: Timestamp, into out: inout [Delivery]) {
    publish(changes, of: markets[market], now: now, into: &out)
  }

  func publish(
    _ changes: borrowing MarketChanges, of owner: PublishedMarket, now: Timestamp, into out: inout [Delivery]
  ) {
    for index in changes.items.indices {
      let (id, kind) = changes.items[index].target
      guard let instrument = owner.instrument(id) else { continue }
      publish(changes.items[index], kind, of: instrument, changes, now: now, into: &out)
    }
    if !schedule.batch.isEmpty {
      for stream in schedule.batch { flush(stream, now: now, into: &out) }
      schedule.endBatch()
    }
    for group in schedule.takeGroups() { flush(group, now: now, into: &out) }
  }

  private func publish(
    _ change: MarketChange, _ kind: MarketChangeKinds, of instrument: PublishedInstrument,
    _ changes: borrowing MarketChanges, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .channel(_, _, let state) where !state.isNews: return
    case .instrument: return rescale(instrument, now: now)
    default: instrument.take(change, changes)
    }
    let groups = instrument.groups
    for index in groups.indices where !groups[index].hears.isDisjoint(with: kind) {
      for stream in groups[index].streams {
        stream.take(change, of: instrument, changes, in: self, now: now, into: &out)
      }
    }
  }

  /// The texts of all prices differ if the scales of the instrument widened.
  private func rescale(_ instrument: PublishedInstrument, now: Timestamp) {
    guard let rescaling = instrument.rescale() else { return }
    for group in instrument.groups {
      for stream in group.streams { stream.rescale(rescaling, in: self, now: now) }
    }
  }

  // MARK: What streams call

  /// The stream changed: it publishes now or at its next tick.
  func changed(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    if stream.isImmediate { flush(stream, now: now, into: &out) } else { wait(stream, now: now) }
  }

  /// The stream changed in a way that the rest of the batch may undo: it publishes at the end of the batch, or at its
  /// next tick. One that has nothing to update publishes at the end of the batch in every class.
  func changedInBatch(_ stream: PublishedStream, now: Timestamp) {
    if stream.isImmediate || !stream.isShown { schedule.addToBatch(stream) } else { wait(stream, now: now) }
  }

  /// The stream publishes at its next tick.
  func wait(_ stream: PublishedStream, now: Timestamp) { schedule.addToTick(stream, now: now) }

  /// Notifies the subscribers, at once in every rate class, that the data is out of sync. Their next message is a
  /// snapshot.
  func loseSync(
    _ stream: MarketStream, _ instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    guard stream.isShown else { return }
    update(stream, events: 0, now: now, into: &out) { stream.appendSyncing(of: instrument, now: now, to: &$0) }
    memory.forget(stream)
    stream.isShown = false
    stream.dueReason = .resync
  }

  /// The published state has no meaning any more: the stream begins again with a snapshot at the end of the batch.
  func restart(_ stream: MarketStream, now: Timestamp) {
    guard stream.isShown else { return }
    stream.isShown = false
    stream.dueReason = .resync
    stream.cachedSnapshot = nil
    changedInBatch(stream, now: now)
  }

  /// Publishes the pending changes of the stream, if any.
  func flush(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    guard stream.isRunning else { return }
    stream.flush(in: self, now: now, into: &out)
  }

  // MARK: Time

  /// Publishes rate-limited streams that are due.
  package func advance(to now: Timestamp, into out: inout [Delivery]) {
    while let due = schedule.takeDue(at: now) {
      schedule.isTicking = true
      for stream in due { flush(stream, now: now, into: &out) }
      schedule.isTicking = false
      for group in schedule.takeGroups() { flush(group, now: now, into: &out) }
    }
  }

  /// The time at which `advance` next has work.
  package var nextDeadline: Timestamp { schedule.nextDeadline }
}

extension ChannelState {
  /// Whether subscribers learn of it. Further attempts to revive a channel are no news.
  fileprivate var isNews: Bool {
    switch self {
    case .live: true
    case .doubted: false
    case .silent(let attempt): attempt <= 1
    }
  }
}
