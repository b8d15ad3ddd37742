import Bytes
import MarketData

extension ByteBuffer {
  /// Appends a number as JavaScript prints it: no zeros at its end, and below 10^-6 with an exponent (`1.1e-7`).
  mutating func append(script value: Int64, scale: UInt8) {
    var digits = value
    var scale = Int(scale)
    while scale > 0, digits % 10 == 0 {
      digits /= 10
      scale -= 1
    }
    if digits < 0 { append("-") }
    let text = String(digits.magnitude)
    let exponent = text.utf8.count - 1 - scale
    guard digits != 0, exponent < -6 else { return append(decimal: Int64(digits.magnitude), scale: UInt8(scale)) }
    append(String(text.prefix(1)))
    if text.utf8.count > 1 {
      append(".")
      append(String(text.dropFirst()))
    }
    append("e")
    append(integer: Int64(exponent))
  }
}

/// The checksum of a book that is aggregated by price: CRC-32 over the 25 best of each side, bid and ask by turns, each as
/// `price:amount` with the minus sign of asks, as JavaScript prints them (docs.bitfinex.com, "Checksum").
enum BitfinexChecksum {
  static let depth = 25

  static func of(_ book: SimulatedBook, _ instrument: SimulatedInstrument, scratch: inout ByteBuffer) -> Int32 {
    scratch.removeAll()
    func append(_ level: PriceLevel, sign: Int64) {
      if scratch.count > 0 { scratch.append(":") }
      scratch.append(script: level.price, scale: instrument.priceScale)
      scratch.append(":")
      scratch.append(script: level.size * sign, scale: instrument.sizeScale)
    }
    for rank in 0..<depth {
      if rank < book.count(.bid) { append(book.level(.bid, rank), sign: 1) }
      if rank < book.count(.ask) { append(book.level(.ask, rank), sign: -1) }
    }
    return Int32(bitPattern: KrakenChecksum.crc32(scratch.unsafeBytes))
  }
}
