import MarketData

/// A clock that never goes back and follows one that may be set; see `GatewayClock`.
struct SlewingClock {
  /// The part of a backward step that each call of `follow` corrects, µs: 0.05 % at one call a second, as adjtime(3)
  /// does.
  private static let slew: Int64 = 500
  /// The smallest step that is reported, µs.
  private static let reportedStep: Int64 = 100_000

  /// Microseconds from the monotonic clock to UTC.
  private var offset: Int64
  private var last: Int64
  /// How far the wall clock is behind this clock, µs, at the last check.
  private var lag: Int64 = 0

  /// - Parameters:
  ///   - wall: µs UTC.
  ///   - monotonic: µs at the same moment.
  init(wall: Int64, monotonic: Int64) {
    offset = wall - monotonic
    last = wall
  }

  mutating func now(monotonic: Int64) -> Timestamp {
    last = max(last, monotonic + offset)
    return Timestamp(microseconds: last)
  }

  /// Returns a step of the wall clock by more than 100 ms, in µs, once. A step forward is also a step of `now`.
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
}
