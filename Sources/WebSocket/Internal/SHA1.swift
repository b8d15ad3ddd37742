/// SHA-1 (RFC 3174) of a short text. Only for the `Sec-WebSocket-Accept` field, where it proves only that the server
/// speaks WebSocket; it is not secure. It allocates only its result.
enum SHA1 {
  /// O(length).
  static func hash(_ text: String) -> [UInt8] {
    var text = text
    return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
  }

  static func hash(_ message: [UInt8]) -> [UInt8] { message.withUnsafeBytes { hash($0) } }

  private static func hash(_ message: UnsafeRawBufferPointer) -> [UInt8] {
    var state = State()
    // The end of the message, the padding and the length fill one or two blocks.
    let whole = message.count / 64 * 64
    for start in stride(from: 0, to: whole, by: 64) {
      state.add(UnsafeRawBufferPointer(rebasing: message[start..<(start + 64)]))
    }
    let rest = message.count - whole
    let tail = rest < 56 ? 64 : 128
    withUnsafeTemporaryAllocation(byteCount: tail, alignment: 8) { block in
      block.copyMemory(from: UnsafeRawBufferPointer(rebasing: message[whole...]))
      block[rest] = 0x80
      for index in (rest + 1)..<tail { block[index] = 0 }
      block.storeBytes(of: (UInt64(message.count) * 8).bigEndian, toByteOffset: tail - 8, as: UInt64.self)
      for start in stride(from: 0, to: tail, by: 64) {
        state.add(UnsafeRawBufferPointer(rebasing: block[start..<(start + 64)]))
      }
    }
    return state.bytes
  }

  private struct State {
    private var h: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
      0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
    )

    mutating func add(_ block: UnsafeRawBufferPointer) {
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { w in
        for t in 0..<16 { w[t] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: t * 4, as: UInt32.self)) }
        for t in 16..<80 { w[t] = SHA1.rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1) }
        var (a, b, c, d, e) = h
        @inline(__always)
        func rounds(_ range: Range<Int>, _ k: UInt32, _ f: (UInt32, UInt32, UInt32) -> UInt32) {
          for t in range {
            (a, b, c, d, e) = (SHA1.rotate(a, 5) &+ f(b, c, d) &+ e &+ k &+ w[t], a, SHA1.rotate(b, 30), c, d)
          }
        }
        rounds(0..<20, 0x5A82_7999) { ($0 & $1) | (~$0 & $2) }
        rounds(20..<40, 0x6ED9_EBA1) { $0 ^ $1 ^ $2 }
        rounds(40..<60, 0x8F1B_BCDC) { ($0 & $1) | ($0 & $2) | ($1 & $2) }
        rounds(60..<80, 0xCA62_C1D6) { $0 ^ $1 ^ $2 }
        h = (h.0 &+ a, h.1 &+ b, h.2 &+ c, h.3 &+ d, h.4 &+ e)
      }
    }

    var bytes: [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        bytes.storeBytes(of: h.0.bigEndian, toByteOffset: 0, as: UInt32.self)
        bytes.storeBytes(of: h.1.bigEndian, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: h.2.bigEndian, toByteOffset: 8, as: UInt32.self)
        bytes.storeBytes(of: h.3.bigEndian, toByteOffset: 12, as: UInt32.self)
        bytes.storeBytes(of: h.4.bigEndian, toByteOffset: 16, as: UInt32.self)
        count = 20
      }
    }
  }

  @inline(__always)
  private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 { value &<< count | value &>> (32 &- count) }
}
