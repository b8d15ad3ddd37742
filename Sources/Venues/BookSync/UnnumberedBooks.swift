import MarketData

/// Books whose updates have a time and no number: **an update that is lost shows in nothing.** What can be done is
/// done:
///
/// - A snapshot is used only if it is from after what was not kept (`SnapshotBridge`): answers come from a cache.
/// - A time that goes back is a message that came late, and takes the book out of sync.
/// - A trade changes the book. One that no update follows means that the book's channel is dead, not quiet.
/// - Every book is renewed by a snapshot from time to time, without leaving sync.
///
/// A value, by index; time is a parameter. One book is renewed at a time.
struct UnnumberedBooks {
  /// What a live book wants.
  enum Care {
    case none
    /// Its channel is dead: a trade that no update follows.
    case isContradicted
    /// It is to be renewed.
    case isDue
  }

  private struct Entry {
    var renewDue = Timestamp.distantFuture
    /// A trade that is newer than the newest update: its time, and when it came.
    var unfollowed: (time: Timestamp, since: Timestamp)?
  }

  let limits: DialectFacts.Unnumbered
  private var entries: [Entry] = []
  /// The book that is being renewed while it goes on.
  private(set) var renewal: BookRenewal?

  init(_ limits: DialectFacts.Unnumbered) { self.limits = limits }

  /// Makes room for so many symbols.
  mutating func grow(to symbols: Int) { while entries.count < symbols { entries.append(Entry()) } }

  /// Whether a message that could not be read may have been an update of any book.
  func mayConcernAny(_ message: RawSpan) -> Bool { !MalformedMessageScan.contains(message, limits.otherMark) }

  /// A trade of a live book whose newest update is of the time `newest`, µs: what it took is missing in the book from
  /// then on, and the next update says so. One without a time of its own has the clock's.
  mutating func traded(_ trade: Trade, newest: Int64, now: Timestamp) {
    let index = trade.instrument.index
    guard entries[index].unfollowed == nil, trade.time != now, trade.time.microseconds > newest else { return }
    entries[index].unfollowed = (trade.time, now)
  }

  /// An update, which the book has taken already.
  mutating func updated(_ event: BookEvent, _ numbers: UpdateNumbers, _ batch: borrowing EventBatch, now: Timestamp) {
    let index = event.instrument.index
    if let unfollowed = entries[index].unfollowed, numbers.last >= unfollowed.time.microseconds {
      entries[index].unfollowed = nil
    }
    guard renewal?.index == index, var renewed = renewal.take() else { return }
    _ = renewed.bridge.receive(
      numbers, bids: batch.bids[event.bidRange], asks: batch.asks[event.askRange], time: event.time)
    renewed.kept += 1
    if renewed.bridge.updates.count == renewed.kept {
      renewal = renewed
    } else {
      // More than is kept: the renewal is off, and the book goes on as it was.
      entries[index].renewDue = now + limits.firstRenewal
    }
  }

  /// What a live book wants now.
  func care(of index: Int, now: Timestamp) -> Care {
    if let unfollowed = entries[index].unfollowed, now - unfollowed.since >= limits.tradePatience {
      return .isContradicted
    }
    return renewal == nil && now >= entries[index].renewDue ? .isDue : .none
  }

  // MARK: Renewals

  /// A snapshot of a live book is asked for.
  mutating func begin(_ index: Int, _ bridge: borrowing SnapshotBridge) {
    renewal = BookRenewal(index: index, floor: max(0, bridge.newest), bridge: SnapshotBridge(rule: bridge.rule))
  }

  func isRenewing(_ index: Int) -> Bool { renewal?.index == index }

  /// The renewal that its snapshot has come for, which is under way no more; the next one has its time.
  mutating func takeRenewal(now: Timestamp) -> BookRenewal? {
    guard let renewed = renewal.take() else { return nil }
    entries[renewed.index].renewDue = now + limits.renewal
    return renewed
  }

  /// The snapshot could not be used: the renewal is given up until its next turn.
  mutating func gaveUp(_ index: Int, now: Timestamp) {
    renewal = nil
    entries[index].renewDue = now + limits.firstRenewal
  }

  /// A book came into sync.
  mutating func joined(_ index: Int, now: Timestamp) { entries[index].renewDue = now + limits.firstRenewal }

  /// A book left sync.
  mutating func lost(_ index: Int) {
    if renewal?.index == index { renewal = nil }
    entries[index].unfollowed = nil
  }

  /// Something was lost of a live book that cannot be told: it is renewed as soon as it can be.
  mutating func doubt(_ index: Int, now: Timestamp) { entries[index].renewDue = now }

  /// The scales of an instrument have been widened: levels kept aside follow.
  mutating func rescale(_ index: Int, priceBy: Int64, sizeBy: Int64) {
    if renewal?.index == index { renewal?.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy) }
  }

  /// The symbol is asked for anew, or its connection is gone.
  mutating func forget(_ index: Int) { entries[index] = Entry() }

  mutating func disconnected() {
    renewal = nil
    for index in entries.indices { entries[index] = Entry() }
  }
}
