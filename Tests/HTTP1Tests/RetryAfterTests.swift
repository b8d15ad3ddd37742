import Testing

@testable import HTTP1

@Suite("Retry-After")
struct RetryAfterTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT
  private let now: Int64 = 784_111_777

  @Test(
    "seconds, within bounds",
    arguments: [
      ("120", 120), (" 7 ", 7), ("1", 1), ("0", 1), ("3600", 3_600), ("3601", 3_600), ("259200", 3_600),
      ("99999999999999999999999999", 3_600),
    ] as [(String, Int64)])
  func seconds(_ field: String, _ expected: Int64) { #expect(RetryAfter.seconds(field, now: now) == expected) }

  @Test(
    "a date, by the clock of whoever asks, within bounds",
    arguments: [
      ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sun, 06 Nov 1994 08:49:37 GMT", 1),
      ("Sat, 05 Nov 1994 00:00:00 GMT", 1), ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 1),
    ] as [(String, Int64)])
  func dates(_ field: String, _ expected: Int64) { #expect(RetryAfter.seconds(field, now: now) == expected) }

  @Test(
    "what is neither is nothing",
    arguments: [
      "", " ", "-1", "+5", "1.5", "soon", "1e3", "٣", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
    ])
  func junk(_ field: String) { #expect(RetryAfter.seconds(field, now: now) == nil) }

  @Test("every date that is written is read as the same second")
  func roundTrip() {
    var seconds: Int64 = 0
    while seconds < 8_000_000_000 {
      #expect(HTTPDate.parse(HTTPDate.format(secondsSince1970: seconds)) == seconds)
      // About a month, at an odd hour.
      seconds += 2_683_211
    }
    #expect(HTTPDate.parse("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800)
    #expect(HTTPDate.parse("Wed, 29 Feb 2023 00:00:00 GMT") == nil)
  }
}
