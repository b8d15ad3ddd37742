/// Numbers at the ends of the ranges that programs compute with, and beyond them; and the numbers of a text, so that a
/// test puts each of the former in place of each of the latter.
package enum NumericExtremes {
  /// Whole numbers that an `Int64` holds.
  package static let integers: [Int64] = [
    .min, .min + 1, -(1 << 53) - 1, Int64(Int32.min) - 1, Int64(Int32.min), -1, 0, 1, Int64(Int32.max),
    Int64(Int32.max) + 1, Int64(UInt32.max), Int64(UInt32.max) + 1, (1 << 53) - 1, (1 << 53) + 1,
    // The first second and microsecond of the year 10000.
    253_402_300_800, 253_402_300_800_000, 253_402_300_800_000_000, .max / 1_000_000 + 1, .max / 1_000 + 1, .max - 1,
    .max,
  ]

  /// As texts, with those that no integer holds: wider ones, fractions, exponents and 400 digits.
  package static let texts: [String] =
    integers.map(String.init) + [
      "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
      "170141183460469231731687303715884105728", "0.000000000000000001", "0.0000000000000000001", "-0",
      "9999999999999999999", "1e18", "1e19", "1e-18", "1e-19", "9e99", "-1e400", "1e9223372036854775807",
      "1e-9223372036854775808", String(repeating: "9", count: 400), "0." + String(repeating: "9", count: 400),
    ]

  /// The numbers of a text, in their order: digits that are no part of a name, with sign, fraction and exponent.
  package static func numbers(in text: [UInt8]) -> [Range<Int>] {
    func isDigit(_ index: Int) -> Bool { index < text.count && text[index] &- 0x30 < 10 }
    func isByte(_ index: Int, _ bytes: String) -> Bool { index < text.count && bytes.utf8.contains(text[index]) }
    var found: [Range<Int>] = []
    var index = 0
    while index < text.count {
      guard isDigit(index) else {
        index += 1
        continue
      }
      let isSigned = index > 0 && isByte(index - 1, "-")
      let start = isSigned ? index - 1 : index
      while isDigit(index) { index += 1 }
      if isByte(index, "."), isDigit(index + 1) {
        index += 1
        while isDigit(index) { index += 1 }
      }
      if isByte(index, "eE"), isDigit(index + 1) || (isByte(index + 1, "+-") && isDigit(index + 2)) {
        index += 2
        while isDigit(index) { index += 1 }
      }
      let isName = start > 0 && (text[start - 1] | 0x20 &- UInt8(ascii: "a") < 26 || isByte(start - 1, "_"))
      if !isName { found.append(start..<index) }
    }
    return found
  }

  /// The text with one of its numbers replaced.
  package static func replacing(_ range: Range<Int>, of text: [UInt8], by number: String) -> [UInt8] {
    Array(text[..<range.lowerBound]) + Array(number.utf8) + Array(text[range.upperBound...])
  }
}
