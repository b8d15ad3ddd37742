import Bytes

extension Decimal64 {
  /// The same number without zeros at its end: 0.0100 is 0.01.
  var trimmed: Decimal64 {
    var result = self
    while result.scale > 0, result.mantissa % 10 == 0 {
      result.mantissa /= 10
      result.scale -= 1
    }
    return result
  }

  /// The exact product without zeros at its end; nil if it does not fit.
  func multiplied(by other: Decimal64) -> Decimal64? {
    let (a, b) = (trimmed, other.trimmed)
    let (mantissa, overflow) = a.mantissa.multipliedReportingOverflow(by: b.mantissa)
    guard !overflow, a.scale + b.scale <= DecimalText.scaleLimit else { return nil }
    return Decimal64(mantissa: mantissa, scale: a.scale + b.scale).trimmed
  }
}
