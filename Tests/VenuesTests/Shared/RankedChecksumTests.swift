import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("The checksum of ranks")
struct RankedChecksumTests {
  private func book(_ bids: [(Int64, Int64)], _ asks: [(Int64, Int64)]) -> OrderBook {
    var book = OrderBook(depthLimit: 100)
    let (b, a) = (bids.map { PriceLevel(price: $0, size: $1) }, asks.map { PriceLevel(price: $0, size: $1) })
    book.replace(bids: b[...], asks: a[...])
    return book
  }

  private static func checksum(
    of book: borrowing OrderBook, priceScale: UInt8, sizeScale: UInt8, hasSignedAsks: Bool = true
  ) -> UInt32? {
    RankedChecksum.checksum(of: book, priceScale: priceScale, sizeScale: sizeScale, hasSignedAsks: hasSignedAsks)
  }

  private func crc(_ text: String) -> UInt32 {
    var crc = CRC32()
    Array(text.utf8).withUnsafeBytes { crc.update($0) }
    return crc.value
  }

  @Test("the book of the venue's own tests, at any scale")
  func published() {
    let plain = book([(6000, 1), (5900, 2)], [(6100, 3), (6200, 4)])
    #expect(Self.checksum(of: plain, priceScale: 0, sizeScale: 0) == 1_756_193_398)
    let scaled = book([(600_000, 100), (590_000, 200)], [(610_000, 300), (620_000, 400)])
    #expect(Self.checksum(of: scaled, priceScale: 2, sizeScale: 2) == 1_756_193_398)
  }

  @Test("numbers as JavaScript prints them: no zeros at the end, one before the point, the asks' sign")
  func numbers() {
    let some = book([(123_450_000, 10_000_000)], [(123_460_000, 5)])
    #expect(
      Self.checksum(of: some, priceScale: 5, sizeScale: 6) == crc("1234.5:10:1234.6:-0.000005"))
    let small = book([(100, 3_460_649)], [])
    #expect(Self.checksum(of: small, priceScale: 8, sizeScale: 8) == crc("0.000001:0.03460649"))
    #expect(Self.checksum(of: book([], []), priceScale: 8, sizeScale: 8) == 0)
    let largest = book([(.max, .max)], [])
    #expect(
      Self.checksum(of: largest, priceScale: 0, sizeScale: 18)
        == crc("9223372036854775807:9.223372036854775807"))
  }

  @Test("sides of different depth, and never more than 25 levels")
  func sides() {
    let uneven = book([(3, 1), (2, 1)], [(4, 1), (5, 1), (6, 1)])
    #expect(
      Self.checksum(of: uneven, priceScale: 0, sizeScale: 0) == crc("3:1:4:-1:2:1:5:-1:6:-1"))
    let deep = book((1...40).map { (Int64($0), 1) }, [])
    let text = (16...40).reversed().map { "\($0):1" }.joined(separator: ":")
    #expect(Self.checksum(of: deep, priceScale: 0, sizeScale: 0) == crc(text))
  }

  @Test("Bitget's asks have no sign: the books of its manual")
  func unsigned() {
    let equal = book([(432_311, 40), (432_310, 60)], [(432_328, 90), (432_329, 80)])
    #expect(
      Self.checksum(of: equal, priceScale: 1, sizeScale: 1, hasSignedAsks: false)
        == UInt32(bitPattern: -1_504_501_796))
    let uneven = book([(33_661, 7)], [(33_668, 9), (33_680, 8), (33_720, 8)])
    #expect(Self.checksum(of: uneven, priceScale: 1, sizeScale: 0, hasSignedAsks: false) == 831_078_360)
  }

  @Test("of a number below a millionth nothing certain is known")
  func uncertain() {
    #expect(Self.checksum(of: book([(99, 1)], []), priceScale: 8, sizeScale: 0) == nil)
    #expect(Self.checksum(of: book([(100, 99)], []), priceScale: 0, sizeScale: 8) == nil)
    #expect(Self.checksum(of: book([(100, 100)], []), priceScale: 8, sizeScale: 8) != nil)
  }
}
