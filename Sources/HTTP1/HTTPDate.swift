/// The preferred date format of HTTP, IMF-fixdate (RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT` for 784111777. Range: years 0 to 9999. Call it once per second, not per response.
  package static func format(secondsSince1970 seconds: Int64) -> String {
    let second = Int(((seconds % 86_400) + 86_400) % 86_400)
    let day = (Int(seconds) - second) / 86_400
    // Days to a date in the proleptic Gregorian calendar, counting years from March so that the leap day is the last.
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * march + 2) / 5 + 1
    let month = march < 10 ? march + 3 : march - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let weekday = days[((day % 7) + 7) % 7]
    let time = "\(pad(second / 3_600)):\(pad(second / 60 % 60)):\(pad(second % 60))"
    return "\(weekday), \(pad(dayOfMonth)) \(months[month - 1]) \(pad(year, to: 4)) \(time) GMT"
  }

  /// Seconds since 1970 of an IMF-fixdate, the one format that is written today: `Sun, 06 Nov 1994 08:49:37 GMT`. Nil
  /// for anything else, and for a day or an hour that there is not. Range: years 1970 to 9999.
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
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...lengths[month]).contains(day) else { return nil }
    let before = year - 1
    let leapDays = (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400)
    let days = (year - 1970) * 365 + leapDays + lengths[..<month].reduce(0, +) + day - 1
    return Int64(days * 86_400 + hour * 3_600 + minute * 60 + second)
  }

  private static func number(_ text: Substring, digits: Int) -> Int? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int(text)
  }

  private static func pad(_ value: Int, to width: Int = 2) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
