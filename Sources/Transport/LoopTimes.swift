import Bytes

/// Measures the turns and delays of a loop. Any thread may copy it; only the loop records.
package struct LoopTimes: Sendable {
  /// The durations of turns that did something, ns. Everything that arrived during a turn waited for its end.
  package internal(set) var turns = Histogram.durations
  /// How late the earliest timer of each turn ran, ns. Up to 1 ms is the granularity of timers.
  package internal(set) var lag = Histogram.durations
}
