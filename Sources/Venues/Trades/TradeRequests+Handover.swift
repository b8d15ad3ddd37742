import MarketData

/// The change of one connection for another.
extension TradeRequests {
  /// A trade has come another way. Returns whether it was missing.
  mutating func found(_ trade: Trade, at symbolIndex: Int) -> Bool {
    guard let id = trade.id.number.flatMap({ Int64(exactly: $0) }) else { return false }
    for index in searches.indices where searches[index].index == symbolIndex && searches[index].remove(id...id) > 0 {
      if searches[index].missing.isEmpty { end(index) }
      return true
    }
    return false
  }

  /// Goes on with what `old` knew: its searches, and trades that it has seen. Returns the holes of this desk that `old`
  /// did not have: no client knows of them.
  /// - Parameter indices: the indices of each instrument that both have.
  mutating func takeOver(_ old: TradeRequests, _ indices: [(old: Int, new: Int)]) -> [(index: Int, hole: TradeHole)] {
    var untold: [(index: Int, hole: TradeHole)] = []
    var news: [TradeSearch] = []
    let indices = Dictionary(indices.map { ($0.old, $0.new) }, uniquingKeysWith: { first, _ in first })
    for search in searches {
      let known = indices.first { $0.value == search.index }.map { old.newest($0.key) } ?? 0
      guard let search = search.beyond(known) else { continue }
      untold.append((search.index, search.hole))
      news.append(search)
    }
    for search in old.searches {
      guard let index = indices[search.index], news.count < Self.searchLimit else { continue }
      news.append(search.moved(to: index))
    }
    for (index, target) in indices { follow(old, index, target) }
    searches = news
    publish(old, indices)
    return untold
  }
}

extension TradeSearch {
  /// The part of it behind a number; nil if there is none that is missing.
  fileprivate func beyond(_ number: Int64) -> TradeSearch? {
    guard number >= hole.first else { return self }
    guard number < hole.last else { return nil }
    var search = self
    _ = search.remove(hole.first...number)
    search.found.removeAll { $0.id.number.map { $0 <= UInt64(number) } ?? true }
    search.hole.first = number + 1
    search.hole.count = hole.last - number
    search.hole.found = Int64(search.found.count)
    return search.missing.isEmpty ? nil : search
  }

  /// The same at another index, with nothing under way.
  fileprivate func moved(to symbolIndex: Int) -> TradeSearch {
    var search = self
    search.index = symbolIndex
    search.request = nil
    for index in search.found.indices { search.found[index].instrument = InstrumentID(symbolIndex) }
    return search
  }
}
