import Bytes
import MarketData

/// Kraken's book checksum.
package enum KrakenBookChecksum {
  /// Levels of each side that it covers, whatever the subscribed depth.
  package static let depth = 10

  /// CRC-32 of asks from the lowest, then bids from the highest, ten of each or as many as there are: price and size
  /// without point and leading zeros, nothing between them ("Book checksum", Spot WebSocket v2).
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
