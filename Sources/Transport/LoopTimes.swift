import Bytes

/// Measures how a loop keeps up. Any thread may copy it; only the loop records.
package struct LoopTimes: Sendable {
  /// How long turns took that did something, ns: everything that came in the meantime waited for them.
  package internal(set) var turns = Histogram.durations
  /// How much later than asked for the earliest timer of a turn ran, ns. Up to 1 ms is the granularity of timers.
  package internal(set) var lag = Histogram.durations
}
