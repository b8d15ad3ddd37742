import MarketData
import Recordings

/// The clock of one replay: which moment of the recording is due at a moment of the gateway's monotonic clock, and the
/// other way round. A plain value.
struct ReplayPace {
  private(set) var speed: ReplaySpeed
  /// A moment of the recording and the µs of the clock that belong together; nil: the replay has not begun.
  private var base: (time: Timestamp, moment: Int64)?

  init(_ speed: ReplaySpeed) { self.speed = speed }

  /// Begins at a moment of the recording.
  mutating func begin(at time: Timestamp, moment: Int64) { base = (time, moment) }

  /// Whether it has a moment.
  var hasBegun: Bool { base != nil }

  mutating func set(_ speed: ReplaySpeed, at time: Timestamp, moment: Int64) {
    self.speed = speed
    if base != nil { begin(at: time, moment: moment) }
  }

  /// The last moment of the recording that is due; nil before the beginning.
  func due(at moment: Int64) -> Timestamp? {
    guard let factor = speed.factor else { return .distantFuture }
    guard let base else { return nil }
    let span = Double(max(0, moment - base.moment)) * factor
    return base.time + Int64(min(span, Double(Timestamp.readable.upperBound.microseconds)))
  }

  /// µs from `moment` until `time` is due, at least 0.
  func wait(for time: Timestamp, at moment: Int64) -> Int64 {
    guard let base, speed.factor != nil else { return 0 }
    return max(0, base.moment + speed.wait(for: max(0, time - base.time)) - moment)
  }
}
