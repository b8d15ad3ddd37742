/// Full-jitter exponential back-off: each wait is drawn evenly from 0 to a ceiling that doubles, so that many clients
/// of one venue do not come back together. Without end: a venue that is down for a day is tried for a day.
struct Backoff {
  /// The first ceiling, ms.
  static let base: UInt64 = 250
  /// The last ceiling, ms.
  let limit: UInt64

  /// Attempts since the last reset.
  private(set) var attempt = 0

  /// - Parameter limitSeconds: the last ceiling, at least 1.
  init(limitSeconds: Int = 30) { limit = UInt64(max(1, limitSeconds)) * 1_000 }

  /// The ceiling of the next wait, ms.
  var ceiling: UInt64 { min(limit, Backoff.base << UInt64(min(attempt, 16))) }

  /// The next wait in ms, for a random number.
  mutating func next(random: UInt64) -> UInt64 {
    let wait = random % (ceiling + 1)
    attempt += 1
    return wait
  }

  /// After the connection has been good for long enough.
  mutating func reset() { attempt = 0 }
}
