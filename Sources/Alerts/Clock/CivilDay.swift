import Bytes

/// Days of the proleptic Gregorian calendar, counted from 1970-01-01.
package enum CivilDay {
  /// The number of a date: 0 for 1970-01-01. `month` 1…12, `day` 1…31. O(1).
  package static func number(year: Int64, month: Int64, day: Int64) -> Int64 {
    CivilDate(year: year, month: month, day: day).daysSince1970
  }

  /// The year that holds the day `number`. O(1).
  package static func year(of number: Int64) -> Int64 {
    CivilDate(daysSince1970: number).year
  }

  /// 0 for Monday … 6 for Sunday. 1970-01-01 was a Thursday.
  package static func weekday(of number: Int64) -> Int { Int(floorModulo(number + 3, 7)) }

  package static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  /// Seconds in a day.
  package static let seconds: Int64 = 86_400
}

/// The quotient rounded down, even for negative numbers. Precondition: `b` > 0.
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

  /// The names of the days in rules, Monday first.
  package static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  /// Whether the day with that number (`CivilDay`) is one of them.
  package func hasDay(_ number: Int64) -> Bool { rawValue & (1 << UInt8(CivilDay.weekday(of: number))) != 0 }
}
