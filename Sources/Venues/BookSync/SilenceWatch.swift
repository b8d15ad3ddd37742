import MarketData

/// Tells a channel that has died from a quiet market, where the venue sends something on it whether or not there is
/// news: heartbeats of one symbol, the same quote again, an empty update.
///
/// A channel is dead when nothing has come on it for `patience` **while the connection went on**; the
/// silence of the whole connection says nothing of a channel (`ConnectionWatch`). The caller subscribes to a dead
/// channel again. If it stays silent, it is dead again after twice the time, up to `longest`.
struct SilenceWatch {
  /// Intervals that may pass without a word, and the least that is waited for: messages bunch and connections stall.
  static let intervals: Int64 = 5
  static let shortest = 15 * Microseconds.second
  static let longest = 10 * Microseconds.minute
  /// A connection on which nothing has come for so long, or for a quarter of the channel's patience, is itself in
  /// doubt.
  static let shortestStall = 10 * Microseconds.second

  private let patience: Int64
  private var heardAt: Timestamp?
  private var attempts = 0

  /// - Parameter every: the longest time between two messages of a channel that lives, µs.
  init(every: Int64) { patience = max(Self.intervals * every, Self.shortest) }

  /// Something came on it. Before the first time nothing is expected: a subscription that brings nothing has
  /// time-outs of its own.
  mutating func heard(now: Timestamp) {
    heardAt = now
    attempts = 0
  }

  /// The venue has taken the subscription: it is waited for from now on. One that was dead is not alive with that.
  mutating func subscribed(now: Timestamp) { heardAt = now }

  mutating func disconnected() {
    heardAt = nil
    attempts = 0
  }

  /// Whether it is dead now; true once for each attempt to revive it. Called a few times a second.
  /// - Parameter connectionHeard: when something of a market last came on the connection; what only answers accuses
  ///   no channel.
  mutating func isDead(now: Timestamp, connectionHeard: Timestamp) -> Bool {
    guard let heardAt else { return false }
    guard now - connectionHeard < max(Self.shortestStall, patience / 4) else {
      // When it speaks again, all channels are late alike: each has its whole time from then on.
      self.heardAt = now
      return false
    }
    let limit = min(patience << min(attempts, 10), max(Self.longest, patience))
    guard now - heardAt >= limit else { return false }
    attempts += 1
    self.heardAt = now
    return true
  }
}
