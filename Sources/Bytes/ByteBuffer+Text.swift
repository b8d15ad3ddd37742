/// Numbers as text and JSON into a `ByteBuffer`: what every encoder writes with. No allocation once the buffer has grown.
extension ByteBuffer {
  /// Appends `value` in decimal digits.
  @inlinable
  package mutating func append(integer value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    append(integer: value.magnitude)
  }

  /// Appends `value` in decimal digits.
  @inlinable
  package mutating func append(integer value: UInt64) {
    var count = 1
    var rest = value
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    reserve(count)
    appendDigits(value, count: count)
  }

  /// Appends `value` × 10^-`scale` with exactly `scale` digits after the point: what a venue with that increment prints.
  @inlinable
  package mutating func append(decimal value: Int64, scale: UInt8) {
    guard scale > 0 else { return append(integer: value) }
    if value < 0 { append(UInt8(ascii: "-")) }
    let power = DecimalText.power(scale)
    let (whole, fraction) = value.magnitude.quotientAndRemainder(dividingBy: power)
    append(integer: whole)
    append(UInt8(ascii: "."))
    reserve(Int(scale))
    appendDigits(fraction, count: Int(scale))
  }

  /// Appends `value` at its own scale.
  @inlinable
  package mutating func append(_ value: Decimal64) {
    append(decimal: value.mantissa, scale: value.scale)
  }

  /// Appends the last `count` digits of `value`, zero-padded. Room must have been reserved.
  @inlinable
  mutating func appendDigits(_ value: UInt64, count: Int) {
    var rest = value
    var index = writeIndex &+ count
    writeIndex = index
    let base = self.base.unsafelyUnwrapped
    for _ in 0..<count {
      index &-= 1
      let (q, r) = rest.quotientAndRemainder(dividingBy: 10)
      base.storeBytes(of: UInt8(truncatingIfNeeded: r) &+ UInt8(ascii: "0"), toByteOffset: index, as: UInt8.self)
      rest = q
    }
  }

  /// Appends `text` as a JSON string with its quotes, escaped where RFC 8259 section 7 asks for it.
  package mutating func append(json text: String) {
    var text = text
    append(UInt8(ascii: "\""))
    text.withUTF8 { bytes in
      for b in bytes {
        switch b {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        case 0..<0x20:
          append("\\u00")
          append(ByteBuffer.hexDigit(b >> 4))
          append(ByteBuffer.hexDigit(b & 15))
        default: append(b)
        }
      }
    }
    append(UInt8(ascii: "\""))
  }

  static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

extension DecimalText {
  /// 10^`scale`. Precondition: `scale` ≤ `scaleLimit`.
  @inlinable
  package static func power(_ scale: UInt8) -> UInt64 {
    var value: UInt64 = 1
    for _ in 0..<scale { value = value &* 10 }
    return value
  }
}
