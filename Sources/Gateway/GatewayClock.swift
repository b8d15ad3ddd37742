import Bytes
import HTTP1
import MarketData
import Transport

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock. It follows forward steps at once. If the wall clock is
/// set back, this clock continues at nearly the monotonic rate, and approaches the wall clock slowly.
struct GatewayClock {
  private let kernel: any Kernel
  private var time: SlewingClock
  /// The time of the last `follow`, as heads of answers show it.
  private(set) var httpDate = ""

  init(kernel: any Kernel) {
    self.kernel = kernel
    time = SlewingClock(wall: kernel.wallMicroseconds(), monotonic: kernel.monotonicMicroseconds)
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp { time.now(monotonic: kernel.monotonicMicroseconds) }

  /// Follows the wall clock; call about once a second. Returns a step of the wall clock by more than 100 ms, in µs,
  /// once. A step forward is also a step of `now`.
  mutating func follow() -> Int64? {
    defer { httpDate = HTTPDate.format(secondsSince1970: now().microseconds / Microseconds.second) }
    return time.follow(wall: kernel.wallMicroseconds(), monotonic: kernel.monotonicMicroseconds)
  }
}
