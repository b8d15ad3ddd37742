/// Base64 (RFC 4648): signatures with the URL alphabet and without padding, and the messages that JetStream sends.
enum Base64 {
  private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func isURLCharacter(_ byte: UInt8) -> Bool { value(byte) != nil && byte != UInt8(ascii: "+") && byte != 0x2F }

  /// The six bits of a character of either alphabet.
  private static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }

  /// With the URL alphabet, without padding (section 5).
  static func encodeURL(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for byte in bytes {
      word = word << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        out.append(urlAlphabet[Int(word >> bits & 63)])
      }
      word &= 63
    }
    if bits > 0 { out.append(urlAlphabet[Int(word << (6 - bits) & 63)]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// Bytes of Base64 with padding; nil for anything else.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    var out: [UInt8] = []
    out.reserveCapacity(text.count / 4 * 3)
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for character in text.dropLast(padding) {
      guard let six = value(character) else { return nil }
      word = word << 6 | UInt32(six)
      bits += 6
      guard bits >= 8 else { continue }
      bits -= 8
      out.append(UInt8(truncatingIfNeeded: word >> bits))
      word &= (1 << bits) - 1
    }
    return word == 0 ? out : nil
  }
}
