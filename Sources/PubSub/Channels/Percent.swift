/// Percentages as integers, rounded half to even once, at the edge.
enum Percent {
  /// 100 × `part` ÷ `whole` as a count of 10^-`digits`, rounded half to even; nil if `whole` is 0 or the result does
  /// not fit. Exact: in 128 bits.
  static func of(_ part: Int64, _ whole: Int64, digits: UInt8) -> Int64? {
    guard whole != 0 else { return nil }
    var factor: Int64 = 100
    for _ in 0..<digits { factor *= 10 }
    let (small, overflow) = part.multipliedReportingOverflow(by: factor)
    if !overflow, small != .min, whole != .min {
      return rounded(small.quotientAndRemainder(dividingBy: whole), by: whole)
    }
    let wide = Int128(part) * Int128(factor)
    let (quotient, remainder) = wide.quotientAndRemainder(dividingBy: Int128(whole))
    guard let narrow = Int64(exactly: quotient), narrow < .max, narrow > .min else { return nil }
    return rounded((narrow, Int64(remainder)), by: whole)
  }

  /// `value` with its scale changed to `digits`, rounded half to even; nil if it does not fit.
  static func rescaled(_ value: Int64, from scale: UInt8, to digits: UInt8) -> Int64? {
    if scale <= digits {
      var result = value
      for _ in scale..<digits {
        let (next, overflow) = result.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        result = next
      }
      return result
    }
    guard scale - digits <= 18 else { return nil }
    var power: Int64 = 1
    for _ in digits..<scale { power *= 10 }
    return rounded(value.quotientAndRemainder(dividingBy: power), by: power)
  }

  private static func rounded(_ division: (quotient: Int64, remainder: Int64), by divisor: Int64) -> Int64 {
    let (quotient, remainder) = division
    guard remainder != 0 else { return quotient }
    let rest = remainder.magnitude
    let toHalf = divisor.magnitude - rest
    guard rest > toHalf || (rest == toHalf && quotient & 1 != 0) else { return quotient }
    return (remainder < 0) == (divisor < 0) ? quotient + 1 : quotient - 1
  }
}
