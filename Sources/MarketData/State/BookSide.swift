/// The order of the prices in a side of a book.
protocol SideOrder {
  /// Whether `a` is a worse price than `b`, and so comes before it.
  static func isWorse(_ a: Int64, _ b: Int64) -> Bool
}

enum Bids: SideOrder {
  @inline(always) static func isWorse(_ a: Int64, _ b: Int64) -> Bool { a < b }
}

enum Asks: SideOrder {
  @inline(always) static func isWorse(_ a: Int64, _ b: Int64) -> Bool { a > b }
}

/// One side of an `OrderBook`: levels from worst to best, changed in place.
enum BookSide<Order: SideOrder> {
  /// The levels that are checked one by one. Most updates are near the top or near the one before, and sequential loads
  /// are faster than a binary search with unpredictable branches.
  @inline(always) static var linearReach: Int { 32 }

  /// Sets or removes each level in turn; returns how many removals found nothing. Venues print changes in the order of
  /// their prices: each is looked for from where the one before it was. Precondition: there is a change.
  static func update(_ levels: inout [PriceLevel], by changes: UnsafeBufferPointer<PriceLevel>) -> Int {
    var unknown = 0
    var count = levels.count
    // Room for the worst case once a message, in memory of its own, so that the levels are shifted in place.
    let needed = count &+ changes.count
    levels.reserveCapacity(needed > levels.capacity ? max(needed, levels.capacity &* 2) : needed)
    levels.withUnsafeMutableBufferPointer { buffer in
      let base = buffer.baseAddress.unsafelyUnwrapped
      var index = count
      for change in changes {
        index = search(base, count, from: index, change.price)
        let found = index < count && base[index].price == change.price
        if change.size > 0 {
          if !found {
            // Behind the last level there is room for it.
            (base + index + 1).update(from: base + index, count: count &- index)
            count &+= 1
          }
          base[index] = change
        } else if found {
          count &-= 1
          (base + index).update(from: base + index + 1, count: count &- index)
        } else {
          unknown &+= 1
        }
        assert(isOrdered(UnsafeBufferPointer(start: base, count: count), around: index))
      }
    }
    while levels.count > count { levels.removeLast() }
    while levels.count < count {
      // It stands there already.
      let next = levels.withUnsafeBufferPointer { $0.baseAddress.unsafelyUnwrapped[$0.count] }
      levels.append(next)
    }
    return unknown
  }

  static func replace(_ levels: inout [PriceLevel], by new: ArraySlice<PriceLevel>) {
    levels.removeAll(keepingCapacity: true)
    var rising = true
    var falling = true
    var previous: Int64?
    for level in new {
      if let previous {
        if !Order.isWorse(previous, level.price) { rising = false }
        if !Order.isWorse(level.price, previous) { falling = false }
      }
      previous = level.price
    }
    if rising {
      for level in new where level.size > 0 { levels.append(level) }
    } else if falling {
      for level in new.reversed() where level.size > 0 { levels.append(level) }
    } else {
      // The sort must keep equal prices in the order of arrival, because the last one counts. A key of (price, index)
      // needs no stable sort.
      let order = new.indices.sorted { a, b in
        new[a].price == new[b].price ? a < b : Order.isWorse(new[a].price, new[b].price)
      }
      for (position, index) in order.enumerated() {
        let isLast = position + 1 == order.count || new[order[position + 1]].price != new[index].price
        if isLast, new[index].size > 0 { levels.append(new[index]) }
      }
    }
  }

  /// The index of `price`, or the index for its insertion, near `start` at first.
  @inline(always)
  private static func search(
    _ base: UnsafeMutablePointer<PriceLevel>, _ count: Int, from start: Int, _ price: Int64
  ) -> Int {
    var high = start
    if start < count, Order.isWorse(base[start].price, price) {
      let linearEnd = min(count, start &+ linearReach)
      while high < linearEnd {
        if !Order.isWorse(base[high].price, price) { return high }
        high &+= 1
      }
      // Much better: from the top.
      high = count
    }
    let linearEnd = max(0, high &- linearReach)
    while high > linearEnd {
      if Order.isWorse(base[high &- 1].price, price) { return high }
      high &-= 1
    }
    var low = 0
    while low < high {
      let middle = (low &+ high) &>> 1
      if Order.isWorse(base[middle].price, price) { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// Whether the levels next to `index` are in order.
  private static func isOrdered(_ levels: UnsafeBufferPointer<PriceLevel>, around index: Int) -> Bool {
    let near = max(0, index - 1)..<min(levels.count, index + 2)
    return zip(near.dropLast(), near.dropFirst()).allSatisfy { Order.isWorse(levels[$0].price, levels[$1].price) }
      && near.allSatisfy { levels[$0].size > 0 }
  }
}
