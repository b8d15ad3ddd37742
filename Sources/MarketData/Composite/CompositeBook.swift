import Bytes

/// Several venues' books as one: the sum of the sizes at each price, with the venues that have them.
package struct CompositeBook: Sendable, Equatable {
  /// One venue's levels, best first.
  package struct Part: Sendable {
    package var venue: String
    package var priceScale: UInt8
    package var sizeScale: UInt8
    package var bids: [PriceLevel]
    package var asks: [PriceLevel]
    /// The venue's time of the book.
    package var time: Timestamp
    package init(
      venue: String, priceScale: UInt8, sizeScale: UInt8, bids: [PriceLevel], asks: [PriceLevel],
      time: Timestamp = .distantPast
    ) {
      self.venue = venue
      self.priceScale = priceScale
      self.sizeScale = sizeScale
      self.bids = bids
      self.asks = asks
      self.time = time
    }
  }

  package struct Level: Sendable, Equatable {
    package var price: Int64
    /// The sum over its venues.
    package var size: Int64
    /// In the order of the parts.
    package var venues: [String]
    package init(price: Int64, size: Int64, venues: [String]) {
      self.price = price
      self.size = size
      self.venues = venues
    }
  }

  package var priceScale: UInt8
  package var sizeScale: UInt8
  /// Best first. The best bid may be at or above the best ask, because they may be of different venues.
  package var bids: [Level]
  package var asks: [Level]

  /// The newest time of the parts.
  package var time: Timestamp

  /// Merges `parts` to at most `depth` levels a side. Each part must have its best `depth` levels, or all. A level
  /// that does not fit at the common scales is left out, and a size saturates. O(levels × parts).
  /// - Parameters:
  ///   - scales: of prices and sizes, at least those of every part; nil: the widest of the parts.
  ///   - hasVenues: whether levels have their venues.
  package init(
    _ parts: [Part], depth: Int, scales: (price: UInt8, size: UInt8)? = nil, hasVenues: Bool = true
  ) {
    priceScale = scales?.price ?? parts.map(\.priceScale).max() ?? 0
    sizeScale = scales?.size ?? parts.map(\.sizeScale).max() ?? 0
    time = parts.map(\.time).max() ?? .distantPast
    let venues = hasVenues ? parts.map(\.venue) : []
    var (bids, asks): ([[PriceLevel]], [[PriceLevel]]) = ([], [])
    for part in parts {
      let prices = Int64(clamping: DecimalText.power(priceScale - part.priceScale))
      let sizes = Int64(clamping: DecimalText.power(sizeScale - part.sizeScale))
      bids.append(Self.wider(part.bids, depth, prices, sizes))
      asks.append(Self.wider(part.asks, depth, prices, sizes))
    }
    self.bids = Self.merge(bids, venues, depth) { $0 > $1 }
    self.asks = Self.merge(asks, venues, depth) { $0 < $1 }
  }

  /// The best levels at the common scales, without those that do not fit.
  private static func wider(_ levels: [PriceLevel], _ depth: Int, _ prices: Int64, _ sizes: Int64) -> [PriceLevel] {
    if prices == 1, sizes == 1, levels.count <= depth { return levels }
    return levels.prefix(depth).compactMap { level in
      let (price, o1) = level.price.multipliedReportingOverflow(by: prices)
      let (size, o2) = level.size.multipliedReportingOverflow(by: sizes)
      return o1 || o2 ? nil : PriceLevel(price: price, size: size)
    }
  }

  private static func merge(
    _ sides: [[PriceLevel]], _ venues: [String], _ depth: Int, isBetter: (Int64, Int64) -> Bool
  ) -> [Level] {
    var next = [Int](repeating: 0, count: sides.count)
    var merged: [Level] = []
    merged.reserveCapacity(min(depth, sides.reduce(0) { $0 + $1.count }))
    while merged.count < depth {
      var best: Int64?
      for index in sides.indices where next[index] < sides[index].count {
        let price = sides[index][next[index]].price
        if best.map({ isBetter(price, $0) }) ?? true { best = price }
      }
      guard let best else { break }
      var level = Level(price: best, size: 0, venues: [])
      for index in sides.indices where next[index] < sides[index].count && sides[index][next[index]].price == best {
        let (sum, overflow) = level.size.addingReportingOverflow(sides[index][next[index]].size)
        level.size = overflow ? .max : sum
        if !venues.isEmpty { level.venues.append(venues[index]) }
        next[index] += 1
      }
      merged.append(level)
    }
    return merged
  }
}
