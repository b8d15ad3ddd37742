extension OrderBook {
  /// Appends what makes this book into `other`: levels with the size that they have there, and 0 for those that it does not have.
  /// O(levels of both).
  package borrowing func difference(
    to other: borrowing OrderBook, bids: inout [PriceLevel], asks: inout [PriceLevel]
  ) {
    Self.difference(from: self.bids, to: other.bids, into: &bids) { $0 < $1 }
    Self.difference(from: self.asks, to: other.asks, into: &asks) { $0 > $1 }
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
