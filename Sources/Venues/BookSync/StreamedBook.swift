import MarketData

/// The book of a symbol whose snapshot comes in the stream (Kraken, Coinbase): when to subscribe again, and never in
/// a storm.
///
/// A rebuild is one unsubscribe and one subscribe. Until the new snapshot comes, updates are ignored and further
/// wishes to rebuild change nothing. When a book that was lost may be rebuilt is its circuit's (`BookCircuit`) to
/// say. A snapshot that does not come within `snapshotTimeout` is asked for again, ever more rarely.
struct StreamedBook {
  enum State: Equatable {
    case unsubscribed
    /// To be subscribed again at this time.
    case scheduled(Timestamp)
    /// To be subscribed; the request has waited for its turn since then.
    case queued(since: Timestamp)
    case awaitingSnapshot(until: Timestamp)
    case live(since: Timestamp)
  }

  static let snapshotTimeout = 10 * Microseconds.second
  /// Subscriptions without a snapshot after which the book counts as failed.
  static let silentLimit = 5

  private(set) var state = State.unsubscribed
  private var circuit = BookCircuit()
  /// Subscriptions in a row that no snapshot answered.
  private(set) var silentAttempts = 0

  var isLive: Bool {
    if case .live = state { true } else { false }
  }

  /// Whether it was subscribed and waits for its snapshot.
  var isAwaited: Bool {
    if case .awaitingSnapshot = state { true } else { false }
  }

  /// Whether the request for its subscription waits for its turn.
  var isQueued: Bool {
    if case .queued = state { true } else { false }
  }

  /// Why the book counts as failed; nil if it does not.
  var failure: BookFailure? {
    if let failure = circuit.failure { return failure }
    guard silentAttempts >= Self.silentLimit else { return nil }
    switch state {
    case .awaitingSnapshot(let time), .queued(let time):
      return BookFailure(failures: silentAttempts, nextAttempt: time)
    case .unsubscribed, .scheduled, .live: return nil
    }
  }

  /// A subscription waits for its turn to be sent; until then it is not due again. If a snapshot of the one before
  /// arrives in the meantime, the book is live, and the caller drops the request (`isQueued`). A book that is live
  /// stays so.
  mutating func queued(now: Timestamp) {
    if !isLive { state = .queued(since: now) }
  }

  /// A subscription was sent.
  mutating func subscribed(now: Timestamp) {
    // The wait for the snapshot grows as the rebuilds do, so that a venue that stays silent is asked ever more rarely.
    let patience = min(Self.snapshotTimeout << min(silentAttempts, 3), Microseconds.minute)
    state = .awaitingSnapshot(until: now + patience)
    silentAttempts += 1
  }

  mutating func snapshotArrived(now: Timestamp) {
    if isLive { return }
    silentAttempts = 0
    circuit.isLive(now: now)
    state = .live(since: now)
  }

  /// Asks for a rebuild; true if that takes the book out of sync now.
  mutating func resync(now: Timestamp) -> Bool {
    guard isLive else { return false }
    state = .scheduled(circuit.lost(now: now))
    return true
  }

  /// Whether it is time to unsubscribe and subscribe again. The caller sends that and calls `subscribed`.
  func isDue(now: Timestamp) -> Bool {
    switch state {
    case .scheduled(let time): now >= time
    case .awaitingSnapshot(let until): now >= until
    case .unsubscribed, .queued, .live: false
    }
  }

  mutating func disconnected() {
    state = .unsubscribed
    silentAttempts = 0
    circuit.disconnected()
  }
}
