import Bytes
import MarketData

/// When a book that fails may be rebuilt: at once the first time, ever more rarely after that. One for each book,
/// whether its snapshots come in the stream (`StreamedBook`) or are asked for apart (`RequestPacer`).
///
/// - **Closed**: the first rebuild is at once; each one after it waits twice as long, from 1 s to 1 min, until the
///   book has been live for `settled`.
/// - **Open**: a book that has failed `failureLimit` times within `window` is left alone for `firstRest`, then twice
///   as long after each attempt that does not hold, up to `longestRest`. The symbol counts as failed meanwhile; the
///   others know nothing of it.
/// - An attempt **holds** when the book has been live for `proven`; then all is forgotten.
///
/// No randomness: attempts are paced and few, and the same failures give the same times. What fails for all of a
/// venue (a ban, no answer) is not counted here.
struct BookCircuit {
  static let settled = 30 * Microseconds.second
  static let failureLimit = 10
  static let window = 10 * Microseconds.minute
  static let firstRest = 2 * Microseconds.minute
  static let longestRest = 15 * Microseconds.minute
  static let proven = 5 * Microseconds.minute

  private var backoff = Backoff(first: Microseconds.second, limit: Microseconds.minute)
  /// Whether the book was rebuilt since it was last settled.
  private var isUnsettled = false
  /// The newest failures, at most `failureLimit`, oldest first.
  private var failures: [Timestamp] = []
  /// How often in a row it has opened.
  private var openings = 0
  private var total = 0
  private var liveSince: Timestamp?
  /// Before this time nothing is attempted.
  private(set) var nextAttempt = Timestamp.distantPast

  /// Whether the book counts as failed: the circuit has opened, and the book has not been live since.
  var failure: BookFailure? {
    openings > 0 && liveSince == nil ? BookFailure(failures: total, nextAttempt: nextAttempt) : nil
  }

  /// The book that was live has been lost. Returns when it may be rebuilt.
  mutating func lost(now: Timestamp) -> Timestamp {
    if let liveSince {
      if now - liveSince >= Self.settled {
        backoff.reset()
        isUnsettled = false
      }
      if now - liveSince >= Self.proven { forget() }
    }
    return next(after: isUnsettled ? backoff.next() : 0, now)
  }

  /// An attempt brought no book. Returns when the next may begin.
  mutating func failed(now: Timestamp) -> Timestamp { next(after: backoff.next(), now) }

  /// The book is live.
  mutating func isLive(now: Timestamp) { liveSince = liveSince ?? now }

  /// The connection is gone: the book is not live, through no fault of its own.
  mutating func disconnected() { liveSince = nil }

  private mutating func next(after wait: Int64, _ now: Timestamp) -> Timestamp {
    liveSince = nil
    isUnsettled = true
    total += 1
    failures.removeAll { now - $0 >= Self.window }
    if failures.count == Self.failureLimit { failures.removeFirst() }
    failures.append(now)
    var wait = wait
    if openings > 0 || failures.count == Self.failureLimit {
      wait = min(Self.firstRest << min(openings, 10), Self.longestRest)
      openings += 1
    }
    nextAttempt = now + wait
    return nextAttempt
  }

  private mutating func forget() {
    failures.removeAll()
    openings = 0
    total = 0
  }
}

/// A book that has failed too often, and is left alone for a while.
package struct BookFailure: Sendable, Equatable {
  /// Rebuilds since it was last good for long.
  package let failures: Int
  package let nextAttempt: Timestamp
}
