import MarketData

/// Books of an earlier moment, each of which is the next snapshot of its instrument by REST.
struct KeptSnapshots {
  private var books: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]

  /// Keeps the books as they now stand: of one instrument, or of all.
  mutating func keep(_ instrument: Int?, of market: SimulatedMarket, at now: Timestamp) {
    for index in market.instruments.indices where instrument ?? index == index {
      books[index] = (market.truth(index, isSnapshot: true), now)
    }
  }

  /// The one that was kept, once.
  mutating func take(_ index: Int) -> (truth: SimulatedTruth, time: Timestamp)? { books.removeValue(forKey: index) }
}
