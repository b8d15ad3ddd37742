import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Kraken's book checksum")
struct KrakenBookChecksumTests {
  private func level(_ text: String, price: UInt8, size: UInt8) throws -> PriceLevel {
    let parts = text.split(separator: "/").map { Array($0.utf8) }
    let (priceText, sizeText) = (parts[0], parts[1])
    return PriceLevel(
      price: try DecimalText.parse(priceText.span.bytes, scale: price),
      size: try DecimalText.parse(sizeText.span.bytes, scale: size))
  }

  @Test("CRC-32 of known texts, at lengths around its step of eight bytes")
  func crc() {
    func crc(_ text: String) -> UInt32 {
      var crc = CRC32()
      Array(text.utf8).withUnsafeBytes { crc.update($0) }
      return crc.value
    }
    #expect(crc("") == 0)
    #expect(crc("123456789") == 0xCBF4_3926)
    #expect(crc("a") == 0xE8B7_BE43)
    #expect(crc("abcdefgh") == 0xAEEF_2A50)
    #expect(crc("The quick brown fox jumps over the lazy dog") == 0x414F_A339)
    // In parts as in one.
    var parts = CRC32()
    Array("12345".utf8).withUnsafeBytes { parts.update($0) }
    Array("6789".utf8).withUnsafeBytes { parts.update($0) }
    #expect(parts.value == 0xCBF4_3926)
  }

  @Test("the documented example")
  func documented() throws {
    let asks = [
      "45285.2/0.00100000", "45286.4/1.54571953", "45286.6/1.54571109", "45289.6/1.54560911", "45290.2/0.15890660",
      "45291.8/1.54553491", "45294.7/0.04454749", "45296.1/0.35380000", "45297.5/0.09945542", "45299.5/0.18772827",
    ]
    let bids = [
      "45283.5/0.10000000", "45283.4/1.54582015", "45282.1/0.10000000", "45281.0/0.10000000", "45280.3/1.54592586",
      "45279.0/0.07990000", "45277.6/0.03310103", "45277.5/0.30000000", "45277.3/1.54602737", "45276.6/0.15445238",
    ]
    var book = OrderBook(depthLimit: 100)
    let bidLevels = try bids.map { try level($0, price: 1, size: 8) }
    let askLevels = try asks.map { try level($0, price: 1, size: 8) }
    book.replace(bids: bidLevels[...], asks: askLevels[...])
    #expect(KrakenBookChecksum.checksum(of: book) == 3_310_070_434)
    // Levels below the tenth do not count.
    let more = [try level("45000.0/5.00000000", price: 1, size: 8)]
    book.update(bids: more[...], asks: [])
    #expect(KrakenBookChecksum.checksum(of: book) == 3_310_070_434)
  }

  @Test("fewer than ten levels are covered as they are")
  func short() throws {
    // CRC-32 of "10" "25" "9" "5".
    var expected = CRC32()
    Array("102595".utf8).withUnsafeBytes { expected.update($0) }
    let ask = [PriceLevel(price: 10, size: 25)]
    let bid = [PriceLevel(price: 9, size: 5)]
    #expect(KrakenBookChecksum.checksum(bids: bid[...], asks: ask[...]) == expected.value)
    #expect(KrakenBookChecksum.checksum(bids: [], asks: []) == 0)
  }

  @Test("the largest numbers fit")
  func largest() {
    var expected = CRC32()
    Array("92233720368547758079223372036854775807".utf8).withUnsafeBytes { expected.update($0) }
    let level = [PriceLevel(price: .max, size: .max)]
    #expect(KrakenBookChecksum.checksum(bids: [], asks: level[...]) == expected.value)
  }
}
