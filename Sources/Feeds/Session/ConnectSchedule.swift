import Bytes
import Synchronization
import Venues

/// Decides when the gateway may connect to a venue, over all of its connections: the venue counts them by address.
/// Shared by all loops.
///
/// After a burst of at most half of the venue's limit, turns follow evenly at half of its rate. Together they stay
/// within the limit in any span of the venue's interval. A feed takes a turn before each connection: at the start,
/// after a common outage and for a planned change. So there is no storm of connections. Bounded by the number of
/// connections: each waits for at most two turns.
package final class ConnectSchedule: Sendable {
  /// The most turns that may be taken at once after a pause.
  static let largestBurst = 8

  let burst: Int64
  /// The time from one turn to the next, µs.
  let interval: Int64
  /// The time at which turns would be used up evenly (the virtual scheduling of GCRA, ITU-T I.371), monotonic µs.
  private let due = Mutex<Int64>(Int64.min / 2)

  /// - Parameter limit: the connections that the venue allows in a span of time.
  package init(_ limit: ConnectLimit) {
    interval = max(1, 2 * limit.interval / Int64(limit.count))
    burst = Int64(max(1, min(Self.largestBurst, limit.count / 2)))
  }

  /// Takes the next turn.
  /// - Parameters:
  ///   - moment: monotonic µs.
  ///   - random: a random number for the jitter: a turn that is not immediate comes up to half an interval later.
  /// - Returns: how long to wait for the turn, µs; 0: connect now.
  func reserve(at moment: Int64, random: UInt32) -> Int64 {
    due.withLock { due in
      let start = max(due, moment)
      due = start + interval
      let wait = start - (burst - 1) * interval - moment
      return wait <= 0 ? 0 : wait + Int64(random) % (interval / 2 + 1)
    }
  }
}
