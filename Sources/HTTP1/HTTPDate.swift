import Bytes

/// The preferred date format of HTTP, IMF-fixdate (RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT` for 784111777. Range: years 0 to 9999. Call it once a second, not for each
  /// response.
  package static func format(secondsSince1970 seconds: Int64) -> String {
    let time = CivilTime(microseconds: seconds * 1_000_000)
    let date = time.date
    let weekday = days[Int((date.daysSince1970 % 7 + 7) % 7)]
    let day = "\(CivilTime.padded(date.day)) \(months[Int(date.month) - 1]) \(CivilTime.padded(date.year, 4))"
    let clock = [time.hour, time.minute, time.second].map { CivilTime.padded($0) }.joined(separator: ":")
    return "\(weekday), \(day) \(clock) GMT"
  }

  /// Seconds since 1970 of an IMF-fixdate, the only format in use: `Sun, 06 Nov 1994 08:49:37 GMT`. Nil for any other
  /// text, and for a day or an hour that does not exist. Range: years 1970 to 9999.
  package static func parse(_ text: String) -> Int64? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard text.utf8.count == 29, parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
      days.contains(String(parts[0].dropLast())), let month = months.firstIndex(of: String(parts[2])),
      let day = number(parts[1], digits: 2), let year = number(parts[3], digits: 4), year >= 1970
    else { return nil }
    let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(time[0], digits: 2), let minute = number(time[1], digits: 2),
      let second = number(time[2], digits: 2), hour < 24, minute < 60, second <= 60
    else { return nil }
    let date = CivilDate(year: Int64(year), month: Int64(month + 1), day: Int64(day))
    guard date.isValid else { return nil }
    return date.daysSince1970 * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
  }

  private static func number(_ text: Substring, digits: Int) -> Int? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int(text)
  }
}
