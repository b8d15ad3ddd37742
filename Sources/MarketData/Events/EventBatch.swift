/// The events of one venue message, in order, with their memory. Made once for each feed and reused.
package struct EventBatch: ~Copyable {
  package var events: [MarketEvent] = []
  /// The levels of the book events, in the order in which the venue sent them.
  package var bids: [PriceLevel] = []
  package var asks: [PriceLevel] = []
  /// The instruments of `.instrument` events, also with a widened scale.
  package var instruments: [Instrument] = []
  /// Those of `.derivative` events. They are large, and few messages have one.
  package var derivatives: [DerivativeReport] = []

  package init() {}

  /// Empties the batch and keeps its memory. O(1) for plain events.
  package mutating func removeAll() {
    events.empty()
    bids.empty()
    asks.empty()
    instruments.empty()
    derivatives.empty()
  }

  package mutating func append(instrument: Instrument) {
    instruments.append(instrument)
    events.append(.instrument(index: instruments.count - 1))
  }

  package mutating func append(derivative report: DerivativeReport) {
    derivatives.append(report)
    events.append(.derivative(index: derivatives.count - 1))
  }
}

extension Array {
  /// Empties it and keeps its memory. Most messages have one element of each kind, or none, and `removeAll` costs the
  /// same for these as for many.
  @inline(always)
  mutating func empty() {
    if count == 1 {
      removeLast()
    } else if !isEmpty {
      removeAll(keepingCapacity: true)
    }
  }
}
