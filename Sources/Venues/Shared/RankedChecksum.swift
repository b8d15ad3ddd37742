import MarketData

/// The checksum of a book's best levels by turns: of Bitfinex' aggregated books (P0), and of Bitget's before 2026.
enum RankedChecksum {
  /// Levels of each side that it covers.
  static let depth = 25
  /// Digits after the point beyond which a number may be printed as an exponent, of which the sources disagree:
  /// `toString` prints 1e-7, Bitfinex' own client turns prices back and leaves amounts.
  private static let plainDigits: UInt8 = 6

  /// CRC-32 over the 25 best of each side, bid and ask by turns: `price:amount:price:amount:…`, a missing level left
  /// out, each number as JavaScript prints it (docs.bitfinex.com, "Checksum"). Nil if a number is below 10^-6, whose
  /// text is not known for certain. The venues print the result as a signed number. About 2 KB; no allocation.
  /// - Parameter hasSignedAsks: whether the amount of an ask has a sign.
  static func checksum(
    of book: borrowing OrderBook, priceScale: UInt8, sizeScale: UInt8, hasSignedAsks: Bool
  ) -> UInt32? {
    // The four numbers of a rank, of at most 19 digits, each with the colon before it, sign, point and a zero before
    // that: above 1 KB the memory would come from the heap.
    withUnsafeTemporaryAllocation(byteCount: 4 * 24, alignment: 8) { text in
      var count = 0
      var isFirst = true
      var isCertain = true
      func append(_ value: Int64, _ scale: UInt8, isNegative: Bool) {
        var digits = value.magnitude
        var scale = scale
        if scale > plainDigits, digits > 0, digits < Self.power(scale - plainDigits) { isCertain = false }
        while scale > 0 {
          let (quotient, digit) = digits.quotientAndRemainder(dividingBy: 10)
          guard digit == 0 else { break }
          digits = quotient
          scale -= 1
        }
        if !isFirst {
          text[count] = UInt8(ascii: ":")
          count &+= 1
        }
        isFirst = false
        if isNegative {
          text[count] = UInt8(ascii: "-")
          count &+= 1
        }
        var length = 1
        var limit: UInt64 = 10
        while digits >= limit, length < 19 {
          length &+= 1
          limit = limit &* 10
        }
        // One digit at least before the point.
        length = max(length, Int(scale) + 1)
        var index = count &+ length &+ (scale > 0 ? 1 : 0)
        count = index
        for position in 0..<length {
          if scale > 0, position == Int(scale) {
            index &-= 1
            text[index] = UInt8(ascii: ".")
          }
          let (quotient, digit) = digits.quotientAndRemainder(dividingBy: 10)
          index &-= 1
          text[index] = UInt8(truncatingIfNeeded: digit) &+ UInt8(ascii: "0")
          digits = quotient
        }
      }
      func append(_ level: PriceLevel, isAsk: Bool) {
        append(level.price, priceScale, isNegative: false)
        append(level.size, sizeScale, isNegative: isAsk && hasSignedAsks)
      }
      var crc = CRC32()
      for rank in 0..<depth {
        if rank < book.bids.count { append(book.bid(at: rank), isAsk: false) }
        if rank < book.asks.count { append(book.ask(at: rank), isAsk: true) }
        crc.update(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<count]))
        count = 0
      }
      return isCertain ? crc.value : nil
    }
  }

  private static func power(_ digits: UInt8) -> UInt64 {
    var power: UInt64 = 1
    for _ in 0..<digits { power *= 10 }
    return power
  }
}
