import Bytes
import MarketData

/// Values as other protocols write them. No allocation.
extension ByteBuffer {
  /// Appends `2026-08-21T10:15:00.000042Z` (RFC 3339, µs).
  mutating func append(rfc3339 time: Timestamp) {
    let civil = CivilTime(microseconds: time.microseconds)
    append(digits: civil.date.year, 4)
    append(UInt8(ascii: "-"))
    append(digits: civil.date.month, 2)
    append(UInt8(ascii: "-"))
    append(digits: civil.date.day, 2)
    append(UInt8(ascii: "T"))
    append(digits: civil.hour, 2)
    append(UInt8(ascii: ":"))
    append(digits: civil.minute, 2)
    append(UInt8(ascii: ":"))
    append(digits: civil.second, 2)
    append(UInt8(ascii: "."))
    append(digits: civil.microsecond, 6)
    append(UInt8(ascii: "Z"))
  }

  /// Appends the last `count` digits of a number, with zeros before it.
  private mutating func append(digits value: Int64, _ count: Int) {
    var power: Int64 = 1
    for _ in 1..<count { power *= 10 }
    while power > 0 {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / power % 10))
      power /= 10
    }
  }

  /// Appends `,"name":value`, an exact number with the digits of its scale.
  mutating func append(_ name: StaticString, _ value: Int64, scale: UInt8) {
    appendName(name)
    append(decimal: value, scale: scale)
  }

  mutating func append(_ name: StaticString, _ value: Decimal64) { append(name, value.mantissa, scale: value.scale) }

  mutating func append(_ name: StaticString, integer value: Int64) {
    appendName(name)
    append(integer: value)
  }

  mutating func append(_ name: StaticString, text value: String) {
    appendName(name)
    append(json: value)
  }

  /// Appends `,"name":`.
  mutating func appendName(_ name: StaticString) {
    append(",\"")
    append(name)
    append("\":")
  }
}

extension TradeID {
  /// The id as a number below 2^53, which every client can hold: the venue's own, or a hash (FNV-1a) of an id that is
  /// no such number. A hash is stable, but has no order.
  var wholeNumber: Int64 {
    if let number, number < 1 << 53 { return Int64(number) }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Int64(hash & (1 << 53 - 1))
  }
}
