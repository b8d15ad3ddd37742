import MarketData
import Transport

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at nine tenths of the monotonic rate, so that it is never still: heartbeats,
/// pulses and rate classes live on it.
struct GatewayClock {
  private let kernel: any Kernel
  /// Microseconds from the monotonic clock to UTC, as the wall clock last had it.
  private var offset: Int64
  /// How far what is told was ahead of that at `leadAt` (monotonic µs); it shrinks by a tenth of the time that passes.
  private var lead: Int64 = 0
  private var leadAt: Int64 = 0
  private var last: Int64

  /// A difference in the wall clock's course that is called a step, µs.
  private static let stepLimit: Int64 = 100_000

  init(kernel: any Kernel) {
    self.kernel = kernel
    let moment = kernel.monotonicMicroseconds
    offset = kernel.wallMicroseconds() - moment
    last = moment + offset
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp {
    last = max(last, told(at: kernel.monotonicMicroseconds))
    return Timestamp(microseconds: last)
  }

  private func told(at moment: Int64) -> Int64 {
    moment + offset + (lead == 0 ? 0 : max(0, lead - (moment - leadAt) / 10))
  }

  /// Follows the wall clock; call about once a second. Answers by how much the wall clock was set since the last call, and how far
  /// this clock jumped for it, both in µs, if it was set by over 100 ms.
  mutating func follow() -> (step: Int64, jump: Int64)? {
    let moment = kernel.monotonicMicroseconds
    let before = told(at: moment)
    let fresh = kernel.wallMicroseconds() - moment
    let step = fresh - offset
    offset = fresh
    lead = max(0, before - (moment + fresh))
    leadAt = moment
    return abs(step) > Self.stepLimit ? (step, max(0, moment + fresh - before)) : nil
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
