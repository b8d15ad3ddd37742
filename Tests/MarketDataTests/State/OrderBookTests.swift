import MarketData
import TestSupport
import TestTraits
import Testing

@Suite struct OrderBookTests {
  private func levels(_ pairs: [(Int64, Int64)]) -> ArraySlice<PriceLevel> {
    pairs.map { PriceLevel(price: $0.0, size: $0.1) }[...]
  }

  @Test("a snapshot in any order is sorted, of a price that comes twice the last counts, and zero sizes are left out")
  func snapshotOrder() {
    var book = OrderBook()
    book.replace(
      bids: levels([(10, 1), (30, 3), (20, 2), (30, 4), (15, 0), (20, 0)]),
      asks: levels([(31, 1), (31, 2), (40, 0), (35, 5)]))
    #expect(book.bids == Array(levels([(10, 1), (30, 4)])))
    #expect(book.asks == Array(levels([(35, 5), (31, 2)])))
    #expect(book.bestBid?.price == 30)
    #expect(book.bid(at: 1).price == 10)
    #expect(book.ask(at: 0).size == 2)
    #expect(book.invariantsHold)
  }

  @Test("removing a level that is not there is counted and changes nothing")
  func unknownDelete() {
    var book = OrderBook()
    book.replace(bids: levels([(10, 1)]), asks: levels([]))
    book.update(bids: levels([(9, 0), (10, 0)]), asks: levels([(11, 0)]))
    #expect(book.isEmpty)
    #expect(book.unknownDeletes == 2)
  }

  @Test("of a price that comes twice in one update the last counts")
  func updateInTurn() {
    var book = OrderBook()
    book.update(bids: levels([(10, 1), (10, 0), (10, 7)]), asks: levels([(11, 5), (11, 0)]))
    #expect(book.bids == Array(levels([(10, 7)])))
    #expect(book.asks.isEmpty)
  }

  @Test("the depth limit keeps the best and says what it dropped, the best of it first")
  func depthLimit() {
    var book = OrderBook(depthLimit: 2)
    book.replace(bids: levels([(10, 1), (9, 1), (8, 1)]), asks: levels([(11, 1), (12, 1), (13, 1)]))
    #expect(book.bids.map(\.price) == [9, 10])
    #expect(book.asks.map(\.price) == [12, 11])
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    book.update(
      bids: levels([(10, 2), (11, 1), (12, 1)]), asks: levels([(14, 1)]), droppedBids: &bids, droppedAsks: &asks)
    #expect(book.bids.map(\.price) == [11, 12])
    #expect(bids == Array(levels([(10, 0), (9, 0)])))
    #expect(asks == Array(levels([(14, 0)])))
  }

  @Test("a bid at or above the ask is crossed; a book with an empty side is not")
  func crossed() {
    var book = OrderBook()
    book.replace(bids: levels([(10, 1)]), asks: levels([]))
    #expect(!book.isCrossed)
    book.update(bids: levels([]), asks: levels([(11, 1)]))
    #expect(!book.isCrossed)
    book.update(bids: levels([]), asks: levels([(10, 1)]))
    #expect(book.isCrossed)
  }

  @Test("wider scales multiply every level; a value that does not fit leaves the book as it was")
  func rescale() throws {
    var book = OrderBook()
    book.replace(bids: levels([(10, 1), (9, 2)]), asks: levels([(11, .max / 10)]))
    try book.rescale(priceBy: 100, sizeBy: 10)
    #expect(book.bids == Array(levels([(900, 20), (1000, 10)])))
    #expect(book.asks == Array(levels([(1100, .max / 10 * 10)])))
    let before = (book.bids, book.asks)
    #expect(throws: OrderBook.Failure.overflow) { try book.rescale(priceBy: 1, sizeBy: 10) }
    #expect(book.bids == before.0)
    #expect(book.asks == before.1)
  }

  @Test("random snapshots and updates leave the same book as a dictionary", .longComputation, arguments: testSeeds(6))
  func againstDictionary(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let depth: Int? = [nil, 10, 60][Int(random.next() % 3)]
    var book = OrderBook(depthLimit: depth)
    var bids: [Int64: Int64] = [:]
    var asks: [Int64: Int64] = [:]
    var unknown = 0
    func draw(_ count: Int) -> [PriceLevel] {
      (0..<count).map { _ in
        // Three in four near the top, the rest anywhere, so that both searches are used.
        let reach: Int64 = Int64.random(in: 0..<4, using: &random) == 0 ? 400 : 40
        return PriceLevel(
          price: 1_000 + Int64.random(in: -reach...reach, using: &random),
          size: max(0, Int64.random(in: -3...9, using: &random)))
      }
    }
    func set(_ side: inout [Int64: Int64], _ levels: [PriceLevel], counting: Bool) {
      for level in levels {
        if level.size > 0 {
          side[level.price] = level.size
        } else if side.removeValue(forKey: level.price) == nil, counting {
          unknown += 1
        }
      }
    }
    func cut(_ side: inout [Int64: Int64], bestFirst: (Int64, Int64) -> Bool) {
      guard let depth else { return }
      for price in side.keys.sorted(by: bestFirst).dropFirst(depth) { side[price] = nil }
    }
    for step in 0..<600 {
      let isSnapshot = step == 0 || random.next() % 200 == 0
      var newBids = draw(Int(random.next() % (isSnapshot ? 300 : 12)))
      var newAsks = draw(Int(random.next() % (isSnapshot ? 300 : 12)))
      // As venues print them, from the best or the worst on, or in any order.
      switch random.next() % 3 {
      case 0: (newBids, newAsks) = (newBids.sorted { $0.price > $1.price }, newAsks.sorted { $0.price < $1.price })
      case 1: (newBids, newAsks) = (newBids.sorted { $0.price < $1.price }, newAsks.sorted { $0.price > $1.price })
      default: break
      }
      // A copy has the same memory until one of the two changes.
      let copy = random.next() % 3 == 0 ? book : nil
      let copied = copy.map { (bids: $0.bids.map { $0 }, asks: $0.asks.map { $0 }) }
      if isSnapshot {
        bids = [:]
        asks = [:]
        book.replace(bids: newBids[...], asks: newAsks[...])
      } else {
        book.update(bids: newBids[...], asks: newAsks[...])
      }
      #expect(copy?.bids == copied?.bids && copy?.asks == copied?.asks, "TIDEGATE_SEED=\(seed), step \(step)")
      set(&bids, newBids, counting: !isSnapshot)
      set(&asks, newAsks, counting: !isSnapshot)
      cut(&bids, bestFirst: >)
      cut(&asks, bestFirst: <)
      let sameBids = book.bids == bids.sorted { $0.key < $1.key }.map { PriceLevel(price: $0.key, size: $0.value) }
      let sameAsks = book.asks == asks.sorted { $0.key > $1.key }.map { PriceLevel(price: $0.key, size: $0.value) }
      guard sameBids, sameAsks, book.unknownDeletes == unknown, book.invariantsHold else {
        Issue.record("seed \(seed), step \(step): the book differs from the dictionary")
        return
      }
    }
  }
}
