import Bytes
import MarketData

/// The checksum of a book that is aggregated by price: CRC-32 over the 25 best of each side, bid and ask by turns, each
/// as `price:amount` with the minus sign of asks, as JavaScript prints them (docs.bitfinex.com, "Checksum").
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
    return Int32(bitPattern: SimulatedKrakenChecksum.crc32(scratch.unsafeBytes))
  }
}
