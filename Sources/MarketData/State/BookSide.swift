/// The order of the prices in a side of a book.
protocol SideOrder {
  /// Whether `a` is a worse price than `b`, and so comes before it.
  static func isWorse(_ a: Int64, _ b: Int64) -> Bool
}

enum Bids: SideOrder {
  @inline(__always) static func isWorse(_ a: Int64, _ b: Int64) -> Bool { a < b }
}

enum Asks: SideOrder {
  @inline(__always) static func isWorse(_ a: Int64, _ b: Int64) -> Bool { a > b }
}

/// One side of an `OrderBook`: levels from worst to best, changed in place.
enum BookSide<Order: SideOrder> {
  /// The levels that are checked one by one from the top. Most updates are there, and sequential loads are faster than
  /// a binary search with unpredictable branches.
  @inline(__always) static var linearReach: Int { 32 }

  /// Sets or removes each level in turn; returns how many removals found nothing.
  static func update(_ levels: inout [PriceLevel], by changes: UnsafeBufferPointer<PriceLevel>) -> Int {
    guard !changes.isEmpty else { return 0 }
    // Reserves room for the worst case once for each message, so that the levels can be shifted in place.
    let needed = levels.count + changes.count
    if levels.capacity < needed { levels.reserveCapacity(max(needed, levels.capacity * 2)) }
    var unknown = 0
    for change in changes {
      let (index, found) = levels.withUnsafeBufferPointer { search($0, change.price) }
      if change.size > 0 {
        if found {
          levels.withUnsafeMutableBufferPointer { $0[index].size = change.size }
        } else {
          insert(change, at: index, of: &levels)
        }
      } else if found {
        remove(at: index, of: &levels)
      } else {
        unknown &+= 1
      }
      assert(isOrdered(levels, around: index))
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
      for (place, index) in order.enumerated() {
        let isLast = place + 1 == order.count || new[order[place + 1]].price != new[index].price
        if isLast, new[index].size > 0 { levels.append(new[index]) }
      }
    }
  }

  /// The index of `price`, or the index for its insertion.
  @inline(__always)
  private static func search(_ levels: UnsafeBufferPointer<PriceLevel>, _ price: Int64) -> (index: Int, found: Bool) {
    guard let base = levels.baseAddress else { return (0, false) }
    var high = levels.count
    let linearEnd = max(0, high &- linearReach)
    while high > linearEnd {
      let other = base[high &- 1].price
      if !Order.isWorse(price, other) { return other == price ? (high &- 1, true) : (high, false) }
      high &-= 1
    }
    var low = 0
    while low < high {
      let middle = (low &+ high) &>> 1
      if Order.isWorse(base[middle].price, price) { low = middle &+ 1 } else { high = middle }
    }
    return (low, low < linearEnd && base[low].price == price)
  }

  @inline(__always)
  private static func insert(_ level: PriceLevel, at index: Int, of levels: inout [PriceLevel]) {
    levels.append(level)
    let count = levels.count
    levels.withUnsafeMutableBufferPointer { buffer in
      let base = buffer.baseAddress.unsafelyUnwrapped
      var place = count &- 1
      while place > index {
        base[place] = base[place &- 1]
        place &-= 1
      }
      base[index] = level
    }
  }

  @inline(__always)
  private static func remove(at index: Int, of levels: inout [PriceLevel]) {
    let last = levels.count &- 1
    levels.withUnsafeMutableBufferPointer { buffer in
      let base = buffer.baseAddress.unsafelyUnwrapped
      var place = index
      while place < last {
        base[place] = base[place &+ 1]
        place &+= 1
      }
    }
    levels.removeLast()
  }

  /// Whether the levels next to `index` are in order.
  private static func isOrdered(_ levels: [PriceLevel], around index: Int) -> Bool {
    let near = max(0, index - 1)..<min(levels.count, index + 2)
    return zip(near.dropLast(), near.dropFirst()).allSatisfy { Order.isWorse(levels[$0].price, levels[$1].price) }
      && near.allSatisfy { levels[$0].size > 0 }
  }
}
