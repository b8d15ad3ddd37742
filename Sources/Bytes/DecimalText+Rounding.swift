extension DecimalText {
  /// Significant digits that always fit in an `Int64`.
  private static let keptDigits = 18

  /// As `parse`; a number with too many digits is rounded half to even, to 18 significant digits and 18 after the
  /// point. For figures whose last digits are the noise of somebody's floating point. O(length).
  /// - Throws: `.overflow` if its whole part does not fit, `.malformed`.
  package static func rounded(_ text: RawSpan) throws(DecimalError) -> Decimal64 {
    do throws(DecimalError) {
      return try parse(text)
    } catch {
      guard error == .overflow else { throw error }
    }
    var digits = LeadingDigits()
    var index = 0
    var isNegative = false
    var seenPoint = false
    let count = text.byteCount
    func at(_ i: Int) -> UInt8 { text.unsafeLoad(fromUncheckedByteOffset: i, as: UInt8.self) }
    if count > 0, at(0) == UInt8(ascii: "-") || at(0) == UInt8(ascii: "+") {
      isNegative = at(0) == UInt8(ascii: "-")
      index = 1
    }
    let first = index
    while index < count {
      let byte = at(index)
      if byte &- UInt8(ascii: "0") < 10 {
        digits.append(byte &- UInt8(ascii: "0"), isFraction: seenPoint)
      } else if byte == UInt8(ascii: "."), !seenPoint {
        seenPoint = true
      } else if byte | 0x20 == UInt8(ascii: "e"), index > first {
        digits.scale -= try exponent(text.extracting(droppingFirst: index + 1))
        break
      } else {
        throw .malformed
      }
      index += 1
    }
    guard index > first else { throw .malformed }
    let magnitude = try digits.rounded()
    return Decimal64(mantissa: isNegative ? -magnitude.mantissa : magnitude.mantissa, scale: magnitude.scale)
  }

  private static func exponent(_ text: RawSpan) throws(DecimalError) -> Int {
    var value = 0
    var index = 0
    var isNegative = false
    let count = text.byteCount
    func at(_ i: Int) -> UInt8 { text.unsafeLoad(fromUncheckedByteOffset: i, as: UInt8.self) }
    if count > 0, at(0) == UInt8(ascii: "-") || at(0) == UInt8(ascii: "+") {
      isNegative = at(0) == UInt8(ascii: "-")
      index = 1
    }
    guard index < count else { throw .malformed }
    while index < count {
      let digit = at(index) &- UInt8(ascii: "0")
      guard digit < 10 else { throw .malformed }
      value = min(value * 10 + Int(digit), 1000)
      index += 1
    }
    return isNegative ? -value : value
  }

  /// The first significant digits of a number, and what is left out behind them.
  private struct LeadingDigits {
    private var mantissa: Int64 = 0
    private var kept = 0
    /// The first digit that is left out, and whether any behind it is not 0.
    private var next: UInt8 = 0
    private var hasRest = false
    /// Digits after the point among the kept ones; below 0 if digits before the point are left out.
    var scale = 0

    mutating func append(_ digit: UInt8, isFraction: Bool) {
      if kept < keptDigits {
        mantissa = mantissa * 10 + Int64(digit)
        if mantissa != 0 { kept += 1 }
        if isFraction { scale += 1 }
      } else {
        if kept == keptDigits { next = digit } else { hasRest = hasRest || digit != 0 }
        kept += 1
        if !isFraction { scale -= 1 }
      }
    }

    consuming func rounded() throws(DecimalError) -> Decimal64 {
      while scale > Int(scaleLimit) {
        guard mantissa != 0 else { return Decimal64(mantissa: 0, scale: 0) }
        hasRest = hasRest || next != 0
        next = UInt8(mantissa % 10)
        mantissa /= 10
        scale -= 1
      }
      if next > 5 || (next == 5 && (hasRest || mantissa & 1 != 0)) { mantissa += 1 }
      while scale > 0, mantissa % 10 == 0 {
        mantissa /= 10
        scale -= 1
      }
      guard mantissa != 0 else { return Decimal64(mantissa: 0, scale: 0) }
      guard scale < 0 else { return Decimal64(mantissa: mantissa, scale: UInt8(scale)) }
      guard scale >= -Int(scaleLimit) else { throw .overflow }
      let (value, overflow) = mantissa.multipliedReportingOverflow(by: Int64(power(UInt8(-scale))))
      if overflow { throw .overflow }
      return Decimal64(mantissa: value, scale: 0)
    }
  }
}
