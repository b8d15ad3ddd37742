import Bytes

/// Separates the last seconds of a histogram, which counts since the start, from earlier values. A value of one owner.
struct RecentTimes: Sendable {
  /// The counts at the end of the interval before the last one, and at the end of the last one.
  private var early: Histogram
  private var late: Histogram

  init(_ now: Histogram) {
    early = now
    late = now
  }

  /// Ends an interval.
  mutating func turn(_ now: Histogram) {
    early = late
    late = now
  }

  /// The values of the last one to two intervals.
  func recent(_ now: Histogram) -> Histogram { now.since(early) }
}
