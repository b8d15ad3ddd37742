import MarketData

/// Which side of a book.
package enum SimulatedSide: Sendable { case bid, ask }

/// The true book of a simulated instrument, all levels. Each side stands worst first, best last.
package struct SimulatedBook: Sendable, Equatable {
  /// Ascending prices: the best bid is last.
  package private(set) var bids: [PriceLevel] = []
  /// Descending prices: the best ask is last.
  package private(set) var asks: [PriceLevel] = []

  package init() {}

  package var bestBid: PriceLevel? { bids.last }
  package var bestAsk: PriceLevel? { asks.last }

  package func count(_ side: SimulatedSide) -> Int { side == .bid ? bids.count : asks.count }

  /// The level at `rank`, 0 being the best. Precondition: `rank` < count.
  package func level(_ side: SimulatedSide, _ rank: Int) -> PriceLevel {
    side == .bid ? bids[bids.count - 1 - rank] : asks[asks.count - 1 - rank]
  }

  /// The best `depth` levels, best first. O(depth).
  package func top(_ side: SimulatedSide, _ depth: Int) -> [PriceLevel] {
    Array((side == .bid ? bids : asks).suffix(depth).reversed())
  }

  /// The size at `price`, 0 if there is no such level. O(log n).
  package func size(_ side: SimulatedSide, at price: Int64) -> Int64 {
    let levels = side == .bid ? bids : asks
    let index = Self.position(levels, price, ascending: side == .bid)
    return index < levels.count && levels[index].price == price ? levels[index].size : 0
  }

  /// Puts `size` at `price`; 0 removes the level. O(log n) and a move of the levels that are better.
  mutating func set(_ side: SimulatedSide, _ price: Int64, _ size: Int64) {
    if side == .bid {
      Self.set(&bids, price, size, ascending: true)
    } else {
      Self.set(&asks, price, size, ascending: false)
    }
  }

  private static func set(_ levels: inout [PriceLevel], _ price: Int64, _ size: Int64, ascending: Bool) {
    let index = position(levels, price, ascending: ascending)
    let exists = index < levels.count && levels[index].price == price
    switch (exists, size > 0) {
    case (true, true): levels[index].size = size
    case (true, false): levels.remove(at: index)
    case (false, true): levels.insert(PriceLevel(price: price, size: size), at: index)
    case (false, false): break
    }
  }

  /// The first index whose price is not before `price` in the side's order.
  private static func position(_ levels: [PriceLevel], _ price: Int64, ascending: Bool) -> Int {
    var low = 0
    var high = levels.count
    while low < high {
      let middle = (low + high) >> 1
      let isBefore = ascending ? levels[middle].price < price : levels[middle].price > price
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
