import MarketData

/// The on-demand data that a loop's subscribers want, by instrument.
package struct MarketDemand: Sendable, Equatable {
  package var route: MarketRoute
  /// All that is wanted of it; empty: nothing any more.
  package var wishes: MarketWishes
}

/// The streams that want something on demand, and the demands that the feeds have not got yet. Bounded by the running
/// streams.
struct MarketWishTable {
  private var streams: [MarketRoute: [StreamID: MarketWishes]] = [:]
  private var changed: Set<MarketRoute> = []

  mutating func add(_ id: StreamID, at route: MarketRoute, _ wish: MarketWishes) {
    streams[route, default: [:]][id] = wish
    changed.insert(route)
  }

  mutating func remove(_ id: StreamID, at route: MarketRoute) {
    guard streams[route]?.removeValue(forKey: id) != nil else { return }
    if streams[route]?.isEmpty == true { streams[route] = nil }
    changed.insert(route)
  }

  /// What streams want of an instrument.
  func wishes(at route: MarketRoute) -> MarketWishes {
    streams[route]?.values.reduce(into: []) { $0.formUnion($1) } ?? []
  }

  /// The demands that may have changed since the last call, in the order of their places. No allocation if none did.
  mutating func take() -> [MarketDemand] {
    guard !changed.isEmpty else { return [] }
    defer { changed.removeAll(keepingCapacity: true) }
    return changed.sorted { ($0.market, $0.instrument.index) < ($1.market, $1.instrument.index) }
      .map { MarketDemand(route: $0, wishes: wishes(at: $0)) }
  }
}
