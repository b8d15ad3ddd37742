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

  private static func pad(_ value: Int, to width: Int = 2) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
