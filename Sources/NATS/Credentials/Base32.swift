/// Base32 without padding (RFC 4648 section 6), as NATS writes keys.
enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for byte in bytes {
      word = word << 8 | UInt32(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        out.append(alphabet[Int(word >> bits & 31)])
      }
      word &= 31
    }
    if bits > 0 { out.append(alphabet[Int(word << (5 - bits) & 31)]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil for anything that `encode` does not write.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard [0, 2, 4, 5, 7].contains(text.count % 8) else { return nil }
    var out: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for character in text {
      let value: UInt8
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
      default: return nil
      }
      word = word << 5 | UInt32(value)
      bits += 5
      guard bits >= 8 else { continue }
      bits -= 8
      out.append(UInt8(truncatingIfNeeded: word >> bits))
      word &= (1 << bits) - 1
    }
    return word == 0 ? out : nil
  }
}

/// CRC-16 with the polynomial 0x1021, from 0 (XMODEM): the checksum of NATS keys.
enum CRC16 {
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
    var crc: UInt16 = 0
    for byte in bytes {
      crc ^= UInt16(byte) << 8
      for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
    return crc
  }
}
