/// The events of one venue message, in order, with their memory. Made once for each feed and reused.
package struct EventBatch: ~Copyable {
  package var events: [MarketEvent] = []
  /// The levels of the book events, in the order in which the venue sent them.
  package var bids: [PriceLevel] = []
  package var asks: [PriceLevel] = []
  /// The instruments of `.instrument` events, also with a widened scale.
  package var instruments: [Instrument] = []

  package init() {}

  /// Empties the batch and keeps its memory. O(1) for plain events.
  package mutating func removeAll() {
    // Skips empty arrays, because emptying an empty array costs the same.
    if !events.isEmpty { events.removeAll(keepingCapacity: true) }
    if !bids.isEmpty { bids.removeAll(keepingCapacity: true) }
    if !asks.isEmpty { asks.removeAll(keepingCapacity: true) }
    if !instruments.isEmpty { instruments.removeAll(keepingCapacity: true) }
  }

  package mutating func append(instrument: Instrument) {
    instruments.append(instrument)
    events.append(.instrument(index: instruments.count - 1))
  }
}
