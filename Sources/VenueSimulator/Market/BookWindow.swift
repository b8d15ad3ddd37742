import MarketData

/// What clients of a stream have been shown of a book: its best levels as they stood when they were last told. The
/// venue tells the difference, levels that left the window included.
struct BookWindow {
  let depth: Int
  private var shown = BookSides()

  init(depth: Int) { self.depth = depth }

  /// Moves the window to `book`; what changed, with size 0 for levels that are gone or have fallen out. O(depth).
  mutating func move(to book: SimulatedBook) -> BookSides {
    let new = book.top(depth)
    defer { shown = new }
    return BookSides(
      bids: Self.difference(shown.bids, new.bids) { $0 > $1 }, asks: Self.difference(shown.asks, new.asks) { $0 < $1 })
  }

  /// The same without those levels that have fallen out and are in the book still.
  mutating func moveSilently(to book: SimulatedBook) -> BookSides {
    var changed = move(to: book)
    changed.bids.removeAll { $0.size == 0 && book.size(.bid, at: $0.price) > 0 }
    changed.asks.removeAll { $0.size == 0 && book.size(.ask, at: $0.price) > 0 }
    return changed
  }

  /// Both sides best first.
  private static func difference(
    _ old: [PriceLevel], _ new: [PriceLevel], isBetter: (Int64, Int64) -> Bool
  ) -> [PriceLevel] {
    var list: [PriceLevel] = []
    var index = 0
    for level in new {
      while index < old.count, isBetter(old[index].price, level.price) {
        list.append(PriceLevel(price: old[index].price, size: 0))
        index += 1
      }
      if index < old.count, old[index].price == level.price {
        if old[index].size != level.size { list.append(level) }
        index += 1
      } else {
        list.append(level)
      }
    }
    for level in old[index...] { list.append(PriceLevel(price: level.price, size: 0)) }
    return list
  }
}
