/// Quotients for output: computed exactly, then rounded once, half to even, to a given number of digits.
package enum Ratio {
  /// `numerator` / `denominator`, rounded half to even. Precondition: `denominator` > 0.
  package static func divide(_ numerator: Int128, by denominator: Int128) -> Int128 {
    quotient(numerator, denominator)
  }

  private static func quotient<Integer: FixedWidthInteger & SignedInteger>(
    _ numerator: Integer, _ denominator: Integer
  ) -> Integer {
    precondition(denominator > 0)
    let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
    let rest = remainder.magnitude
    let toHalf = denominator.magnitude - rest
    if rest > toHalf || (rest == toHalf && quotient & 1 != 0) { return quotient + (numerator < 0 ? -1 : 1) }
    return quotient
  }

  /// `part` in percent of `whole`, with `digits` digits after the point, 0…9; nil if `whole` is not positive or the
  /// result does not fit in an `Int64`.
  package static func percent(_ part: Int64, of whole: Int64, digits: UInt8) -> Decimal64? {
    precondition(digits <= 9)
    guard whole > 0 else { return nil }
    let factor = 100 * Int64(DecimalText.power(digits))
    let (scaled, overflow) = part.multipliedReportingOverflow(by: factor)
    // A division of 128 bits costs several of 64, and each pulse has two of them.
    if !overflow { return Decimal64(mantissa: quotient(scaled, whole), scale: digits) }
    guard let mantissa = Int64(exactly: divide(Int128(part) * Int128(factor), by: Int128(whole))) else { return nil }
    return Decimal64(mantissa: mantissa, scale: digits)
  }

  /// `value` × 10^-`scale` with at most `digits` digits after the point, with fewer if it would not fit in an `Int64`;
  /// nil if it does not fit without any.
  package static func decimal(_ value: Int128, scale: Int, digits: Int) -> Decimal64? {
    var digits = min(digits, scale, Int(DecimalText.scaleLimit))
    while digits >= 0 {
      var divisor: Int128 = 1
      for _ in 0..<(scale - digits) { divisor *= 10 }
      if let mantissa = Int64(exactly: divide(value, by: divisor)) {
        return Decimal64(mantissa: mantissa, scale: UInt8(digits))
      }
      digits -= 1
    }
    return nil
  }

  /// `numerator` × 10^`powerOfTen` / `denominator`, rounded half to even; nil if it does not fit in an `Int64`, or the
  /// power is beyond ±36. Precondition: `denominator` > 0.
  package static func quotient(_ numerator: Int128, by denominator: Int128, powerOfTen: Int) -> Int64? {
    guard (-36...36).contains(powerOfTen) else { return nil }
    var numerator = numerator
    var denominator = denominator
    for _ in 0..<abs(powerOfTen) {
      let (value, overflow) = (powerOfTen > 0 ? numerator : denominator).multipliedReportingOverflow(by: 10)
      guard !overflow else { return nil }
      if powerOfTen > 0 { numerator = value } else { denominator = value }
    }
    return Int64(exactly: divide(numerator, by: denominator))
  }

  /// `value` × 10^-`scale` as a count of 10^-`digits`, rounded half to even; nil if it does not fit.
  package static func rescaled(_ value: Int64, from scale: UInt8, to digits: UInt8) -> Int64? {
    quotient(Int128(value), by: 1, powerOfTen: Int(digits) - Int(scale))
  }
}
