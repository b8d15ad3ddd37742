import MarketData

/// Counts the ticks of a loop. They fall on the moments at which pulses leave, so that a quiet loop wakes once for
/// both.
struct TickCount {
  private static let perSecond = Microseconds.second / PulseMerger.interval

  /// What a tick begins.
  struct Beginning: Equatable {
    /// A second has passed since the last tick with which one began.
    var isSecond = false
    /// Every other tick is one of the feeds.
    var isOfFeeds = false
  }

  /// The last tick, since 1970, and the last one with which a second began.
  private var number: Int64 = 0
  private var second: Int64

  init(at now: Timestamp) { second = now.microseconds / PulseMerger.interval }

  /// The time from a moment to the next tick, µs.
  static func wait(from now: Timestamp) -> Int64 { PulseMerger.interval - now.microseconds % PulseMerger.interval }

  /// Takes a tick. A late loop may leave ticks out.
  mutating func take(at now: Timestamp) -> Beginning {
    let next = now.microseconds / PulseMerger.interval
    let beginning = Beginning(isSecond: next - second >= Self.perSecond, isOfFeeds: next / 2 != number / 2)
    if beginning.isSecond { second = next }
    number = next
    return beginning
  }
}
