import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("The changed levels of a book")
struct ChangedLevelsTests {
  private func levels(_ pairs: [(Int64, Int64)]) -> [PriceLevel] { pairs.map { PriceLevel(price: $0.0, size: $0.1) } }

  @Test("of a view are those that differ, best first, with size 0 for those that leave it")
  func advance() {
    var changed = ChangedLevels()
    var view = BookView()
    // Books have the best level last.
    changed.advance(&view, bids: levels([(8, 1), (9, 2)]), asks: levels([(12, 1), (11, 3)]), depth: 2)
    #expect(changed.bids == levels([(9, 2), (8, 1)]) && changed.asks == levels([(11, 3), (12, 1)]))
    #expect(view.bids == changed.bids && view.asks == changed.asks)
    changed.advance(&view, bids: levels([(8, 1), (9, 5), (10, 1)]), asks: levels([(12, 1), (11, 3)]), depth: 2)
    #expect(changed.bids == levels([(10, 1), (9, 5), (8, 0)]) && changed.asks.isEmpty && !changed.isEmpty)
    changed.advance(&view, bids: levels([(8, 1), (9, 5), (10, 1)]), asks: levels([(12, 1), (11, 3)]), depth: 2)
    #expect(changed.isEmpty)
  }

  @Test("at pending prices are the present ones, each once, and no price is pending then")
  func resolve() {
    var changed = ChangedLevels()
    var view = BookView()
    view.note(bids: levels([(8, 9), (10, 9), (8, 7)])[...], asks: levels([(12, 9)])[...])
    changed.resolve(&view, bids: levels([(8, 1), (9, 2)]), asks: levels([(12, 4)]))
    #expect(changed.bids == levels([(10, 0), (8, 1)]) && changed.asks == levels([(12, 4)]))
    changed.resolve(&view, bids: levels([(8, 1), (9, 2)]), asks: levels([(12, 4)]))
    #expect(changed.isEmpty)
  }

  @Test(
    "lead a reader to the same levels as the book has, whichever way they are found",
    arguments: 1...20 as ClosedRange<UInt64>)
  func follow(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (changed, view, whole) = (ChangedLevels(), BookView(), BookView())
    var book: [Int64: Int64] = [:]
    var (top, all): ([Int64: Int64], [Int64: Int64]) = ([:], [:])
    for _ in 0..<200 {
      let price = Int64.random(in: 1...30, using: &random)
      let size = Int64.random(in: 0...4, using: &random)
      book[price] = size == 0 ? nil : size
      whole.note(bids: levels([(price, size)])[...], asks: [])
      guard Bool.random(using: &random) else { continue }
      let bids = levels(book.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
      changed.advance(&view, bids: bids, asks: [], depth: 5)
      for level in changed.bids { top[level.price] = level.size == 0 ? nil : level.size }
      #expect(top == Dictionary(uniqueKeysWithValues: bids.suffix(5).map { ($0.price, $0.size) }))
      changed.resolve(&whole, bids: bids, asks: [])
      for level in changed.bids { all[level.price] = level.size == 0 ? nil : level.size }
      #expect(all == book)
    }
  }
}
