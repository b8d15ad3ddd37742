import Testing

@testable import Bytes

@Suite("Civil dates")
struct CivilDateTests {
  @Test("every day of a thousand years is the day after the one before, and leads back to its number")
  func walk() {
    var date = CivilDate(year: 1500, month: 1, day: 1)
    var days = date.daysSince1970
    while date.year < 2500 {
      #expect(CivilDate(daysSince1970: days) == date)
      #expect(date.daysSince1970 == days && date.isValid)
      let isLeap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0)
      let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      if date.day < lengths[Int(date.month) - 1] {
        date.day += 1
      } else {
        date.day = 1
        date.month += 1
        if date.month > 12 { (date.year, date.month) = (date.year + 1, 1) }
      }
      days += 1
      guard CivilDate(daysSince1970: days) == date else {
        Issue.record("day \(days) is not \(date)")
        return
      }
    }
  }

  @Test(
    "known days, also before year 0",
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2026, 12, 25, 20_812), (0, 3, 1, -719_468),
      (-1, 12, 31, -719_529),
    ] as [(Int64, Int64, Int64, Int64)])
  func known(_ year: Int64, _ month: Int64, _ day: Int64, _ days: Int64) {
    #expect(CivilDate(year: year, month: month, day: day).daysSince1970 == days)
    #expect(CivilDate(daysSince1970: days) == CivilDate(year: year, month: month, day: day))
  }

  @Test("days that no month has are not valid")
  func invalid() {
    for (month, day) in [(2, 30), (4, 31), (13, 1), (0, 1), (1, 0), (1, 32)] as [(Int64, Int64)] {
      #expect(!CivilDate(year: 2024, month: month, day: day).isValid, "\(month)-\(day)")
    }
    #expect(CivilDate(year: 2024, month: 2, day: 29).isValid && !CivilDate(year: 2023, month: 2, day: 29).isValid)
  }

  @Test(
    "moments are written in UTC to the microsecond, also before 1970",
    arguments: [
      (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
      (1_787_307_300_000_042, "2026-08-21T10:15:00.000042Z"), (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
    ])
  func moments(_ microseconds: Int64, _ text: String) {
    #expect(CivilTime(microseconds: microseconds).description == text)
  }

  @Test("a stamp has the second and nothing that a file name cannot have")
  func stamp() { #expect(CivilTime(microseconds: 1_787_307_300_000_042).stamp == "20260821T101500Z") }
}
