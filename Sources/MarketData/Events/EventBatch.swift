/// The events of one venue message, in order, with the memory they stand in. Made once per feed and reused.
package struct EventBatch: ~Copyable {
  package var events: [MarketEvent] = []
  /// Levels of the book events, best or not, in the order the venue sent them.
  package var bids: [PriceLevel] = []
  package var asks: [PriceLevel] = []
  /// Instruments of `.instrument` events; also their present form after `.instrument` of a widened scale.
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
