import TestSupport
import Testing

@testable import MarketData

@Suite("What makes one book into another")
struct OrderBookDifferenceTests {
  private func book(_ random: inout SeededGenerator, _ count: Int) -> OrderBook {
    var book = OrderBook()
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    for _ in 0..<count {
      bids.append(PriceLevel(price: 100 - Int64(random.next() % 60), size: 1 + Int64(random.next() % 3)))
      asks.append(PriceLevel(price: 101 + Int64(random.next() % 60), size: 1 + Int64(random.next() % 3)))
    }
    book.replace(bids: bids[...], asks: asks[...])
    return book
  }

  @Test("applied as an update it gives the other book, and says nothing of what is the same", arguments: testSeeds(50))
  func applied(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var from = book(&random, Int(random.next() % 40))
    let to = book(&random, Int(random.next() % 40))
    var batch = EventBatch()
    from.difference(to: to, into: &batch)
    let same = Set(from.bids).intersection(to.bids).union(Set(from.asks).intersection(to.asks))
    let isDisjoint = same.isDisjoint(with: batch.bids + batch.asks)
    #expect(isDisjoint, "seed \(seed)")
    from.update(bids: batch.bids[...], asks: batch.asks[...])
    #expect(from.bids == to.bids && from.asks == to.asks && from.unknownDeletes == 0, "seed \(seed)")
    var rest = EventBatch()
    from.difference(to: to, into: &rest)
    let isEmpty = rest.bids.isEmpty && rest.asks.isEmpty
    #expect(isEmpty, "seed \(seed)")
  }
}
