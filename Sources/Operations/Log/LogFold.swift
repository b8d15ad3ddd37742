import Logging

/// The second station of a line of the log: writes a burst of lines of each event in ten seconds, counts further ones,
/// and then has one line with their number written. So even a fast series of failures writes only these lines. A value
/// of one owner.
struct LogFold: Sendable {
  /// Lines of one event in one interval.
  static let burst = 20
  /// µs.
  static let interval: Int64 = 10_000_000
  /// Events that are counted one by one; all others share one.
  static let eventLimit = 256

  private struct Series {
    var begunAt: Int64
    var written = 0
    var leftOut = 0
  }
  private var series: [String: Series] = [:]

  /// Counts a line of an event.
  /// - Parameter time: µs; it may step back.
  /// - Returns: whether the line is written, and the line to write before it about earlier ones that were left out.
  mutating func take(_ event: String, at time: Int64) -> (isWritten: Bool, summary: LogLine?) {
    let name = series[event] != nil || series.count < Self.eventLimit ? event : "other"
    var one = series[name] ?? Series(begunAt: time)
    var summary: LogLine?
    if time - one.begunAt >= Self.interval || time < one.begunAt {
      summary = Self.summary(name, one)
      one = Series(begunAt: time)
    }
    let isWritten = one.written < Self.burst
    if isWritten { one.written += 1 } else { one.leftOut += 1 }
    series[name] = one
    return (isWritten, summary)
  }

  /// Ends the series whose interval is over.
  /// - Returns: a line for each that left lines out, by event.
  mutating func end(at time: Int64) -> [LogLine] {
    let due = series.filter { time - $0.value.begunAt >= Self.interval }.sorted { $0.key < $1.key }
    for (name, _) in due { series[name] = nil }
    return due.compactMap { Self.summary($0.key, $0.value) }
  }

  private static func summary(_ event: String, _ series: Series) -> LogLine? {
    guard series.leftOut > 0 else { return nil }
    return LogLine(
      level: .notice, message: "lines of an event were left out",
      fields: [("count", "\(series.leftOut)"), ("of", event), ("seconds", "\(interval / 1_000_000)")])
  }
}
