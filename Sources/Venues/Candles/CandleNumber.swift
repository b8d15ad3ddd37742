/// Decimal text of any number of digits as a count of 10^-scale. Venues print volumes with up to twenty digits after
/// the point, and some write `1.2e-7`.
enum CandleNumber {
  /// The nearest count, halves to even; nil if the text is no number, or too large.
  static func parse(_ text: RawSpan, scale: Int) -> Int128? {
    text.withUnsafeBytes { bytes in
      var index = 0
      var isNegative = false
      if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
        isNegative = bytes[index] == UInt8(ascii: "-")
        index += 1
      }
      var mantissa: Int128 = 0
      var point = 0
      var digits = 0
      var seenPoint = false
      while index < bytes.count {
        let byte = bytes[index]
        if byte == UInt8(ascii: "."), !seenPoint {
          seenPoint = true
        } else if byte &- UInt8(ascii: "0") < 10 {
          digits += 1
          // Digits after the thirtieth change nothing that is kept.
          if mantissa < Self.limit {
            mantissa = mantissa * 10 + Int128(byte &- UInt8(ascii: "0"))
            if seenPoint { point += 1 }
          } else if !seenPoint {
            return nil
          }
        } else {
          break
        }
        index += 1
      }
      guard digits > 0 else { return nil }
      if index < bytes.count {
        guard bytes[index] | 0x20 == UInt8(ascii: "e"), let exponent = exponent(bytes, index + 1) else { return nil }
        point -= exponent
      }
      guard let value = shift(mantissa, by: scale - point) else { return nil }
      return isNegative ? -value : value
    }
  }

  private static let limit: Int128 = 1_000_000_000_000_000_000 * 1_000_000_000_000

  private static func exponent(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
    var index = start
    var isNegative = false
    if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
      isNegative = bytes[index] == UInt8(ascii: "-")
      index += 1
    }
    guard index < bytes.count, bytes.count - index <= 3 else { return nil }
    var value = 0
    while index < bytes.count {
      guard bytes[index] &- UInt8(ascii: "0") < 10 else { return nil }
      value = value * 10 + Int(bytes[index] &- UInt8(ascii: "0"))
      index += 1
    }
    return isNegative ? -value : value
  }

  /// `value` × 10^`digits`, halves to even.
  private static func shift(_ value: Int128, by digits: Int) -> Int128? {
    if digits >= 0 {
      var value = value
      for _ in 0..<min(digits, 40) {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        if overflow { return nil }
        value = product
      }
      return value
    }
    guard digits > -38 else { return 0 }
    var divisor: Int128 = 1
    for _ in digits..<0 { divisor *= 10 }
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    let half = divisor - remainder
    return remainder > half || (remainder == half && quotient & 1 != 0) ? quotient + 1 : quotient
  }
}
