/// The character classes of RFC 9110 and RFC 3986, and comparison without case.
package enum ASCII {
  /// `tchar` (RFC 9110 section 5.6.2): the characters of methods and field names.
  package static func isToken(_ byte: UInt8) -> Bool {
    // A bit for each: `0`…`9` and !#$%&'*+-. below 64; letters and ^_`|~ above.
    let low: UInt64 = 0x03FF_6CFA_0000_0000
    let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
    return byte < 128 && (byte < 64 ? low : high) >> (byte & 63) & 1 == 1
  }

  /// Whether all of `text` is `tchar` and there is at least one.
  package static func isToken(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { isToken($0) }
  }

  /// The characters of a field value or reason: visible characters, space, tab, and octets from 0x80 (RFC 9110 section
  /// 5.5).
  static func isFieldContent(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == 0x09 }

  /// The characters of a request target: visible ASCII except `#`, `"`, `<` and `>`. Browsers send some characters that
  /// RFC 3986 wants encoded, such as `|`.
  static func isTarget(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "<")
      && byte != UInt8(ascii: ">")
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

  /// The value of a hexadecimal digit; nil for any other character.
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - UInt8(ascii: "0") }
    let low = (byte | 0x20) &- UInt8(ascii: "a")
    return low < 6 ? low + 10 : nil
  }

  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

  /// Whether two texts are equal but for the case of ASCII letters. O(n).
  package static func equalIgnoringCase(_ a: String, _ b: String) -> Bool {
    guard a.utf8.count == b.utf8.count else { return false }
    let isEqual = a.utf8.withContiguousStorageIfAvailable { a in
      b.utf8.withContiguousStorageIfAvailable { b in equalIgnoringCase(a, b) }
    }
    return isEqual.flatMap { $0 } ?? zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
  }

  static func equalIgnoringCase(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    for index in 0..<a.count where a[index] != b[index] && lowercased(a[index]) != lowercased(b[index]) { return false }
    return true
  }

  /// Whether two texts are equal but for the case of ASCII letters. O(n).
  package static func equalIgnoringCase(_ a: some StringProtocol, _ b: some StringProtocol) -> Bool {
    a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
  }
}
