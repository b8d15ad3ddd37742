import MarketData

/// Levels of both sides of a book, best first unless it is said otherwise.
struct BookSides {
  var bids: [PriceLevel] = []
  var asks: [PriceLevel] = []

  var isEmpty: Bool { bids.isEmpty && asks.isEmpty }
  /// Each side the other way round.
  var reversed: BookSides { BookSides(bids: bids.reversed(), asks: asks.reversed()) }
  /// Adds those levels that are not there, behind the others.
  mutating func add(_ others: BookSides) {
    bids += others.bids.filter { other in !bids.contains { $0.price == other.price } }
    asks += others.asks.filter { other in !asks.contains { $0.price == other.price } }
  }
  /// All levels, the bids first, each with what the venue calls its side.
  func labelled<Side>(_ bid: Side, _ ask: Side) -> [(side: Side, level: PriceLevel)] {
    bids.map { (bid, $0) } + asks.map { (ask, $0) }
  }
}

extension SimulatedBook {
  /// The best `depth` levels of each side. O(depth).
  func top(_ depth: Int) -> BookSides { BookSides(bids: top(.bid, depth), asks: top(.ask, depth)) }
  /// All levels.
  var sides: BookSides { top(.max) }
}

/// Level changes gathered over a venue's batch interval, to be sent in one message with each price once.
struct LevelBatch {
  private var bids: [Int64: Int64] = [:]
  private var asks: [Int64: Int64] = [:]

  mutating func add(_ change: SimulatedChange) {
    for level in change.bids { bids[level.price] = level.size }
    for level in change.asks { asks[level.price] = level.size }
  }

  /// Removes and returns the gathered levels; nil if there are none.
  mutating func take() -> BookSides? {
    guard !bids.isEmpty || !asks.isEmpty else { return nil }
    defer { removeAll() }
    return BookSides(
      bids: bids.map { PriceLevel(price: $0.key, size: $0.value) }.sorted { $0.price > $1.price },
      asks: asks.map { PriceLevel(price: $0.key, size: $0.value) }.sorted { $0.price < $1.price })
  }

  mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
  }
}
