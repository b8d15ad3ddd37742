/// The quotient rounded down, also for negative numbers.
@inline(__always)
func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
  let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
  return remainder < 0 ? quotient - 1 : quotient
}

/// The remainder of `floorDivide`: 0 or more, for a positive divisor.
@inline(__always)
func floorRemainder(_ a: Int64, _ b: Int64) -> Int64 {
  let remainder = a % b
  return remainder < 0 ? remainder &+ b : remainder
}

func saturatingMultiply(_ a: Int128, _ b: Int128) -> Int128 {
  let (product, overflow) = a.multipliedReportingOverflow(by: b)
  return overflow ? ((a < 0) == (b < 0) ? .max : .min) : product
}
