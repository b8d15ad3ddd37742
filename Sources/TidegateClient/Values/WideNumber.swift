/// A decimal number of any length: `digits` × 10^-`scale`. It holds the numbers that do not fit in 64 bits.
struct WideNumber: Sendable {
  var isNegative: Bool
  /// The digits from the first that is not zero to the last, which may be zero; none for zero.
  var digits: [UInt8]
  var scale: Int

  init(isNegative: Bool, digits: [UInt8], scale: Int) {
    self.digits = Array(digits.drop { $0 == 0 })
    self.isNegative = isNegative && !self.digits.isEmpty
    self.scale = scale
  }

  init(mantissa: Int64, scale: Int) {
    self.init(
      isNegative: mantissa < 0, digits: String(mantissa.magnitude).utf8.map { $0 - 0x30 }, scale: scale)
  }

  /// The power of ten above the first digit: 1 for 9, 3 for 123.4, 0 for 0.5 and for zero.
  var power: Int { digits.isEmpty ? 0 : digits.count - scale }

  /// All digits as an integer; nil if they do not fit in 64 bits.
  var mantissa: Int64? {
    guard digits.count <= 19 else { return nil }
    let magnitude = digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1) }
    let value = isNegative ? -Int128(magnitude) : Int128(magnitude)
    return Int64(exactly: value)
  }

  var negated: WideNumber { WideNumber(isNegative: !isNegative, digits: digits, scale: scale) }

  /// The number with zeros appended up to `scale`, which is at least the present one.
  func rescaled(to scale: Int) -> WideNumber {
    guard !digits.isEmpty else { return WideNumber(isNegative: false, digits: [], scale: scale) }
    return WideNumber(
      isNegative: isNegative, digits: digits + [UInt8](repeating: 0, count: max(0, scale - self.scale)), scale: scale)
  }

  /// The number without trailing zeros after the point.
  var stripped: WideNumber {
    var number = self
    while number.scale > 0, number.digits.last == 0 {
      number.digits.removeLast()
      number.scale -= 1
    }
    if number.digits.isEmpty { number.scale = 0 }
    return number
  }

  var description: String {
    var text = digits.map { String($0) }.joined()
    if scale > 0 {
      text = String(repeating: "0", count: max(0, scale + 1 - text.utf8.count)) + text
      text.insert(".", at: text.index(text.endIndex, offsetBy: -scale))
    } else if text.isEmpty {
      text = "0"
    }
    return isNegative ? "-" + text : text
  }

  /// Negative, zero or positive as `a` is less than, equal to or greater than `b`. O(length).
  static func order(_ a: WideNumber, _ b: WideNumber) -> Int {
    if a.digits.isEmpty || b.digits.isEmpty {
      return (a.digits.isEmpty ? 0 : a.isNegative ? -1 : 1) - (b.digits.isEmpty ? 0 : b.isNegative ? -1 : 1)
    }
    if a.isNegative != b.isNegative { return a.isNegative ? -1 : 1 }
    return (a.isNegative ? -1 : 1) * orderOfMagnitude(a, b)
  }

  private static func orderOfMagnitude(_ a: WideNumber, _ b: WideNumber) -> Int {
    if a.power != b.power { return a.power < b.power ? -1 : 1 }
    for index in 0..<max(a.digits.count, b.digits.count) {
      let one = index < a.digits.count ? a.digits[index] : 0
      let other = index < b.digits.count ? b.digits[index] : 0
      if one != other { return one < other ? -1 : 1 }
    }
    return 0
  }

  /// O(length).
  static func sum(_ a: WideNumber, _ b: WideNumber) -> WideNumber {
    let scale = max(a.scale, b.scale)
    let (a, b) = (a.rescaled(to: scale), b.rescaled(to: scale))
    let isSwapped = orderOfMagnitude(a, b) < 0 || a.digits.isEmpty
    let (large, small) = isSwapped ? (b, a) : (a, b)
    let sign = large.isNegative == small.isNegative ? 1 : -1
    var digits: [UInt8] = []
    var carry = 0
    for index in 0..<large.digits.count {
      let other = index < small.digits.count ? Int(small.digits[small.digits.count - 1 - index]) : 0
      var digit = Int(large.digits[large.digits.count - 1 - index]) + sign * other + carry
      carry = digit < 0 ? -1 : digit / 10
      digit -= carry * 10
      digits.append(UInt8(digit))
    }
    if carry > 0 { digits.append(UInt8(carry)) }
    return WideNumber(isNegative: large.isNegative, digits: digits.reversed(), scale: scale)
  }

  /// `a` ÷ `b` with `scale` digits after the point, rounded half to even; `b` is not zero. O(digits of `a` and of the
  /// quotient × length of `b`).
  static func quotient(_ a: WideNumber, _ b: WideNumber, scale: Int) -> WideNumber {
    // As integers: `a` or `b` is multiplied by a power of ten.
    let shift = scale - a.scale + b.scale
    let numerator = a.digits + [UInt8](repeating: 0, count: max(0, shift))
    let divisor = WideNumber(
      isNegative: false, digits: b.digits + [UInt8](repeating: 0, count: max(0, -shift)), scale: 0)
    let negative = divisor.negated
    var rest = WideNumber(isNegative: false, digits: [], scale: 0)
    var digits: [UInt8] = []
    for digit in numerator {
      rest = WideNumber(isNegative: false, digits: rest.digits + [digit], scale: 0)
      var count: UInt8 = 0
      while order(rest, divisor) >= 0 {
        rest = sum(rest, negative)
        count += 1
      }
      digits.append(count)
    }
    let half = order(sum(rest, rest), divisor)
    let quotient = WideNumber(isNegative: a.isNegative != b.isNegative, digits: digits, scale: scale)
    guard half > 0 || half == 0 && (digits.last ?? 0) & 1 == 1 else { return quotient }
    let unit = WideNumber(isNegative: a.isNegative != b.isNegative, digits: [1], scale: scale)
    return sum(quotient, unit)
  }

  /// O(length of one × length of the other).
  static func product(_ a: WideNumber, _ b: WideNumber) -> WideNumber {
    // The least significant digit is first.
    var columns = [Int](repeating: 0, count: a.digits.count + b.digits.count)
    for (i, x) in a.digits.reversed().enumerated() {
      for (j, y) in b.digits.reversed().enumerated() { columns[i + j] += Int(x) * Int(y) }
    }
    var carry = 0
    for index in columns.indices {
      let value = columns[index] + carry
      columns[index] = value % 10
      carry = value / 10
    }
    return WideNumber(
      isNegative: a.isNegative != b.isNegative, digits: columns.reversed().map { UInt8($0) }, scale: a.scale + b.scale)
  }
}
