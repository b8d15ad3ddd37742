/// Bytes as groups of a few bits each, a character for each group (RFC 4648 section 3).
enum BitGroups {
  /// - Parameters:
  ///   - width: bits of a group, 1 to 8; the last group is filled up with zeros.
  ///   - alphabet: 2^`width` characters.
  static func encode(_ bytes: [UInt8], width: UInt32, alphabet: [UInt8]) -> String {
    let mask = UInt32(1) << width - 1
    var out: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for byte in bytes {
      word = word << 8 | UInt32(byte)
      bits += 8
      while bits >= width {
        bits -= width
        out.append(alphabet[Int(word >> bits & mask)])
      }
      word &= mask
    }
    if bits > 0 { out.append(alphabet[Int(word << (width - bits) & mask)]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil if a character has no `value`, or if bits that fill up the last group are not zero.
  static func decode(
    _ text: some Collection<UInt8>, width: UInt32, _ value: (UInt8) -> UInt8?
  ) -> [UInt8]? {
    var out: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for character in text {
      guard let group = value(character) else { return nil }
      word = word << width | UInt32(group)
      bits += width
      guard bits >= 8 else { continue }
      bits -= 8
      out.append(UInt8(truncatingIfNeeded: word >> bits))
      word &= (1 << bits) - 1
    }
    return word == 0 ? out : nil
  }
}
