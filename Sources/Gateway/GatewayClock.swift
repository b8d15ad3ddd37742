import MarketData
import Transport

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at the monotonic rate.
struct GatewayClock {
  private let kernel: Kernel
  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64

  init(kernel: Kernel) {
    self.kernel = kernel
    let offset = kernel.wallMicroseconds() - kernel.monotonicMicroseconds
    self.offset = offset
    self.last = kernel.monotonicMicroseconds + offset
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp {
    last = max(last, kernel.monotonicMicroseconds + offset)
    return Timestamp(microseconds: last)
  }

  /// Follows the wall clock; call about once a second. Answers the step made, in µs, if it was over 100 ms.
  mutating func follow() -> Int64? {
    let fresh = kernel.wallMicroseconds() - kernel.monotonicMicroseconds
    let step = fresh - offset
    offset = fresh
    return abs(step) > 100_000 ? step : nil
  }
}

extension Kernel {
  /// Monotonic µs, for time-outs.
  var monotonicMicroseconds: Int64 { Int64(uptime() / 1_000) }
}

extension EventLoop {
  /// Monotonic µs, for time-outs.
  var moment: Int64 { kernel.monotonicMicroseconds }
}
