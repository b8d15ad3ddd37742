import Bytes
import MarketData

/// How a venue writes the time of an event.
enum VenueClock {
  /// A count of ms or µs since 1970, bare or in quotes.
  case epoch
  /// A count of ns since 1970, bare or in quotes.
  case nanoseconds
  /// RFC 3339.
  case text
}

/// Times as venues write them.
enum VenueTime {
  /// Reads `2026-08-25T03:35:57.096368Z` (RFC 3339 section 5.6, offset `Z` or `±hh:mm`, any number of fraction
  /// digits, cut to µs). Nil if it is not one, or before 1970: Coinbase sends the year 0001 and Kraken 1970 for "no
  /// time".
  static func rfc3339(_ text: RawSpan) -> Timestamp? {
    text.withUnsafeBytes { bytes in
      guard bytes.count >= 20 else { return nil }
      var areDigits = true
      func digit(_ at: Int) -> Int64 {
        let digit = bytes[at] &- UInt8(ascii: "0")
        areDigits = areDigits && digit < 10
        return Int64(digit)
      }
      func pair(_ at: Int) -> Int64 { digit(at) * 10 + digit(at + 1) }
      func isByte(_ at: Int, _ byte: Unicode.Scalar) -> Bool { bytes[at] == UInt8(ascii: byte) }
      let year = pair(0) * 100 + pair(2)
      let (month, day, hour, minute, second) = (pair(5), pair(8), pair(11), pair(14), pair(17))
      guard areDigits, isByte(4, "-"), isByte(7, "-"), bytes[10] | 0x20 == UInt8(ascii: "t"), isByte(13, ":"),
        isByte(16, ":"), year > 1970 || (year == 1970 && (month > 1 || day > 1)), (1...12).contains(month),
        (1...31).contains(day), hour < 24, minute < 60, second <= 60
      else { return nil }
      var index = 19
      var micro: Int64 = 0
      if isByte(index, ".") {
        index += 1
        var unit: Int64 = 1_000_000
        let begin = index
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 {
          if unit > 1 {
            micro = micro * 10 + Int64(bytes[index] &- UInt8(ascii: "0"))
            unit /= 10
          }
          index += 1
        }
        guard index > begin else { return nil }
        micro *= unit
      }
      guard index < bytes.count else { return nil }
      var offset: Int64 = 0
      switch bytes[index] {
      case UInt8(ascii: "Z"), UInt8(ascii: "z"):
        guard index + 1 == bytes.count else { return nil }
      case UInt8(ascii: "+"), UInt8(ascii: "-"):
        guard index + 6 == bytes.count else { return nil }
        let (hours, minutes) = (pair(index + 1), pair(index + 4))
        guard areDigits, hours < 24, minutes < 60 else { return nil }
        offset = (hours * 3600 + minutes * 60) * (bytes[index] == UInt8(ascii: "-") ? -1 : 1)
      default: return nil
      }
      let days = CivilDate(year: year, month: month, day: day).daysSince1970
      let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
      return Timestamp(microseconds: seconds * 1_000_000 + micro)
    }
  }

  /// The day of a moment in UTC: `20261225`.
  static func day(_ time: Timestamp) -> String {
    let date = CivilTime(microseconds: max(0, time.microseconds)).date
    return String(date.year * 10_000 + date.month * 100 + date.day)
  }

  /// Reads a count of ms or µs since 1970: above 10^14 it can only be µs (10^14 ms is the year 5138).
  static func epoch(_ value: Int64) -> Timestamp? {
    guard value > 0 else { return nil }
    if value < 100_000_000_000_000 { return Timestamp(milliseconds: value) }
    return value < 100_000_000_000_000_000 ? Timestamp(microseconds: value) : nil
  }

  /// As `epoch`, or a count of ns: above 10^17 it can only be that (10^17 µs is the year 5138).
  static func nanoseconds(_ value: Int64) -> Timestamp? {
    value >= 100_000_000_000_000_000 ? Timestamp(microseconds: value / 1_000) : epoch(value)
  }

  /// A count of seconds since 1970 with digits after the point, cut to µs: `1688669597.8277369`. Nil before 1970 and
  /// after the year 5138.
  static func seconds(_ value: Decimal64) -> Timestamp? {
    guard value.mantissa > 0, value.scale <= DecimalText.scaleLimit else { return nil }
    let microseconds = Int128(value.mantissa) * 1_000_000 / Int128(DecimalText.power(value.scale))
    return microseconds < 100_000_000_000_000_000 ? Timestamp(microseconds: Int64(microseconds)) : nil
  }

  /// A count of ms since 1970 with digits after the point, cut to µs: `1606292218213.4578`. Nil before 1970 and after
  /// the year 5138.
  static func milliseconds(_ value: Decimal64) -> Timestamp? {
    guard value.mantissa > 0 else { return nil }
    let micro: Int64
    if value.scale >= 3 {
      micro = value.mantissa / Int64(DecimalText.power(value.scale - 3))
    } else {
      let (product, overflow) = value.mantissa.multipliedReportingOverflow(
        by: Int64(DecimalText.power(3 - value.scale)))
      guard !overflow else { return nil }
      micro = product
    }
    return micro > 0 && micro < 100_000_000_000_000_000 ? Timestamp(microseconds: micro) : nil
  }
}
