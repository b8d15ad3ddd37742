import Bytes

/// Signs that a channel has died alone: since when there have been any without a message of the channel, and how often
/// it has been found dead since its last message.
///
/// A sign is a contradiction by another channel (`FrozenBook`, `ChannelDoubts`), or the silence of a channel that
/// promises to speak (`SilenceWatch`). The caller decides what a sign is. This value decides when the signs suffice:
/// after `patience`; after an attempt to revive the channel, after twice the time of the attempt before, up to
/// `longestPatience`.
///
/// A value of four words; time is a parameter; each call is O(1).
package struct ChannelDoubt {
  /// The longest patience after attempts that did not help, µs.
  package static let longestPatience = 10 * Microseconds.minute

  /// When the first of the signs that count came; nil without any.
  package private(set) var first: Timestamp?
  package private(set) var last = Timestamp.distantPast
  /// How often the channel has been found dead since its last message.
  package private(set) var attempts = 0

  /// - Parameter first: since when there is a lasting sign.
  package init(since first: Timestamp? = nil) { self.first = first }

  /// The channel spoke.
  package mutating func end() {
    first = nil
    attempts = 0
  }

  /// The sign is gone, and the channel did not speak.
  package mutating func forget() { first = nil }

  /// Notes a sign that lasts until it is forgotten.
  package mutating func begin(now: Timestamp) {
    first = first ?? now
    last = now
  }

  /// A lasting sign counts from `now` on.
  package mutating func restart(now: Timestamp) { first = now }

  /// When a lasting sign suffices; nil without one.
  package func due(patience: Int64) -> Timestamp? {
    first.map { $0 + min(patience << min(attempts, 10), max(patience, Self.longestPatience)) }
  }

  /// Whether the lasting sign suffices: once for each attempt to revive the channel.
  package mutating func isDead(patience: Int64, now: Timestamp) -> Bool {
    guard let due = due(patience: patience), now >= due else { return false }
    first = now
    attempts += 1
    return true
  }

  /// Notes a sign of one moment, of which two must come with the patience between them. Returns whether the channel is
  /// dead: once for each attempt to revive it.
  /// - Parameters:
  ///   - memory: signs further apart than this do not count together, µs.
  ///   - resumed: when the connection spoke again after its last stall: earlier signs do not count.
  package mutating func note(
    patience: Int64, memory: Int64, since resumed: Timestamp, now: Timestamp
  ) -> Bool {
    let isFirst = first.map { $0 < resumed || now - last > memory || now < last } ?? true
    last = now
    guard !isFirst else {
      first = now
      return false
    }
    return isDead(patience: patience, now: now)
  }
}
