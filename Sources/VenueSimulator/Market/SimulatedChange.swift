import MarketData

/// An execution on a simulated venue.
package struct SimulatedTrade: Sendable, Equatable {
  /// Dense per instrument: each trade's id is its predecessor's plus one.
  package var id: Int64
  package var price: Int64
  package var size: Int64
  package var side: TakerSide
  package var time: Timestamp
}

/// Everything that one moment did to one instrument: the levels that now differ, each price once, and the trades.
package struct SimulatedChange: Sendable, Equatable {
  /// The index in `SimulatedMarket.instruments`.
  package var instrument = 0
  package var time = Timestamp(rawValue: 0)
  /// Bid levels with their new sizes, 0 for removed, in no particular order.
  package var bids: [PriceLevel] = []
  /// Ask levels likewise.
  package var asks: [PriceLevel] = []
  /// Trades in the order of execution.
  package var trades: [SimulatedTrade] = []
  /// The update ids of the first and the last level change: `lastUpdateID` - `firstUpdateID` + 1 levels changed.
  package var firstUpdateID: Int64 = 0
  package var lastUpdateID: Int64 = 0
  /// Whether the price or size of the best bid or ask differs.
  package var isTopChanged = false

  package init() {}

  package var isEmpty: Bool { bids.isEmpty && asks.isEmpty && trades.isEmpty }

  mutating func removeAll() {
    bids.removeAll(keepingCapacity: true)
    asks.removeAll(keepingCapacity: true)
    trades.removeAll(keepingCapacity: true)
    isTopChanged = false
  }
}
