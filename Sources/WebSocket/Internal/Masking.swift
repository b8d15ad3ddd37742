/// The mask of RFC 6455 section 5.3.
enum Masking {
  /// XORs `count` bytes with the key, beginning with its byte `phase` mod 4. O(count), eight bytes at a time.
  ///
  /// - Parameter key: as loaded from memory: its lowest byte in memory masks the first byte of a payload.
  @inline(__always)
  static func apply(_ base: UnsafeMutableRawPointer, count: Int, key: UInt32, phase: Int) {
    let turned = rotate(key, by: phase)
    let wide = UInt64(turned) << 32 | UInt64(turned)
    var index = 0
    while index &+ 8 <= count {
      let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      base.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
      index &+= 8
    }
    if index &+ 4 <= count {
      let word = base.loadUnaligned(fromByteOffset: index, as: UInt32.self)
      base.storeBytes(of: word ^ turned, toByteOffset: index, as: UInt32.self)
      index &+= 4
    }
    var rest = UInt32(littleEndian: turned)
    while index < count {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      base.storeBytes(of: byte ^ UInt8(truncatingIfNeeded: rest), toByteOffset: index, as: UInt8.self)
      rest >>= 8
      index &+= 1
    }
  }

  /// The key whose first byte in memory is byte `phase` mod 4 of `key`.
  @inline(__always)
  private static func rotate(_ key: UInt32, by phase: Int) -> UInt32 {
    let little = UInt32(littleEndian: key)
    let shift = UInt32(truncatingIfNeeded: phase & 3) &* 8
    return (little &>> shift | little &<< ((32 &- shift) & 31)).littleEndian
  }
}
