import Bytes

/// An exact decimal number of up to 77 digits: sums and products are exact, or throw if they do not fit.
///
/// Quotients are the only inexact results: they are rounded half to even at a number of digits that the caller states.
package struct WideDecimal: Sendable, Hashable {
  /// The errors of arithmetic.
  package enum Failure: Error, Sendable, Equatable {
    /// The result has more than 77 digits, or more than `scaleLimit` after the point.
    case overflow
    case divisionByZero
  }

  /// The most digits after the point.
  package static let scaleLimit = 72

  private var isNegative: Bool
  private var magnitude: WideInteger
  /// Digits after the point.
  private var scale: Int

  package static let zero = WideDecimal(0)

  package init(_ value: Int64) {
    isNegative = value < 0
    magnitude = WideInteger(value.magnitude)
    scale = 0
  }

  package init(_ value: Decimal64) {
    self.init(value.mantissa)
    scale = Int(value.scale)
  }

  /// `mantissa` × 10^-`scale`.
  package init(_ mantissa: Int64, scale: UInt8) { self.init(Decimal64(mantissa: mantissa, scale: scale)) }

  private init(isNegative: Bool, magnitude: WideInteger, scale: Int) {
    self.isNegative = isNegative && !magnitude.isZero
    self.magnitude = magnitude
    self.scale = scale
  }

  package var isZero: Bool { magnitude.isZero }
  package var isBelowZero: Bool { isNegative }

  /// The same number without trailing zeros.
  package var trimmed: WideDecimal {
    var (rest, scale) = (magnitude, scale)
    while scale > 0 {
      let (quotient, remainder) = rest.divided(by: 10)
      guard remainder == 0 else { break }
      rest = quotient
      scale -= 1
    }
    return WideDecimal(isNegative: isNegative, magnitude: rest, scale: scale)
  }

  package static prefix func - (x: WideDecimal) -> WideDecimal {
    WideDecimal(isNegative: !x.isNegative, magnitude: x.magnitude, scale: x.scale)
  }

  package func plus(_ other: WideDecimal) throws(Failure) -> WideDecimal {
    let scale = max(scale, other.scale)
    let (a, b) = (try magnitude(at: scale), try other.magnitude(at: scale))
    if isNegative == other.isNegative {
      guard let sum = a.adding(b) else { throw .overflow }
      return WideDecimal(isNegative: isNegative, magnitude: sum, scale: scale)
    }
    if a < b { return WideDecimal(isNegative: other.isNegative, magnitude: b.subtracting(a), scale: scale) }
    return WideDecimal(isNegative: isNegative, magnitude: a.subtracting(b), scale: scale)
  }

  package func minus(_ other: WideDecimal) throws(Failure) -> WideDecimal { try plus(-other) }

  package func times(_ other: WideDecimal) throws(Failure) -> WideDecimal {
    guard let product = magnitude.multiplied(by: other.magnitude) else {
      // The result may fit without the trailing zeros of its factors.
      let (a, b) = (trimmed, other.trimmed)
      guard a.scale < scale || b.scale < other.scale else { throw .overflow }
      return try a.times(b)
    }
    let result = WideDecimal(
      isNegative: isNegative != other.isNegative, magnitude: product, scale: scale + other.scale)
    guard result.scale > Self.scaleLimit else { return result }
    let short = result.trimmed
    guard short.scale <= Self.scaleLimit else { throw .overflow }
    return short
  }

  /// The quotient with `digits` digits after the point, rounded half to even.
  package func divided(by other: WideDecimal, digits: Int) throws(Failure) -> WideDecimal {
    guard !other.isZero else { throw .divisionByZero }
    // (a × 10^-s) ÷ (b × 10^-t) = (a ÷ b) × 10^(t − s), in units of 10^-digits.
    let shift = digits + other.scale - scale
    var (a, b) = (magnitude, other.magnitude)
    if shift >= 0 { a = try Self.raise(a, by: shift) } else { b = try Self.raise(b, by: -shift) }
    let result = Self.roundHalfEven(a, by: b)
    return WideDecimal(isNegative: isNegative != other.isNegative, magnitude: result, scale: digits)
  }

  /// With at most `digits` digits after the point, rounded half to even.
  package func rounded(_ digits: Int) -> WideDecimal {
    guard scale > digits, let power = try? Self.raise(WideInteger(1), by: scale - digits) else { return self }
    return WideDecimal(isNegative: isNegative, magnitude: Self.roundHalfEven(magnitude, by: power), scale: digits)
  }

  package static func isLess(_ a: WideDecimal, _ b: WideDecimal) throws(Failure) -> Bool { try a.minus(b).isNegative }

  private static func roundHalfEven(_ a: WideInteger, by b: WideInteger) -> WideInteger {
    let (quotient, remainder) = a.divided(by: b)
    let toHalf = b.subtracting(remainder)
    guard remainder > toHalf || (remainder == toHalf && quotient.isOdd) else { return quotient }
    // Below 2^256 ÷ 2 here, for b > 1.
    return quotient.adding(WideInteger(1)) ?? quotient
  }

  private func magnitude(at scale: Int) throws(Failure) -> WideInteger {
    try Self.raise(magnitude, by: scale - self.scale)
  }

  /// × 10^`power`.
  private static func raise(_ value: WideInteger, by power: Int) throws(Failure) -> WideInteger {
    guard !value.isZero, power > 0 else { return value }
    var value = value
    var power = power
    while power > 0 {
      let step = min(power, 19)
      guard let product = value.multiplied(by: WideInteger(power19(step))) else { throw .overflow }
      value = product
      power -= step
    }
    return value
  }

  /// 10^`power`, `power` ≤ 19: the largest in 64 bits.
  private static func power19(_ power: Int) -> UInt64 {
    power == 19 ? 10_000_000_000_000_000_000 : DecimalText.power(UInt8(power))
  }
}

extension WideDecimal {
  /// Appends the number in decimal digits, without trailing zeros.
  package func append(to out: inout ByteBuffer) {
    if scale <= Int(DecimalText.scaleLimit), let word = magnitude.word, var value = Int64(exactly: word) {
      // Most sums of money take this path, without an allocation.
      var digits = scale
      while digits > 0, value % 10 == 0 {
        value /= 10
        digits -= 1
      }
      return out.append(decimal: isNegative ? -value : value, scale: UInt8(digits))
    }
    let number = trimmed
    var groups: [UInt64] = []
    var rest = number.magnitude
    repeat {
      let (quotient, remainder) = rest.divided(by: 1_000_000_000_000_000_000)
      groups.append(remainder)
      rest = quotient
    } while !rest.isZero
    var digits: [UInt8] = Array(String(groups.removeLast()).utf8)
    for group in groups.reversed() {
      let text = String(group).utf8
      digits += Array(repeating: UInt8(ascii: "0"), count: 18 - text.count) + Array(text)
    }
    if digits.count <= number.scale {
      digits = Array(repeating: UInt8(ascii: "0"), count: number.scale + 1 - digits.count) + digits
    }
    if number.isNegative { out.append(UInt8(ascii: "-")) }
    for (index, digit) in digits.enumerated() {
      if index == digits.count - number.scale { out.append(UInt8(ascii: ".")) }
      out.append(digit)
    }
  }

  package var text: String {
    var out = ByteBuffer()
    append(to: &out)
    return out.description
  }
}
