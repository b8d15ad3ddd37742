import Bytes
import MarketData

/// CRC-32 as in IEEE 802.3 and zlib: reflected polynomial 0xEDB88320, start and final XOR 0xFFFFFFFF. Eight bytes a step.
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

/// Kraken's book checksum.
package enum KrakenChecksum {
  /// Levels of each side that it covers, whatever the subscribed depth.
  package static let depth = 10

  /// CRC-32 of asks from the lowest, then bids from the highest, ten of each or as many as there are: price and size without
  /// point and leading zeros, nothing between them ("Book checksum", Spot WebSocket v2).
  ///
  /// A scaled integer written in decimal *is* the printed number without its point and leading zeros, as long as the
  /// instrument's scales are the digits that Kraken prints. About 300 bytes; no allocation.
  package static func checksum(of book: borrowing OrderBook) -> UInt32 {
    checksum(bids: book.bids.suffix(depth), asks: book.asks.suffix(depth))
  }

  /// Both sides with the best level last.
  package static func checksum(bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>) -> UInt32 {
    // Two sides of ten levels with two numbers of at most 19 digits.
    withUnsafeTemporaryAllocation(byteCount: 2 * depth * 2 * 20, alignment: 8) { text in
      var count = 0
      func append(_ value: Int64) {
        let rest = value.magnitude
        var length = 1
        var limit: UInt64 = 10
        while rest >= limit, length < 19 {
          length &+= 1
          limit = limit &* 10
        }
        var index = count &+ length
        count = index
        var left = rest
        for _ in 0..<length {
          index &-= 1
          let (quotient, digit) = left.quotientAndRemainder(dividingBy: 10)
          text[index] = UInt8(truncatingIfNeeded: digit) &+ UInt8(ascii: "0")
          left = quotient
        }
      }
      for level in asks.suffix(depth).reversed() {
        append(level.price)
        append(level.size)
      }
      for level in bids.suffix(depth).reversed() {
        append(level.price)
        append(level.size)
      }
      var crc = CRC32()
      crc.update(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<count]))
      return crc.value
    }
  }
}
