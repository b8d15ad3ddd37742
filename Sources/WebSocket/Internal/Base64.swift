/// Base64 (RFC 4648 section 4) of the handshake's keys.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// `bytes` with padding.
  static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let word = (0..<3).reduce(0) { $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0) }
      for index in 0..<4 {
        out.append(index <= group.count ? alphabet[word >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Whether `text` is the encoding of exactly 16 bytes: 22 characters of the alphabet, the last without stray bits,
  /// and `==`.
  static func isSixteenBytes(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 24, bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "=") else { return false }
    guard bytes[..<22].allSatisfy({ alphabet.contains($0) }) else { return false }
    return alphabet.firstIndex(of: bytes[21])! & 15 == 0
  }
}
