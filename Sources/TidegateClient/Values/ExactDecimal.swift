import Bytes

/// An exact decimal number: neither the way from the exchange to the app nor `+`, `-` and `*` round it.
///
/// Numbers are equal, ordered and hashed by value: `1.0 == 1.00`. A number prints with the same digits after the point
/// as it was sent with, without an exponent.
public struct ExactDecimal: Sendable {
  enum Storage: Sendable {
    /// `mantissa` × 10^-`scale`, `scale` at most 18: enough for markets.
    case small(mantissa: Int64, scale: UInt8)
    indirect case wide(WideNumber)
  }

  /// The longest text that is read.
  private static let textLimit = 400
  /// The largest power of ten; larger numbers exceed `Double`, too.
  private static let powerLimit = 308

  let storage: Storage

  init(storage: Storage) { self.storage = storage }

  /// Zero.
  public static let zero = ExactDecimal(0)

  /// An integer.
  public init(_ value: some BinaryInteger) {
    if let small = Int64(exactly: value) {
      storage = .small(mantissa: small, scale: 0)
    } else {
      let digits = String(value).utf8.compactMap { $0 >= 0x30 ? $0 - 0x30 : nil }
      storage = .wide(WideNumber(isNegative: value < 0, digits: digits, scale: 0))
    }
  }

  /// Reads decimal text (`-12.5`, `1e-7`) of at most 400 characters, with powers of ten from -308 to 308; nil for any
  /// other text. O(length).
  public init?(_ text: String) {
    if let small = Self.small(text.utf8) {
      self.init(storage: small)
      return
    }
    var digits: [UInt8] = []
    var scale = 0
    var exponent = 0
    var isNegative = false
    let bytes = text.utf8
    guard bytes.count <= Self.textLimit else { return nil }
    var index = bytes.startIndex
    if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      index = bytes.index(after: index)
    }
    var seesPoint = false
    while index < bytes.endIndex, bytes[index] | 0x20 != UInt8(ascii: "e") {
      let byte = bytes[index]
      index = bytes.index(after: index)
      if byte == UInt8(ascii: "."), !seesPoint {
        seesPoint = true
      } else if (0x30...0x39).contains(byte) {
        digits.append(byte - 0x30)
        if seesPoint { scale += 1 }
      } else {
        return nil
      }
    }
    guard !digits.isEmpty else { return nil }
    if index < bytes.endIndex {
      let written = text[bytes.index(after: index)...]
      // `Int` accepts more than ASCII digits and a sign.
      guard written.utf8.count <= 4, let value = Int(written), abs(value) <= Self.powerLimit else { return nil }
      exponent = value
    }
    let number = WideNumber(isNegative: isNegative, digits: digits, scale: scale - exponent)
    guard number.power <= Self.powerLimit + 1 else { return nil }
    self.init(number)
  }

  /// Reads a number of at most 18 digits without an exponent, as nearly all are, without an allocation; nil for any
  /// other text.
  init?(short text: some Sequence<UInt8>) {
    guard let small = Self.small(text) else { return nil }
    storage = small
  }

  @inline(__always)
  private static func small(_ text: some Sequence<UInt8>) -> Storage? {
    var mantissa: Int64 = 0
    var (digits, scale) = (0, 0)
    var (isNegative, seesPoint) = (false, false)
    for (index, byte) in text.enumerated() {
      switch byte {
      case 0x30...0x39:
        digits += 1
        if digits > 18 { return nil }
        if seesPoint { scale += 1 }
        mantissa = mantissa * 10 + Int64(byte - 0x30)
      case UInt8(ascii: ".") where !seesPoint: seesPoint = true
      case UInt8(ascii: "-") where index == 0: isNegative = true
      default: return nil
      }
    }
    return digits == 0 ? nil : .small(mantissa: isNegative ? -mantissa : mantissa, scale: UInt8(scale))
  }

  /// The small form of the number, if it has one.
  init(_ number: WideNumber) {
    var number = number
    // An exponent larger than the digits need is written as zeros.
    if number.scale < 0 { number = number.rescaled(to: 0) }
    if number.scale <= 18, let mantissa = number.mantissa {
      storage = .small(mantissa: mantissa, scale: UInt8(number.scale))
    } else {
      storage = .wide(number)
    }
  }

  var wide: WideNumber {
    switch storage {
    case .small(let mantissa, let scale): WideNumber(mantissa: mantissa, scale: Int(scale))
    case .wide(let number): number
    }
  }

  /// The nearest binary floating-point number: for charts.
  public var doubleValue: Double {
    if case .small(let mantissa, let scale) = storage, mantissa.magnitude < 1 << 53 {
      // Both are exact, so that the division rounds once.
      return Double(mantissa) / Double(DecimalText.power(scale))
    }
    return Double(description) ?? 0
  }

  /// Whether the number is zero.
  public var isZero: Bool {
    if case .small(let mantissa, _) = storage { return mantissa == 0 }
    return wide.digits.isEmpty
  }

  /// The text without trailing zeros finer than `increment`, a market's price increment: `169.45000000` is `169.45`
  /// with `0.01`. All other digits remain, finer ones, too. Without an increment the text is as sent.
  public func trimmed(to increment: ExactDecimal?) -> String {
    guard let increment, case .small(var step, var digits) = increment.storage else { return description }
    while digits > 0, step % 10 == 0 {
      step /= 10
      digits -= 1
    }
    let text = description
    guard let point = text.firstIndex(of: ".") else { return text }
    var decimals = text[text.index(after: point)...]
    while decimals.utf8.count > Int(digits), decimals.last == "0" { decimals.removeLast() }
    return decimals.isEmpty ? String(text[..<point]) : "\(text[..<point]).\(decimals)"
  }
}

extension ExactDecimal: LosslessStringConvertible {
  /// The number with its digits: `64123.50`.
  public var description: String {
    guard case .small(let mantissa, let scale) = storage else { return wide.description }
    var text = ByteBuffer(capacity: 24)
    text.append(decimal: mantissa, scale: scale)
    return text.description
  }
}

extension ExactDecimal: Comparable, Hashable {
  /// Whether the values are the same: `1.0` and `1.00` are.
  public static func == (a: ExactDecimal, b: ExactDecimal) -> Bool { order(a, b) == 0 }

  /// Compares the values.
  public static func < (a: ExactDecimal, b: ExactDecimal) -> Bool { order(a, b) < 0 }

  /// Negative, zero or positive as `a` is less than, equal to or greater than `b`. O(1) for numbers of a market.
  static func order(_ a: ExactDecimal, _ b: ExactDecimal) -> Int {
    if case .small(let left, let leftScale) = a.storage, case .small(let right, let rightScale) = b.storage {
      if leftScale == rightScale { return left < right ? -1 : left > right ? 1 : 0 }
      let scale = max(leftScale, rightScale)
      // 63 bits and 10^18 are less than 127 bits.
      let one = Int128(left) * Int128(DecimalText.power(scale - leftScale))
      let other = Int128(right) * Int128(DecimalText.power(scale - rightScale))
      return one < other ? -1 : one > other ? 1 : 0
    }
    return WideNumber.order(a.wide, b.wide)
  }

  /// Feeds the value in.
  public func hash(into hasher: inout Hasher) {
    guard case .small(var mantissa, var scale) = storage else {
      // A wide number with trailing zeros may equal a small one.
      let number = wide.stripped
      if number.scale <= 18, let mantissa = number.mantissa {
        hasher.combine(mantissa)
        hasher.combine(UInt8(number.scale))
      } else {
        hasher.combine(number.digits)
        hasher.combine(number.isNegative)
        hasher.combine(number.scale)
      }
      return
    }
    while scale > 0, mantissa % 10 == 0 {
      mantissa /= 10
      scale -= 1
    }
    hasher.combine(mantissa)
    hasher.combine(scale)
  }
}

extension ExactDecimal: AdditiveArithmetic {
  /// The sum, exact.
  public static func + (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
    if case .small(let left, let leftScale) = a.storage, case .small(let right, let rightScale) = b.storage {
      let scale = max(leftScale, rightScale)
      let sum =
        Int128(left) * Int128(DecimalText.power(scale - leftScale))
        + Int128(right) * Int128(DecimalText.power(scale - rightScale))
      if let mantissa = Int64(exactly: sum) { return ExactDecimal(storage: .small(mantissa: mantissa, scale: scale)) }
    }
    return ExactDecimal(WideNumber.sum(a.wide, b.wide))
  }

  /// The difference, exact.
  public static func - (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal { a + -b }

  /// The number with the other sign.
  public static prefix func - (a: ExactDecimal) -> ExactDecimal {
    if case .small(let mantissa, let scale) = a.storage, mantissa != .min {
      return ExactDecimal(storage: .small(mantissa: -mantissa, scale: scale))
    }
    return ExactDecimal(a.wide.negated)
  }

  /// The product, exact.
  public static func * (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
    if case .small(let left, let leftScale) = a.storage, case .small(let right, let rightScale) = b.storage,
      leftScale + rightScale <= 18, let mantissa = Int64(exactly: Int128(left) * Int128(right))
    {
      return ExactDecimal(storage: .small(mantissa: mantissa, scale: leftScale + rightScale))
    }
    return ExactDecimal(WideNumber.product(a.wide, b.wide))
  }
}

extension ExactDecimal {
  /// The middle of two numbers, exact.
  static func middle(_ a: ExactDecimal, _ b: ExactDecimal) -> ExactDecimal {
    (a + b) * ExactDecimal(storage: .small(mantissa: 5, scale: 1))
  }

  /// The number in percent of `whole`, rounded half to even; nil if `whole` is not positive.
  /// - Parameter digits: after the point, 0…18.
  public func percent(of whole: ExactDecimal, digits: Int = 2) -> ExactDecimal? {
    guard whole > 0 else { return nil }
    let digits = max(0, min(digits, 18))
    if case .small(let part, let scale) = storage, case .small(let divisor, let wholeScale) = whole.storage,
      let mantissa = Ratio.quotient(
        Int128(part), by: Int128(divisor), powerOfTen: Int(wholeScale) - Int(scale) + 2 + digits)
    {
      return ExactDecimal(storage: .small(mantissa: mantissa, scale: UInt8(digits)))
    }
    var hundredfold = wide
    hundredfold.scale -= 2
    return ExactDecimal(WideNumber.quotient(hundredfold, whole.wide, scale: digits))
  }
}

extension ExactDecimal: ExpressibleByIntegerLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) { storage = .small(mantissa: value, scale: 0) }
}

extension ExactDecimal: Codable {
  /// Reads a string or an integer. A JSON number with a fraction fails, because its reader has already rounded it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let integer = try? container.decode(Int64.self) {
      self.init(integer)
      return
    }
    let text = try container.decode(String.self)
    guard let value = ExactDecimal(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is not a decimal number")
    }
    self = value
  }

  /// Writes a string, so that no digit is lost.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
