import Bytes

/// Separates the last seconds of a histogram, which counts since the start, from earlier values. A value of one owner.
struct RecentTimes: Sendable {
  /// What had been counted at the end of the interval before the last one, and of the last one.
  private var early: Histogram
  private var late: Histogram

  init(_ now: Histogram) {
    early = now
    late = now
  }

  /// An interval is over.
  mutating func turn(_ now: Histogram) {
    early = late
    late = now
  }

  /// What was counted in the last one to two intervals.
  func recent(_ now: Histogram) -> Histogram { now.since(early) }
}
