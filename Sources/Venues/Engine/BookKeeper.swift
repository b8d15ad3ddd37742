import MarketData

/// How one book comes into sync and stays there, whatever the venue: by a snapshot in the stream, which updates are
/// linked to or not, joined to a REST snapshot, or whole in each message. Checksums are the market's to look at
/// (`Market.Configuration`), and come back as a wish to rebuild.
///
/// It never says that a book is live because something was asked for: only what came makes it so.
struct BookKeeper {
  /// What becomes of a book message.
  enum Verdict: Equatable {
    /// It is the whole book.
    case whole
    /// It follows what was there, or needs no link.
    case applied
    case followed
    /// It joins a REST snapshot.
    case joined
    /// It was in the snapshot already.
    case old
    /// It changes nothing: the last one again, or of a book that is not live.
    case nothing
    /// Kept, until a REST snapshot is there.
    case kept
    /// Something is missing before it: the book is out of sync. A bridged one has kept it for the next snapshot.
    case gap
    /// Of a shallower book than the one that is there.
    case shallower
    /// The whole book, older than the one that is there.
    case late
    /// The whole book again, as it is.
    case same
    /// A message that was applied, again after its successor.
    case again
  }

  private(set) var stream = StreamedBook()
  var bridge: SnapshotBridge
  private var whole: WholeBook?
  /// Whether the book is joined to REST snapshots.
  private(set) var isBridged: Bool
  private let isBridgedFirst: Bool
  private let rule: SequenceRule?
  /// Those of the newest message that moved the book's number on.
  private var newest = UpdateNumbers(first: 0, last: 0)
  private var isJoined = false
  /// Of the messages since the last snapshot.
  private var applied = AppliedNumbers()
  /// Whether its subscription has been ended, and the new one has not been sent.
  private var isLeft = false
  /// Snapshots in a row that were too old.
  private(set) var staleSnapshots = 0

  init(_ facts: DialectFacts) {
    switch facts.book {
    case .streamed(let rule): (self.rule, isBridgedFirst) = (rule, false)
    case .bridged: (rule, isBridgedFirst) = (nil, true)
    case .whole(let limits):
      (rule, isBridgedFirst) = (nil, false)
      whole = WholeBook(limits)
    }
    isBridged = isBridgedFirst
    // A book that is never bridged keeps nothing, whatever its rule.
    bridge = SnapshotBridge(rule: facts.bridge?.rule ?? .binanceSpot)
  }

  var isLive: Bool { isBridged ? bridge.isLive : stream.isLive }
  var isQueued: Bool { stream.isQueued }
  var silentAttempts: Int { stream.silentAttempts }

  /// Why a streamed book counts as failed; nil if it does not.
  var failure: BookFailure? { stream.failure }

  /// A request for its subscription waits, or was sent.
  mutating func queued(now: Timestamp) { if !isBridged { stream.queued(now: now) } }
  mutating func subscribed(now: Timestamp) {
    isLeft = false
    if !isBridged { stream.subscribed(now: now) }
  }

  /// The end of its subscription was sent: a snapshot that still comes is of the one that has ended, and nothing would
  /// follow it.
  mutating func left() { if !isBridged { isLeft = true } }

  /// The state of a live book, without its levels; nil while it is not live.
  var link: BookCheckpoint.Link? {
    if isBridged { return bridge.link }
    guard stream.isLive else { return nil }
    return BookCheckpoint.Link(
      isBridged: false, first: newest.first, last: newest.last, previous: newest.previous, isJoined: isJoined,
      recent: applied.inOrder.map { .init($0) })
  }

  /// Brings the book to a state that `link` was: it is live from now on. False if no book of this venue is in such a
  /// state.
  mutating func restore(_ link: BookCheckpoint.Link, canBridge: Bool, now: Timestamp) -> Bool {
    guard link.isBridged ? canBridge : !isBridgedFirst else { return false }
    isLeft = false
    isBridged = link.isBridged
    guard !link.isBridged else {
      stream.disconnected()
      bridge.restore(link)
      return true
    }
    stream.snapshotArrived(now: now)
    newest = UpdateNumbers(first: link.first, last: link.last, previous: link.previous)
    isJoined = link.isJoined
    applied.removeAll()
    for entry in link.recent { applied.note(entry.numbers, at: entry.time) }
    return true
  }

  /// Whether a streamed book is to be subscribed again.
  func isDue(now: Timestamp) -> Bool { !isBridged && stream.isDue(now: now) }

  /// Takes a message of the book. Nil numbers: nothing links it.
  mutating func take(
    _ event: BookEvent, _ numbers: MessageOutcome.Numbers?, _ batch: borrowing EventBatch, now: Timestamp
  ) -> Verdict {
    if isBridgedFirst || numbers?.isBridged == true { return takeBridged(event, numbers, batch) }
    if event.kind == .snapshot || isWhole(numbers) {
      guard !isLeft else { return .nothing }
      switch whole?.take(event, batch, isLive: stream.isLive, now: now) {
      case .late: return .late
      case .same: return .same
      case .new, nil: break
      }
      isBridged = false
      isJoined = false
      newest = numbers?.numbers ?? UpdateNumbers(first: 0, last: 0)
      applied.removeAll()
      stream.snapshotArrived(now: now)
      return .whole
    }
    guard stream.isLive, !isBridged else { return .nothing }
    guard let numbers = numbers?.numbers, let rule else { return .applied }
    // The same again, by all of its numbers.
    if rule.provesLinks, numbers == newest {
      return !isJoined && rule.isOld(numbers, newest.last) ? .old : .nothing
    }
    if rule.follows(numbers, newest.last) || !isJoined && rule.joins(numbers, newest.last) {
      // One that names the number again says that nothing has changed: what linked the one before may come once more.
      if numbers.last != newest.last { newest = numbers }
      isJoined = true
      guard rule.provesLinks else { return .applied }
      applied.note(numbers, at: event.time)
      return .followed
    }
    if !isJoined, rule.isOld(numbers, newest.last) { return .old }
    if rule.isRepeat(numbers, newest.last) { return .nothing }
    return rule.provesLinks && applied.contains(numbers, at: event.time) ? .again : .gap
  }

  /// Whether a message that does not say so is the whole book.
  private func isWhole(_ numbers: MessageOutcome.Numbers?) -> Bool {
    guard let rule, let numbers = numbers?.numbers, stream.isAwaited else { return false }
    return rule.mayBeWhole(numbers)
  }

  private mutating func takeBridged(
    _ event: BookEvent, _ numbers: MessageOutcome.Numbers?, _ batch: borrowing EventBatch
  ) -> Verdict {
    guard let numbers = numbers?.numbers else { preconditionFailure("an update that is joined by no number") }
    if !isBridgedFirst {
      // The deeper book is there.
      guard !stream.isLive else { return .shallower }
      isBridged = true
      // Nothing is subscribed again for the sake of the other book.
      stream.disconnected()
    }
    if event.kind == .snapshot {
      bridge.reset()
      _ = bridge.bridge(numbers.last) { _, _, _, _ in }
      return .whole
    }
    return bridge.receive(
      numbers, bids: batch.bids[event.bidRange], asks: batch.asks[event.askRange], time: event.time)
  }

  /// Whether a snapshot at `id` lacks something that was not kept; counted where updates have times only.
  /// - Parameter begun: when its subscription was acknowledged: where nothing has come of the book, a snapshot is not
  ///   to be older, as far as the clocks can be believed.
  mutating func isStale(_ id: Int64, begun: Timestamp?, _ unnumbered: DialectFacts.Unnumbered?) -> Bool {
    guard let unnumbered else { return bridge.isStale(id) }
    let isStale =
      if bridge.hasBegun {
        bridge.isStale(id)
      } else {
        staleSnapshots < unnumbered.quietAttempts && id < begun?.microseconds ?? 0
      }
    staleSnapshots = isStale ? staleSnapshots + 1 : 0
    return isStale
  }

  /// What was lost is of a time that is not known: the book is as if it had just been subscribed.
  mutating func beginAnew() {
    staleSnapshots = 0
    bridge.beginAnew()
  }

  /// Whether a book that is whole in each message has been silent for too long; see `WholeBook`.
  mutating func doubt(now: Timestamp) -> WholeBook.Doubt { whole?.doubt(now: now) ?? .none }

  /// Compares a book that was asked for apart from the stream with what that has said.
  mutating func compare(_ event: BookEvent, _ batch: borrowing EventBatch, now: Timestamp) {
    whole?.compare(event, batch, now: now)
  }

  /// The scales of its instrument have been widened: levels kept aside follow.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
    whole?.rescale(priceBy: priceBy, sizeBy: sizeBy)
  }

  /// The book must be rebuilt; true if that takes it out of sync now. One that is whole in each message waits for the
  /// next, and is subscribed again only if none comes.
  /// - Parameter isDead: whether no next message is to be expected.
  mutating func lose(now: Timestamp, isDead: Bool = false) -> Bool {
    if whole != nil, !isDead {
      guard stream.isLive else { return false }
      stream.subscribed(now: now)
      return true
    }
    guard isBridged else { return stream.resync(now: now) }
    guard bridge.isLive else { return false }
    bridge.reset()
    return true
  }

  /// The subscription was refused: nothing more is expected.
  mutating func stop() {
    stream.disconnected()
    if bridge.rule.isNumbered { bridge.reset() } else { beginAnew() }
  }

  /// The connection is gone. What failed before is remembered.
  mutating func disconnected() {
    stop()
    isBridged = isBridgedFirst
    newest = UpdateNumbers(first: 0, last: 0)
    applied.removeAll()
    isJoined = false
    isLeft = false
    whole?.disconnected()
  }
}
