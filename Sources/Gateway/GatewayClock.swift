import MarketData
import Transport

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at nearly the monotonic rate and the rest of the step is caught up with slowly.
struct GatewayClock {
  /// What is taken back of a backward step with each call of `follow`, µs: 0.05 % at one a second, as adjtime(3) does.
  private static let slew: Int64 = 500
  /// The smallest step that is reported, µs.
  private static let reportedStep: Int64 = 100_000

  private let kernel: any Kernel
  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64
  /// How far the wall clock stands behind, µs, as known.
  private var lag: Int64 = 0

  init(kernel: any Kernel) {
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

  /// Follows the wall clock; call about once a second. Answers a step of the wall clock by more than 100 ms, in µs, once; one forward
  /// is then also a step of `now`.
  mutating func follow() -> Int64? {
    let step = kernel.wallMicroseconds() - kernel.monotonicMicroseconds - offset
    if step >= 0 {
      offset += step
      lag = 0
      return step > Self.reportedStep ? step : nil
    }
    let news = -step - lag
    offset -= min(-step, Self.slew)
    lag = max(0, -step - Self.slew)
    return abs(news) > Self.reportedStep ? -news : nil
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
