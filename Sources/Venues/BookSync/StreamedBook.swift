import MarketData

/// The book of a symbol whose snapshot comes in the stream (Kraken, Coinbase): when to subscribe again, and never in a storm.
///
/// A rebuild is one unsubscribe and one subscribe. Until the new snapshot comes, updates are ignored and further wishes
/// to rebuild change nothing. The first rebuild is at once; each one after it waits twice as long, from 1 s to 1 min, until
/// the book has been live for 30 s. A snapshot that does not come within `snapshotTimeout` counts as a failed rebuild.
struct StreamedBook {
  enum State: Equatable {
    case unsubscribed
    /// To be subscribed again at this time.
    case scheduled(Timestamp)
    case awaitingSnapshot(until: Timestamp)
    case live(since: Timestamp)
  }

  static let snapshotTimeout = 10 * Microseconds.second
  static let settled = 30 * Microseconds.second

  private(set) var state = State.unsubscribed
  private var backoff = Backoff(first: Microseconds.second, limit: Microseconds.minute)
  /// Whether the book was rebuilt since it was last settled.
  private var isUnsettled = false
  /// Subscriptions in a row that no snapshot answered.
  private(set) var silentAttempts = 0

  var isLive: Bool {
    if case .live = state { true } else { false }
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
    state = .live(since: now)
  }

  /// Asks for a rebuild; true if that takes the book out of sync now.
  mutating func resync(now: Timestamp) -> Bool {
    guard case .live(let since) = state else { return false }
    if now - since >= Self.settled {
      backoff.reset()
      isUnsettled = false
    }
    state = .scheduled(now + (isUnsettled ? backoff.next() : 0))
    isUnsettled = true
    return true
  }

  /// Whether it is time to unsubscribe and subscribe again. The caller sends that and calls `subscribed`.
  func isDue(now: Timestamp) -> Bool {
    switch state {
    case .scheduled(let time): now >= time
    case .awaitingSnapshot(let until): now >= until
    case .unsubscribed, .live: false
    }
  }

  mutating func disconnected() {
    state = .unsubscribed
    silentAttempts = 0
  }
}
