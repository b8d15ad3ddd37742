/// Base32 without padding (RFC 4648 section 6), as NATS writes keys.
enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  static func encode(_ bytes: [UInt8]) -> String { BitGroups.encode(bytes, width: 5, alphabet: alphabet) }

  /// Nil for anything that `encode` does not write.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard [0, 2, 4, 5, 7].contains(text.count % 8) else { return nil }
    return BitGroups.decode(text, width: 5) { character in
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): character - UInt8(ascii: "2") + 26
      default: nil
      }
    }
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
