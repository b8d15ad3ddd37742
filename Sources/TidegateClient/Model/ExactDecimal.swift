import Bytes

/// A decimal number exactly as the exchange sent it: its text is the value, nothing is rounded.
///
/// Two numbers are equal if their digits are the same (`1.0` and `1.00` are different texts, and neither is less than
/// the other).
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

  /// The text without the zeros at its end that are finer than `increment`, a market's price increment: `169.45000000`
  /// is `169.45` with `0.01`. Other digits stay, also those that are finer. Without an increment it is the text as
  /// sent.
  public func trimmed(to increment: ExactDecimal?) -> String {
    guard let increment, let scale = increment.scaled?.scale else { return description }
    guard let point = description.firstIndex(of: "."), description.utf8.allSatisfy({ $0 | 0x20 != 0x65 }) else {
      return description
    }
    let whole = description[..<point]
    var decimals = description[description.index(after: point)...]
    while decimals.count > Int(scale), decimals.last == "0" { decimals.removeLast() }
    return decimals.isEmpty ? String(whole) : "\(whole).\(decimals)"
  }

  /// Whether the number is zero.
  public var isZero: Bool { doubleValue == 0 }

  /// The number as integer and scale; nil if it does not fit in 64 bits.
  var scaled: Decimal64? {
    Array(description.utf8).withUnsafeBytes { try? DecimalText.parse(RawSpan(_unsafeBytes: $0)) }
  }

  /// Compares the values, exactly.
  public static func < (a: ExactDecimal, b: ExactDecimal) -> Bool { order(a, b) < 0 }

  /// Negative, zero or positive as `a` is less than, equal to or greater than `b` in value.
  static func order(_ a: ExactDecimal, _ b: ExactDecimal) -> Int {
    if let x = a.scaled, let y = b.scaled, x.scale <= 18, y.scale <= 18 {
      let scale = max(x.scale, y.scale)
      let left = Int128(x.mantissa) * Int128(DecimalText.power(scale - x.scale))
      let right = Int128(y.mantissa) * Int128(DecimalText.power(scale - y.scale))
      return left < right ? -1 : left > right ? 1 : 0
    }
    let (left, right) = (Digits(a), Digits(b))
    if left.sign != right.sign { return left.sign < right.sign ? -1 : 1 }
    return left.sign * Digits.orderOfMagnitude(left, right)
  }

  /// A number of any length: sign, digits from the first to the last that is not zero, and the power of ten of the
  /// first.
  private struct Digits {
    /// -1, 0 or 1.
    var sign = 0
    var digits: [UInt8] = []
    var power = 0

    /// O(length).
    init(_ decimal: ExactDecimal) {
      if decimal.isZero { return }
      var point: Int?
      var exponent = 0
      var text = decimal.description.utf8[...]
      let isNegative = text.first == UInt8(ascii: "-")
      if isNegative || text.first == UInt8(ascii: "+") { text = text.dropFirst() }
      if let mark = text.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
        // Of more digits than an integer has only a number that is zero to a `Double` can have one.
        exponent = Int(String(text[text.index(after: mark)...]) ?? "") ?? 0
        text = text[..<mark]
      }
      for byte in text {
        if byte == UInt8(ascii: ".") { point = digits.count } else { digits.append(byte &- UInt8(ascii: "0")) }
      }
      let leading = digits.prefix { $0 == 0 }.count
      power = (point ?? digits.count) - leading + exponent
      digits.removeFirst(leading)
      while digits.last == 0 { digits.removeLast() }
      sign = isNegative ? -1 : 1
    }

    static func orderOfMagnitude(_ a: Digits, _ b: Digits) -> Int {
      if a.power != b.power { return a.power < b.power ? -1 : 1 }
      if a.digits == b.digits { return 0 }
      return a.digits.lexicographicallyPrecedes(b.digits) ? -1 : 1
    }
  }
}
