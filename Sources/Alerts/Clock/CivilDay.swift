/// Days of the proleptic Gregorian calendar, counted from 1970-01-01.
package enum CivilDay {
  /// The number of a date: 0 for 1970-01-01. `month` 1…12, `day` 1…31. O(1).
  package static func number(year: Int64, month: Int64, day: Int64) -> Int64 {
    // Years begin on 1 March here, so that the leap day is a year's last; eras have 400 years.
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The year that holds the day `number`. O(1).
  package static func year(of number: Int64) -> Int64 {
    let shifted = number + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    // From March on: days 306 and later are January and February of the next year.
    return era * 400 + yearOfEra + (dayOfYear >= 306 ? 1 : 0)
  }

  /// 0 for Monday … 6 for Sunday. 1970-01-01 was a Thursday.
  package static func weekday(of number: Int64) -> Int { Int(floorModulo(number + 3, 7)) }

  package static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  /// Seconds in a day.
  package static let seconds: Int64 = 86_400
}

/// The quotient rounded down, also for negative numbers. Precondition: `b` > 0.
func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
  let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
  return remainder < 0 ? quotient - 1 : quotient
}

/// The remainder that belongs to `floorDivide`, 0 ..< `b`.
func floorModulo(_ a: Int64, _ b: Int64) -> Int64 {
  let remainder = a % b
  return remainder < 0 ? remainder + b : remainder
}

/// A set of weekdays.
package struct Weekdays: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let all = Weekdays(rawValue: 0x7F)
  package static let workdays = Weekdays(rawValue: 0x1F)

  /// The names of the days in rules, Monday first.
  package static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  /// Whether the day with that number (`CivilDay`) is one of them.
  package func hasDay(_ number: Int64) -> Bool { rawValue & (1 << UInt8(CivilDay.weekday(of: number))) != 0 }
}
