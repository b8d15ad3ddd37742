import MarketData
import Transport

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at nine tenths of the monotonic rate, so that it is never still: heartbeats,
/// pulses and rate classes live on it.
struct GatewayClock {
  private let kernel: any Kernel
  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64
  /// As the wall clock last had it.
  private var seen: Int64

  /// Taken back of each second while the wall clock stands behind, µs.
  private static let slew: Int64 = 100_000
  /// A difference in the wall clock's course that is called a step, µs.
  private static let stepLimit: Int64 = 100_000

  init(kernel: any Kernel) {
    self.kernel = kernel
    let offset = kernel.wallMicroseconds() - kernel.monotonicMicroseconds
    self.offset = offset
    self.seen = offset
    self.last = kernel.monotonicMicroseconds + offset
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp {
    last = max(last, kernel.monotonicMicroseconds + offset)
    return Timestamp(microseconds: last)
  }

  /// Follows the wall clock; call once a second. Answers by how much the wall clock was set since the last call, and how far this
  /// clock jumped for it, both in µs, if it was set by over 100 ms.
  mutating func follow() -> (step: Int64, jump: Int64)? {
    let before = offset
    let fresh = kernel.wallMicroseconds() - kernel.monotonicMicroseconds
    let step = fresh - seen
    seen = fresh
    offset = max(fresh, offset - Self.slew)
    return abs(step) > Self.stepLimit ? (step, max(0, offset - before)) : nil
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
