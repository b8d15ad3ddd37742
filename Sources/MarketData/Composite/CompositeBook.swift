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
    package init(venue: String, priceScale: UInt8, sizeScale: UInt8, bids: [PriceLevel], asks: [PriceLevel]) {
      self.venue = venue
      self.priceScale = priceScale
      self.sizeScale = sizeScale
      self.bids = bids
      self.asks = asks
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

  /// Merges `parts` to at most `depth` levels a side. Each part must have its best `depth` levels, or all. A level
  /// that does not fit at the common scales is left out, and a size saturates. O(levels × parts).
  package init(_ parts: [Part], depth: Int) {
    priceScale = parts.map(\.priceScale).max() ?? 0
    sizeScale = parts.map(\.sizeScale).max() ?? 0
    bids = Self.merge(parts, \.bids, priceScale, sizeScale, depth) { $0 > $1 }
    asks = Self.merge(parts, \.asks, priceScale, sizeScale, depth) { $0 < $1 }
  }

  private static func merge(
    _ parts: [Part], _ side: KeyPath<Part, [PriceLevel]>, _ priceScale: UInt8, _ sizeScale: UInt8, _ depth: Int,
    isBetter: (Int64, Int64) -> Bool
  ) -> [Level] {
    let sides = parts.map { part in
      let prices = Int64(DecimalText.power(priceScale - part.priceScale))
      let sizes = Int64(DecimalText.power(sizeScale - part.sizeScale))
      return part[keyPath: side].prefix(depth).compactMap { level -> PriceLevel? in
        let (price, o1) = level.price.multipliedReportingOverflow(by: prices)
        let (size, o2) = level.size.multipliedReportingOverflow(by: sizes)
        return o1 || o2 ? nil : PriceLevel(price: price, size: size)
      }
    }
    var next = [Int](repeating: 0, count: sides.count)
    var merged: [Level] = []
    while merged.count < depth {
      var best: Int64?
      for (index, levels) in sides.enumerated() where next[index] < levels.count {
        let price = levels[next[index]].price
        if best.map({ isBetter(price, $0) }) ?? true { best = price }
      }
      guard let best else { break }
      var level = Level(price: best, size: 0, venues: [])
      for (index, levels) in sides.enumerated() where next[index] < levels.count && levels[next[index]].price == best {
        let (sum, overflow) = level.size.addingReportingOverflow(levels[next[index]].size)
        level.size = overflow ? .max : sum
        level.venues.append(parts[index].venue)
        next[index] += 1
      }
      merged.append(level)
    }
    return merged
  }
}
