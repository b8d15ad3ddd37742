/// Base64 with the URL alphabet and without padding (RFC 4648 section 5, RFC 7515 section 2).
package enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  /// The value of each byte; 255 for bytes that are not in the alphabet.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
  }()

  package static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count * 4 + 2) / 3)
    var word = 0
    var bits = 0
    for byte in bytes {
      word = word << 8 | Int(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        out.append(alphabet[word >> bits & 63])
      }
      word &= 63
    }
    if bits > 0 { out.append(alphabet[word << (6 - bits) & 63]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil for anything that `encode` does not write: padding, other characters, a lone last character, stray bits at the
  /// end. Each byte string has one text, so nobody can write the same token in another way.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var out: [UInt8] = []
    out.reserveCapacity(text.count * 3 / 4)
    var word: UInt32 = 0
    var bits = 0
    for byte in text {
      let value = values[Int(byte)]
      guard value != 255 else { return nil }
      word = word << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        out.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
        word &= (1 << UInt32(bits)) - 1
      }
    }
    return word == 0 ? out : nil
  }
}
