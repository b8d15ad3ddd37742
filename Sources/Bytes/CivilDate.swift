/// A day of the proleptic Gregorian calendar: what days since 1970-01-01 and dates have to do with each other, once.
///
/// Years are counted from March, so that the leap day is the last of its year, in eras of 400 years (146,097 days).
/// Exact for years −1,000,000…1,000,000. O(1), no allocation.
package struct CivilDate: Sendable, Equatable {
  package var year: Int64
  /// 1…12.
  package var month: Int64
  /// 1…31.
  package var day: Int64

  package init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date of a day. - Parameter days: since 1970-01-01, negative before it.
  package init(daysSince1970 days: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * march + 2) / 5 + 1
    month = march < 10 ? march + 3 : march - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days since 1970-01-01. A day or month out of range counts on: April 31 is May 1.
  package var daysSince1970: Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Whether the calendar has this day: April has no 31st.
  package var isValid: Bool {
    (1...12).contains(month) && (1...31).contains(day) && CivilDate(daysSince1970: daysSince1970) == self
  }
}

/// A moment of UTC taken apart: its day and the time of that day.
package struct CivilTime: Sendable, Equatable, CustomStringConvertible {
  package let date: CivilDate
  /// 0…23.
  package let hour: Int64
  /// 0…59.
  package let minute: Int64
  /// 0…59.
  package let second: Int64
  /// 0…999,999.
  package let microsecond: Int64

  /// - Parameter microseconds: since 1970, negative before it.
  package init(microseconds: Int64) {
    let perDay: Int64 = 86_400_000_000
    let rest = microseconds % perDay
    let inDay = rest < 0 ? rest + perDay : rest
    date = CivilDate(daysSince1970: (microseconds - inDay) / perDay)
    hour = inDay / 3_600_000_000
    minute = inDay / 60_000_000 % 60
    second = inDay / 1_000_000 % 60
    microsecond = inDay % 1_000_000
  }

  /// `2026-08-21T10:15:00.000042Z` (RFC 3339).
  package var description: String {
    let day = "\(Self.padded(date.year, 4))-\(Self.padded(date.month))-\(Self.padded(date.day))"
    let time = "\(Self.padded(hour)):\(Self.padded(minute)):\(Self.padded(second))"
    return "\(day)T\(time).\(Self.padded(microsecond, 6))Z"
  }

  /// `20260821T101500Z`
  package var stamp: String {
    Self.padded(date.year, 4) + Self.padded(date.month) + Self.padded(date.day) + "T" + Self.padded(hour)
      + Self.padded(minute) + Self.padded(second) + "Z"
  }

  /// At least `width` digits, with zeros before them.
  package static func padded(_ value: Int64, _ width: Int = 2) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
