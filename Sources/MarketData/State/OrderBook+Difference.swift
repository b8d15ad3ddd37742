extension OrderBook {
  /// Appends to the levels of `batch` the changes from this book to `other`: levels with their size there, and size 0
  /// for missing ones. O(levels of both).
  package func difference(to other: OrderBook, into batch: inout EventBatch) {
    difference(to: other, bids: &batch.bids, asks: &batch.asks)
  }

  /// The same, appended to two lists.
  func difference(to other: OrderBook, bids changedBids: inout [PriceLevel], asks changedAsks: inout [PriceLevel]) {
    Self.difference(from: bids, to: other.bids, into: &changedBids) { $0 < $1 }
    Self.difference(from: asks, to: other.asks, into: &changedAsks) { $0 > $1 }
  }

  private static func difference(
    from old: [PriceLevel], to new: [PriceLevel], into changed: inout [PriceLevel], isWorse: (Int64, Int64) -> Bool
  ) {
    var i = 0
    var j = 0
    while i < old.count || j < new.count {
      if j == new.count || (i < old.count && isWorse(old[i].price, new[j].price)) {
        changed.append(PriceLevel(price: old[i].price, size: 0))
        i += 1
      } else if i == old.count || isWorse(new[j].price, old[i].price) {
        changed.append(new[j])
        j += 1
      } else {
        if old[i].size != new[j].size { changed.append(new[j]) }
        i += 1
        j += 1
      }
    }
  }
}
