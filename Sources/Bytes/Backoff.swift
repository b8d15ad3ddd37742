/// Waits after failures, whose ceiling doubles: `first`, 2 × `first` … `limit`, in whatever unit of time these two have.
/// Without end: a venue that is down for a day is tried for a day.
package struct Backoff: Sendable {
  /// The first ceiling.
  package let first: Int64
  /// The last ceiling.
  package let limit: Int64
  /// Failures since the last reset.
  package private(set) var attempts = 0

  /// Precondition: 0 < `first` ≤ `limit`.
  package init(first: Int64, limit: Int64) {
    precondition(first > 0 && first <= limit)
    self.first = first
    self.limit = limit
  }

  /// The ceiling of the next wait.
  package var ceiling: Int64 { Self.ceiling(first: first, limit: limit, attempts: attempts) }

  /// The ceiling of the wait after so many failures before.
  package static func ceiling(first: Int64, limit: Int64, attempts: Int) -> Int64 {
    let doublings = min(attempts, 62)
    return first > limit >> doublings ? limit : first << doublings
  }

  /// The next wait where nobody waits along: the ceiling, as for requests that are paced.
  package mutating func next() -> Int64 {
    defer { attempts += 1 }
    return ceiling
  }

  /// The next wait of one in a crowd, for a random number: drawn evenly from 0 to the ceiling ("full jitter"), so that
  /// many clients of one server do not come back together. Precondition: numbers reach beyond `limit`.
  package mutating func next(random: UInt64) -> Int64 { Int64(random % (UInt64(next()) + 1)) }

  /// After it has been good for long enough.
  package mutating func reset() { attempts = 0 }
}
