import MarketData

/// How long candles are kept, by resolution. Nil: for ever.
package struct Retention: Sendable, Equatable {
  package var minute: Int64?
  package var quarter: Int64?
  package var hour: Int64?
  package var day: Int64?

  /// µs. Minutes for 30 days, quarters of an hour for a year, hours and days for ever.
  package init(
    minute: Int64? = 30 * Microseconds.day, quarter: Int64? = 366 * Microseconds.day, hour: Int64? = nil,
    day: Int64? = nil
  ) {
    self.minute = minute
    self.quarter = quarter
    self.hour = hour
    self.day = day
  }

  package subscript(_ resolution: Resolution) -> Int64? {
    switch resolution {
    case .minute: minute
    case .quarter: quarter
    case .hour: hour
    case .day: day
    }
  }

  /// Candles before this moment are deleted; nil: none are.
  func cut(_ resolution: Resolution, now: Timestamp) -> Timestamp? {
    self[resolution].map { resolution.start(of: resolution.number(of: now - $0)) }
  }
}
