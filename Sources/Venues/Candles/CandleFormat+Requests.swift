import MarketData

/// Words that the requests of several venues share. Each venue's format is from its documents, from clients that use
/// it, or from recorded answers; where they disagree the answer counts.
extension CandleFormat {
  /// `2026-11-22T19:05:00Z`.
  static func text(_ time: Timestamp) -> String {
    let day = VenueTime.day(time)
    let second = time.seconds % 86_400
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(day.prefix(4))-\(day.dropFirst(4).prefix(2))-\(day.suffix(2))"
      + "T\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
  }

  /// The names of intervals that most venues use.
  static let usual: [CandleInterval: String] = [
    .minute: "1m", .fiveMinutes: "5m", .quarterHour: "15m", .hour: "1h", .fourHours: "4h", .day: "1d",
  ]
}

extension Timestamp {
  /// Whole seconds since 1970.
  var seconds: Int64 { microseconds / Microseconds.second }
  /// Whole milliseconds since 1970.
  var milliseconds: Int64 { microseconds / Microseconds.millisecond }
}
