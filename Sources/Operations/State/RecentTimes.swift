import Bytes

/// Separates the last seconds of a histogram, which counts since the start, from earlier values. A value of one owner.
package struct RecentTimes: Sendable {
  /// The counts at the end of the interval before the last one, and at the end of the last one.
  private var early: Histogram
  private var late: Histogram

  package init(_ now: Histogram) {
    early = now
    late = now
  }

  /// Ends an interval.
  package mutating func turn(_ now: Histogram) {
    early = late
    late = now
  }

  /// The values of the last one to two intervals.
  package func recent(_ now: Histogram) -> Histogram { now.since(early) }
}
