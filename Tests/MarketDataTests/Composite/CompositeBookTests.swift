import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite struct CompositeBookTests {
  @Test("random books merged are the sums of their levels by price, with the venues of each", arguments: testSeeds(6))
  func againstSums(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for step in 0..<100 {
      let depth = Int(random.next() % 12) + 1
      let parts = (0..<Int(random.next() % 5)).map { index in
        func side() -> [Int64] { Array(Set((0..<Int(random.next() % 20)).map { _ in Int64(random.next() % 60) + 1 })) }
        let scale = UInt8(random.next() % 2)
        return CompositeBook.Part(
          venue: "\(index)", priceScale: scale, sizeScale: scale,
          bids: side().sorted(by: >).map { PriceLevel(price: $0, size: $0 % 7 + 1) },
          asks: side().sorted().map { PriceLevel(price: $0, size: $0 % 5 + 1) })
      }
      let book = CompositeBook(parts, depth: depth)
      let scale = parts.map(\.priceScale).max() ?? 0
      for (side, merged) in [(\CompositeBook.Part.bids, book.bids), (\.asks, book.asks)] {
        var sums: [Int64: CompositeBook.Level] = [:]
        for part in parts {
          let factor = Int64(DecimalText.power(scale - part.priceScale))
          for level in part[keyPath: side] {
            let price = level.price * factor
            sums[price, default: CompositeBook.Level(price: price, size: 0, venues: [])].size += level.size * factor
            sums[price]?.venues.append(part.venue)
          }
        }
        let isBids = side == \CompositeBook.Part.bids
        let prices = sums.keys.sorted(by: { isBids ? $0 > $1 : $0 < $1 }).prefix(depth)
        #expect(merged == prices.map { sums[$0]! }, "seed \(seed), step \(step), depth \(depth)")
      }
    }
  }
}
