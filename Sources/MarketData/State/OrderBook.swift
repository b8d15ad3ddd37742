/// The resting orders of one instrument, added up by price: bids strictly falling, asks strictly rising, no zero size.
///
/// Each side is contiguous with the best level **last**, because most updates are near the top: an insert or removal there
/// moves few levels.
package struct OrderBook: Sendable {
  /// Levels by rising price: the best bid is last.
  package private(set) var bids: [PriceLevel] = []
  /// Levels by falling price: the best ask is last.
  package private(set) var asks: [PriceLevel] = []
  /// Levels kept per side; the worst beyond it are dropped. Nil: no bound of its own.
  package let depthLimit: Int?

  package init(depthLimit: Int? = nil) { self.depthLimit = depthLimit }

  package var bestBid: PriceLevel? { bids.last }
  package var bestAsk: PriceLevel? { asks.last }
  /// Whether best bid ≥ best ask, which no working market shows.
  package var isCrossed: Bool { fatalError("being written") }

  /// Replaces everything. Levels may come in any order; of a price that comes twice the last counts; zero sizes are left out.
  /// O(n log n), O(n) if sorted.
  package mutating func replace(bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>) { fatalError("being written") }
  /// Sets, or with size 0 removes, each level in turn. Removing a level that is not there is normal.
  package mutating func update(bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>) { fatalError("being written") }
  package mutating func removeAll() { fatalError("being written") }
  /// Multiplies all prices and sizes by powers of ten after their scales were widened.
  package mutating func rescale(priceBy: Int64, sizeBy: Int64) { fatalError("being written") }
}
