import Bytes

/// A decimal number exactly as the exchange sent it: its text is the value, nothing is rounded.
///
/// Two numbers are equal if their digits are the same (`1.0` and `1.00` are different texts, and neither is less than the other).
public struct ExactDecimal: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number as sent: `64123.50`.
  public let description: String

  /// Reads decimal text (`-12.5`, `1e-7`); nil if it is not a number.
  public init?(_ text: String) {
    guard Double(text)?.isFinite == true, text.utf8.allSatisfy({ Self.characters.contains($0) }) else { return nil }
    self.description = text
  }

  private static let characters = Set("0123456789+-.eE".utf8)

  /// The nearest binary floating-point number, for charts and arithmetic that need not be exact.
  public var doubleValue: Double { Double(description) ?? .nan }

  /// Whether the number is zero.
  public var isZero: Bool { doubleValue == 0 }

  /// The number as integer and scale; nil if it does not fit in 64 bits.
  var scaled: Decimal64? {
    Array(description.utf8).withUnsafeBytes { try? DecimalText.parse(RawSpan(_unsafeBytes: $0)) }
  }

  /// Compares the values, exactly where both have at most 18 digits.
  public static func < (a: ExactDecimal, b: ExactDecimal) -> Bool { order(a, b) < 0 }

  /// Negative, zero or positive as `a` is less than, equal to or greater than `b` in value.
  static func order(_ a: ExactDecimal, _ b: ExactDecimal) -> Int {
    if let x = a.scaled, let y = b.scaled, x.scale <= 18, y.scale <= 18 {
      let scale = max(x.scale, y.scale)
      let left = Int128(x.mantissa) * Int128(DecimalText.power(scale - x.scale))
      let right = Int128(y.mantissa) * Int128(DecimalText.power(scale - y.scale))
      return left < right ? -1 : left > right ? 1 : 0
    }
    return a.doubleValue < b.doubleValue ? -1 : a.doubleValue > b.doubleValue ? 1 : 0
  }
}
