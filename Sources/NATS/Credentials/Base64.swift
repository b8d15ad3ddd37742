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
  static func encodeURL(_ bytes: [UInt8]) -> String { BitGroups.encode(bytes, width: 6, alphabet: urlAlphabet) }

  /// Bytes of Base64 with padding; nil for anything else.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    return BitGroups.decode(text.dropLast(padding), width: 6, value)
  }
}
