import MarketData

/// Tells a channel that has died from a quiet market, where the venue sends something on it whether or not there is news: heartbeats of
/// one symbol, the same quote again, an empty update.
///
/// A channel is dead when nothing has come on it for `patience` **while the connection went on**; the silence of the whole connection is
/// somebody else's business, and says nothing of a channel. Whoever finds one dead subscribes it again; if that helps nothing, it is dead
/// again after twice the time, up to `longest`.
struct SilenceWatch {
  /// Intervals that may pass without a word, and the least that is waited for: messages bunch and connections stall.
  static let intervals: Int64 = 5
  static let shortest = 15 * Microseconds.second
  static let longest = 10 * Microseconds.minute

  private let patience: Int64
  private var heardAt: Timestamp?
  private var attempts = 0

  /// - Parameter every: the longest time between two messages of a channel that lives, µs.
  init(every: Int64) { patience = max(Self.intervals * every, Self.shortest) }

  /// Something came on it. Before the first time nothing is expected: a subscription that brings nothing has time-outs of its own.
  mutating func heard(now: Timestamp) {
    heardAt = now
    attempts = 0
  }

  mutating func disconnected() {
    heardAt = nil
    attempts = 0
  }

  /// Whether it is dead now; true once for each attempt to revive it.
  /// - Parameter connectionHeard: when anything last came on the connection.
  mutating func isDead(now: Timestamp, connectionHeard: Timestamp) -> Bool {
    guard let heardAt else { return false }
    let limit = min(patience << min(attempts, 10), max(Self.longest, patience))
    // The connection must have spoken in the last quarter of the silence, so that one that stalls as a whole accuses no channel.
    guard now - heardAt >= limit, now - connectionHeard < limit / 4 else { return false }
    attempts += 1
    self.heardAt = now
    return true
  }
}
