import MarketData

/// Tells a channel that has died from a quiet market, where the venue sends something on it whether or not there is
/// news: heartbeats of one symbol, the same quote again, an empty update.
///
/// A channel is dead when nothing has come on it for `patience` **while the connection went on**; the
/// silence of the whole connection says nothing of a channel (`ConnectionWatch`). The caller subscribes to a dead
/// channel again. If it stays silent, it is dead again after twice the time (`ChannelDoubt`).
struct SilenceWatch {
  /// Intervals that may pass without a word, and the least that is waited for: messages bunch and connections stall.
  static let intervals: Int64 = 5
  static let shortest = 15 * Microseconds.second
  /// A connection on which nothing has come for so long, or for a quarter of the channel's patience, is itself in
  /// doubt.
  static let shortestStall = 10 * Microseconds.second

  private let patience: Int64
  private var silence = ChannelDoubt()

  /// - Parameter every: the longest time between two messages of a channel that lives, µs.
  init(every: Int64) { patience = max(Self.intervals * every, Self.shortest) }

  /// Something came on it. Before the first time nothing is expected: a subscription that brings nothing has
  /// time-outs of its own.
  mutating func heard(now: Timestamp) { silence = ChannelDoubt(since: now) }

  /// The venue has taken the subscription: it is waited for from now on. One that was dead is not alive with that.
  mutating func subscribed(now: Timestamp) { silence.restart(now: now) }

  mutating func disconnected() { silence.end() }

  /// Whether it is dead now; true once for each attempt to revive it. Called a few times a second.
  /// - Parameter connectionHeard: when something of a market last came on the connection; what only answers accuses
  ///   no channel.
  mutating func isDead(now: Timestamp, connectionHeard: Timestamp) -> Bool {
    guard silence.first != nil else { return false }
    guard now - connectionHeard < max(Self.shortestStall, patience / 4) else {
      // When it speaks again, all channels are late alike: each has its whole time from then on.
      silence.restart(now: now)
      return false
    }
    return silence.isDead(patience: patience, now: now)
  }
}
