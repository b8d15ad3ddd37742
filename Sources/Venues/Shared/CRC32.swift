/// CRC-32 as in IEEE 802.3 and zlib: reflected polynomial 0xEDB88320, start and final XOR 0xFFFFFFFF. Eight bytes a
/// step.
package struct CRC32 {
  private var state: UInt32 = 0xFFFF_FFFF

  package init() {}

  /// `tables[k * 256 + b]` is the effect of byte `b` with `k` zero bytes after it.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var value = UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
      tables[byte] = value
    }
    for step in 1..<8 {
      for byte in 0..<256 {
        let before = tables[(step - 1) * 256 + byte]
        tables[step * 256 + byte] = before >> 8 ^ tables[Int(before & 0xFF)]
      }
    }
    return tables
  }()

  /// O(bytes).
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    Self.tables.withUnsafeBufferPointer { table in
      var index = 0
      while index &+ 8 <= bytes.count {
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(crc)
        var next: UInt32 = 0
        for step in 0..<8 {
          next ^= table[(7 &- step) &* 256 &+ Int(truncatingIfNeeded: word >> (8 &* UInt64(step)) & 0xFF)]
        }
        crc = next
        index &+= 8
      }
      while index < bytes.count {
        crc = crc >> 8 ^ table[Int((crc ^ UInt32(bytes[index])) & 0xFF)]
        index &+= 1
      }
    }
    state = crc
  }

  package var value: UInt32 { ~state }
}
