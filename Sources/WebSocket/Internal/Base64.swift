/// Base64 (RFC 4648 section 4) of the handshake's keys.
enum Base64 {
  /// The character of six bits.
  @inline(__always)
  private static func character(_ bits: UInt32) -> UInt8 {
    switch UInt8(truncatingIfNeeded: bits & 63) {
    case let value where value < 26: UInt8(ascii: "A") + value
    case let value where value < 52: UInt8(ascii: "a") + value - 26
    case let value where value < 62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }

  /// The six bits of a character; nil if it is not in the alphabet.
  @inline(__always)
  private static func bits(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  /// `bytes` with padding.
  static func encode(_ bytes: [UInt8]) -> String {
    let length = (bytes.count + 2) / 3 * 4
    return String(unsafeUninitializedCapacity: length) { out in
      for group in 0..<(length / 4) {
        let start = group * 3
        let left = bytes.count - start
        let word =
          UInt32(bytes[start]) << 16 | (left > 1 ? UInt32(bytes[start + 1]) << 8 : 0)
          | (left > 2 ? UInt32(bytes[start + 2]) : 0)
        out[group * 4] = character(word >> 18)
        out[group * 4 + 1] = character(word >> 12)
        out[group * 4 + 2] = left > 1 ? character(word >> 6) : UInt8(ascii: "=")
        out[group * 4 + 3] = left > 2 ? character(word) : UInt8(ascii: "=")
      }
      return length
    }
  }

  /// Whether `text` is the encoding of exactly 16 bytes: 22 characters of the alphabet, the last without stray bits,
  /// and `==`.
  static func isSixteenBytes(_ text: String) -> Bool {
    guard text.utf8.count == 24 else { return false }
    var text = text
    return text.withUTF8 { bytes in
      guard bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "="), let last = bits(bytes[21]) else {
        return false
      }
      return last & 15 == 0 && bytes[..<21].allSatisfy { bits($0) != nil }
    }
  }
}
