import Bytes
import MarketData

/// The checksum in Kraken's v2 book messages: CRC-32 (IEEE 802.3) over the ten best asks, then the ten best bids, each
/// as its price and its size without point and leading zeros (Kraken, "Spot WebSockets (v2) – Book Checksum").
enum SimulatedKrakenChecksum {
  static let depth = 10

  private static let table: [UInt32] = (0..<256).map { index in
    var value = UInt32(index)
    for _ in 0..<8 { value = value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    return value
  }

  static func crc32(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var value: UInt32 = 0xFFFF_FFFF
    for byte in bytes { value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8) }
    return ~value
  }

  /// O(20 levels). A scaled integer in decimal digits *is* the printed number without its point and leading zeros.
  static func of(_ book: SimulatedBook, scratch: inout ByteBuffer) -> UInt32 {
    scratch.removeAll()
    for level in book.asks.suffix(depth).reversed() { append(level, to: &scratch) }
    for level in book.bids.suffix(depth).reversed() { append(level, to: &scratch) }
    return crc32(scratch.unsafeBytes)
  }

  private static func append(_ level: PriceLevel, to scratch: inout ByteBuffer) {
    scratch.append(integer: level.price)
    scratch.append(integer: level.size)
  }
}
