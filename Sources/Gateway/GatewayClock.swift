import Glibc
import MarketData

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at the monotonic rate.
struct GatewayClock {
  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64

  init() {
    let offset = GatewayClock.wallMicroseconds() - GatewayClock.monotonicMicroseconds()
    self.offset = offset
    self.last = GatewayClock.monotonicMicroseconds() + offset
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp {
    last = max(last, GatewayClock.monotonicMicroseconds() + offset)
    return Timestamp(microseconds: last)
  }

  /// Follows the wall clock; call about once a second. Answers the step made, in µs, if it was over 100 ms.
  mutating func follow() -> Int64? {
    let fresh = GatewayClock.wallMicroseconds() - GatewayClock.monotonicMicroseconds()
    let step = fresh - offset
    offset = fresh
    return abs(step) > 100_000 ? step : nil
  }

  static func monotonicMicroseconds() -> Int64 { microseconds(CLOCK_MONOTONIC) }
  static func wallMicroseconds() -> Int64 { microseconds(CLOCK_REALTIME) }

  private static func microseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }
}
