import Glibc
import MarketData

/// The gateway's clock: microseconds UTC that never go back. Owned by one loop.
///
/// It runs on the monotonic clock and follows the wall clock: forward steps at once; while the wall clock stands behind what
/// has been told (a backward step), time goes on at nearly the monotonic rate and the rest of the step is caught up with slowly.
struct GatewayClock {
  /// What is taken back of a backward step with each call of `follow`, µs: 0.05 % at one a second, as adjtime(3) does.
  private static let slew: Int64 = 500
  /// The smallest step that is reported, µs.
  private static let reportedStep: Int64 = 100_000

  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64
  /// How far the wall clock stands behind, µs, as known.
  private var lag: Int64 = 0

  init() {
    self.init(wall: GatewayClock.wallMicroseconds(), monotonic: GatewayClock.monotonicMicroseconds())
  }

  init(wall: Int64, monotonic: Int64) {
    offset = wall - monotonic
    last = wall
  }

  /// The present moment; costs one `clock_gettime`.
  mutating func now() -> Timestamp { now(monotonic: GatewayClock.monotonicMicroseconds()) }

  mutating func now(monotonic: Int64) -> Timestamp {
    last = max(last, monotonic + offset)
    return Timestamp(microseconds: last)
  }

  /// Follows the wall clock; call about once a second. Answers a step of the wall clock by more than 100 ms, in µs, once; one forward
  /// is then also a step of `now`.
  mutating func follow() -> Int64? {
    follow(wall: GatewayClock.wallMicroseconds(), monotonic: GatewayClock.monotonicMicroseconds())
  }

  mutating func follow(wall: Int64, monotonic: Int64) -> Int64? {
    let step = wall - monotonic - offset
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

  static func monotonicMicroseconds() -> Int64 { microseconds(CLOCK_MONOTONIC) }
  static func wallMicroseconds() -> Int64 { microseconds(CLOCK_REALTIME) }

  private static func microseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }
}
