/// Numbers as text and JSON into a `ByteBuffer`: what every encoder writes with. No allocation once the buffer has
/// grown.
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
    let count = DecimalText.digitCount(value)
    reserve(count)
    appendDigits(value, count: count)
  }

  /// Appends `value` × 10^-`scale` with exactly `scale` digits after the point: what a venue with that increment
  /// prints.
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

  /// Appends the last `count` digits of `value`, zero-padded, two at a time. Room must have been reserved.
  @inlinable
  mutating func appendDigits(_ value: UInt64, count: Int) {
    var rest = value
    let start = writeIndex
    var index = start &+ count
    writeIndex = index
    let base = self.base.unsafelyUnwrapped
    let pairs = UnsafeRawPointer(DecimalText.digitPairs.utf8Start)
    while index &- start >= 2 {
      index &-= 2
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      let text = pairs.loadUnaligned(fromByteOffset: Int(truncatingIfNeeded: pair) &* 2, as: UInt16.self)
      base.storeBytes(of: text, toByteOffset: index, as: UInt16.self)
      rest = quotient
    }
    if index > start {
      let digit = UInt8(truncatingIfNeeded: rest % 10) &+ UInt8(ascii: "0")
      base.storeBytes(of: digit, toByteOffset: start, as: UInt8.self)
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
