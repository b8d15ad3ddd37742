import MarketData

/// What the streams of a composite market need of its members.
package struct CompositeWants: Sendable, Equatable {
  /// Whether a stream shows the merged book.
  package var hasBook = false
  /// Whether a stream shows what venues say of perpetuals, some of them only on demand.
  package var hasDerivative = false
  /// How many candles of each interval, by the interval's raw value; 0: none.
  package var candles = [Int](repeating: 0, count: CandleInterval.allCases.count)

  package init() {}

  package var isEmpty: Bool { !hasBook && candles.allSatisfy { $0 == 0 } }

  /// Adds candles of an interval.
  mutating func add(_ interval: CandleInterval, _ count: Int) {
    let index = Int(interval.rawValue)
    candles[index] = max(candles[index], count)
  }
}

/// A composite market whose streams need something else than before.
package struct CompositeDemand {
  package var symbol: String
  /// Its state, which the owner keeps up to date; nil if no stream shows it any more.
  package var market: CompositeMarket?
  package var wants: CompositeWants
}

/// The composite markets with subscribed streams of book, line or candles. Loop 0 publishes them.
struct PublishedComposites {
  /// How long a composite without streams is kept, µs: clients that change their rate leave and join again.
  static let linger = 2 * Microseconds.second

  private struct Entry {
    let market: CompositeMarket
    let published: PublishedMarket
    var streams: [MarketStream] = []
    /// What its owner knows that it needs.
    var told: CompositeWants?
    /// Whether it is in `changed`.
    var isNoted = false
    /// Since when it has had no streams, by a clock that is not set.
    var idleSince: Timestamp?
  }

  private var entries: [String: Entry] = [:]
  /// Symbols whose streams came or went since the last demands, and those without streams, in order.
  private var changed: [String] = []

  func market(_ symbol: String) -> PublishedMarket? { entries[symbol]?.published }

  func instrument(of symbol: String) -> PublishedInstrument? {
    entries[symbol]?.published.instrument(InstrumentID(0))
  }

  /// Adds a stream that has its first subscriber.
  mutating func add(_ stream: MarketStream) {
    let symbol = stream.key.symbol
    if entries[symbol] == nil {
      let market = CompositeMarket(symbol)
      entries[symbol] = Entry(market: market, published: PublishedMarket(composite: market))
    }
    entries[symbol]?.streams.append(stream)
    entries[symbol]?.idleSince = nil
    note(symbol)
  }

  /// Removes a stream that has lost its last subscriber.
  mutating func remove(_ stream: MarketStream) {
    let symbol = stream.key.symbol
    instrument(of: symbol)?.remove(stream)
    entries[symbol]?.streams.removeAll { $0 === stream }
    note(symbol)
  }

  private mutating func note(_ symbol: String) {
    guard entries[symbol]?.isNoted == false else { return }
    entries[symbol]?.isNoted = true
    changed.append(symbol)
  }

  /// What differs since the last call, in the order of the changes. O(changed composites and those without streams).
  mutating func takeDemands(now: Timestamp) -> [CompositeDemand] {
    guard !changed.isEmpty else { return [] }
    var demands: [CompositeDemand] = []
    let symbols = changed
    changed = []
    for symbol in symbols {
      guard let entry = entries[symbol] else { continue }
      if entry.streams.isEmpty {
        let since = entry.idleSince ?? now
        entries[symbol]?.idleSince = since
        if now - since < Self.linger {
          changed.append(symbol)
        } else {
          entries[symbol] = nil
          demands.append(CompositeDemand(symbol: symbol, market: nil, wants: CompositeWants()))
        }
        continue
      }
      entries[symbol]?.isNoted = false
      var wants = CompositeWants()
      for stream in entry.streams { stream.key.channel.type.addNeeds(of: stream.key, to: &wants) }
      guard wants != entry.told else { continue }
      entries[symbol]?.told = wants
      demands.append(CompositeDemand(symbol: symbol, market: entry.market, wants: wants))
    }
    return demands
  }
}
