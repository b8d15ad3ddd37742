import Bytes
import Synchronization
import Venues

/// When a venue's connections may be made, all of them together: the venue counts them by address. Shared by all loops.
///
/// Turns are given out evenly, at half of the rate that the venue allows, after a burst of at most half of what it
/// allows: together they never come to more than that in any span of its interval. A feed takes a turn each time it is
/// about to connect, at the start, after a common outage and for a planned change alike, so there is no storm. Bounded
/// by the number of connections: each has at most two turns that have not come.
final class ConnectSchedule: Sendable {
  /// The most turns that may be taken at once after a pause.
  static let largestBurst = 8

  let burst: Int64
  /// From one turn to the next, µs.
  let interval: Int64
  /// The time at which turns would be used up evenly (the virtual scheduling of GCRA, ITU-T I.371), monotonic µs.
  private let due = Mutex<Int64>(Int64.min / 2)

  init(_ limit: ConnectLimit) {
    interval = max(1, 2 * limit.interval / Int64(limit.count))
    burst = Int64(max(1, min(Self.largestBurst, limit.count / 2)))
  }

  /// Takes the next turn.
  /// - Parameters:
  ///   - moment: monotonic µs.
  ///   - random: from outside, for the jitter: turns that have to be waited for come up to half an interval later.
  /// - Returns: how long to wait for it, µs; 0: it has come.
  func reserve(at moment: Int64, random: UInt32) -> Int64 {
    due.withLock { due in
      let start = max(due, moment)
      due = start + interval
      let wait = start - (burst - 1) * interval - moment
      return wait <= 0 ? 0 : wait + Int64(random) % (interval / 2 + 1)
    }
  }
}
