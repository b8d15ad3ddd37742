/// The resting orders of one instrument, summed by price: bids strictly falling, asks strictly rising, no size below 1.
///
/// Each side is contiguous with the best level **last**, because most updates are near the top: an insertion or removal
/// there moves few levels, and the search checks the last 32 levels one by one before a binary search of the rest.
///
/// Levels change in whole messages. After a message, the worst levels beyond `depthLimit` are dropped. That is the rule
/// of venues that send a book of fixed depth: they do not report a level that leaves it.
package struct OrderBook: Sendable {
  /// The reason why a book could not be kept.
  package enum Failure: Error, Sendable, Equatable {
    /// A price or size does not fit in an `Int64` at the wider scale.
    case overflow
  }

  /// Levels by rising price: the best bid is last.
  package private(set) var bids: [PriceLevel] = []
  /// Levels by falling price: the best ask is last.
  package private(set) var asks: [PriceLevel] = []
  /// The most levels a side, 1 or more; the worst ones beyond it are dropped after each message. Nil: no limit.
  package internal(set) var depthLimit: Int?
  /// The number of removals of missing levels since the book was made. A few are normal: venues send them for levels
  /// below the snapshot's depth.
  package private(set) var unknownDeletes = 0

  /// An empty book.
  /// - Parameter depthLimit: the most levels a side, 1 or more; nil: no limit.
  package init(depthLimit: Int? = nil) {
    precondition(depthLimit.map { $0 > 0 } ?? true, "a book keeps at least one level a side")
    self.depthLimit = depthLimit
  }

  /// O(1).
  package var bestBid: PriceLevel? { bids.last }
  /// O(1).
  package var bestAsk: PriceLevel? { asks.last }
  package var isEmpty: Bool { bids.isEmpty && asks.isEmpty }

  /// The bid at a rank: 0 is the best. O(1).
  package func bid(at rank: Int) -> PriceLevel { bids[bids.count - 1 - rank] }
  /// The ask at a rank: 0 is the best. O(1).
  package func ask(at rank: Int) -> PriceLevel { asks[asks.count - 1 - rank] }

  /// Whether best bid ≥ best ask, which no working market shows. False while a side is empty. O(1).
  package var isCrossed: Bool {
    guard let bid = bids.last, let ask = asks.last else { return false }
    return bid.price >= ask.price
  }

  /// Replaces everything. Levels may be in any order. If a price occurs twice, the last one counts. Sizes below 1 are
  /// left out. O(n log n), or O(n) if each side is sorted in either direction.
  package mutating func replace(bids newBids: ArraySlice<PriceLevel>, asks newAsks: ArraySlice<PriceLevel>) {
    BookSide<Bids>.replace(&bids, by: newBids)
    BookSide<Asks>.replace(&asks, by: newAsks)
    truncate { _, _ in }
    checkInvariants()
  }

  /// Sets, or with a size below 1 removes, each level in turn, then drops levels beyond `depthLimit`. Removing a
  /// missing level is normal and counted in `unknownDeletes`.
  ///
  /// O(1) for each level within 32 of the top, O(log n) to find one further down, and O(n) to move the levels above it.
  package mutating func update(bids newBids: ArraySlice<PriceLevel>, asks newAsks: ArraySlice<PriceLevel>) {
    apply(newBids, newAsks)
    truncate { _, _ in }
  }

  /// Does the same as `update`, and appends the levels that `depthLimit` dropped to `droppedBids` and `droppedAsks`,
  /// with size 0. So a client that mirrors the book without its limit can drop them, too.
  package mutating func update(
    bids newBids: ArraySlice<PriceLevel>, asks newAsks: ArraySlice<PriceLevel>,
    droppedBids: inout [PriceLevel], droppedAsks: inout [PriceLevel]
  ) {
    apply(newBids, newAsks)
    truncate { isBid, level in
      let removal = PriceLevel(price: level.price, size: 0)
      if isBid { droppedBids.append(removal) } else { droppedAsks.append(removal) }
    }
  }

  /// Removes all levels and keeps the memory. O(1).
  package mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
  }

  /// Multiplies all prices and sizes by powers of ten after their scales were widened. O(n).
  /// - Throws: `.overflow`, and leaves the book as it was.
  package mutating func rescale(priceBy: Int64, sizeBy: Int64) throws(Failure) {
    let newBids = try Self.rescaled(bids, priceBy: priceBy, sizeBy: sizeBy)
    asks = try Self.rescaled(asks, priceBy: priceBy, sizeBy: sizeBy)
    bids = newBids
  }

  private static func rescaled(
    _ levels: [PriceLevel], priceBy: Int64, sizeBy: Int64
  ) throws(Failure) -> [PriceLevel] {
    var levels = levels
    for index in levels.indices {
      let (price, o1) = levels[index].price.multipliedReportingOverflow(by: priceBy)
      let (size, o2) = levels[index].size.multipliedReportingOverflow(by: sizeBy)
      guard !o1, !o2 else { throw .overflow }
      levels[index] = PriceLevel(price: price, size: size)
    }
    return levels
  }

  private mutating func apply(_ newBids: ArraySlice<PriceLevel>, _ newAsks: ArraySlice<PriceLevel>) {
    unknownDeletes &+= newBids.withUnsafeBufferPointer { BookSide<Bids>.update(&bids, by: $0) }
    unknownDeletes &+= newAsks.withUnsafeBufferPointer { BookSide<Asks>.update(&asks, by: $0) }
  }

  private mutating func truncate(_ dropped: (_ isBid: Bool, PriceLevel) -> Void) {
    guard let depthLimit else { return }
    if bids.count > depthLimit {
      let excess = bids.count - depthLimit
      for index in (0..<excess).reversed() { dropped(true, bids[index]) }
      bids.removeFirst(excess)
    }
    if asks.count > depthLimit {
      let excess = asks.count - depthLimit
      for index in (0..<excess).reversed() { dropped(false, asks[index]) }
      asks.removeFirst(excess)
    }
  }

  /// Checks the whole book and traps if a side is out of order, has a price twice or a size below 1. Only in debug
  /// builds. There, `replace` checks the book every time, and `update` checks the neighbours of each changed level,
  /// which is enough, because the other levels were in order. O(n).
  package func checkInvariants() {
    assert(invariantsHold, "an order book is out of order")
  }

  /// Whether the conditions of `checkInvariants` hold. O(n).
  package var invariantsHold: Bool {
    for index in bids.indices.dropFirst() where bids[index - 1].price >= bids[index].price { return false }
    for index in asks.indices.dropFirst() where asks[index - 1].price <= asks[index].price { return false }
    return bids.allSatisfy { $0.size > 0 } && asks.allSatisfy { $0.size > 0 }
      && bids.count <= depthLimit ?? .max && asks.count <= depthLimit ?? .max
  }
}
