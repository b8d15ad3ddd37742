import Bytes
import MarketData

/// Moments as people write them on a command line.
package enum RecordingTime {
  /// What is accepted, for a refusal.
  package static let form = "a time is written 2026-08-21T14:30:00Z, with a fraction of a second if needed"

  /// Reads `2026-08-21T14:30:00Z`, with up to six digits of a fraction. Nil if it is no such time.
  package static func read(_ text: String) -> Timestamp? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"), let date = date(bytes[..<10]),
      bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let hour = number(bytes[11..<13]), hour < 24, let minute = number(bytes[14..<16]), minute < 60,
      let second = number(bytes[17..<19]), second < 60
    else { return nil }
    var fraction: Int64 = 0
    if bytes.count > 20 {
      let digits = bytes[20..<(bytes.count - 1)]
      guard bytes[19] == UInt8(ascii: "."), (1...6).contains(digits.count), let value = number(digits) else {
        return nil
      }
      fraction = (digits.count..<6).reduce(value) { sum, _ in sum * 10 }
    }
    let seconds = (date.daysSince1970 * 24 + hour) * 3_600 + minute * 60 + second
    return Timestamp(reading: seconds * Microseconds.second + fraction)
  }

  /// `2026-08-21`
  private static func date(_ bytes: ArraySlice<UInt8>) -> CivilDate? {
    guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), let year = number(bytes[..<4]),
      let month = number(bytes[5..<7]), let day = number(bytes[8..<10])
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    return date.isValid ? date : nil
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// `2026-08-21T14:30:00.000042Z`
  package static func text(_ time: Timestamp) -> String { CivilTime(microseconds: time.microseconds).description }
}
