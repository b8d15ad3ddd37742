import MarketData

/// A feed that is too large for one connection.
extension Venue {
  /// Connections that the symbols of one kind of market may be spread over. What is beyond them is refused with the
  /// configuration: a venue bans addresses with too many, and another gateway carries the rest as well.
  package static let connectionLimit = 20

  /// Symbols that one feed may have: as many as all its connections carry, of all kinds of market.
  package var feedSymbolLimit: Int {
    guard parts.isEmpty else { return parts.reduce(0) { $0 + $1.feedSymbolLimit } }
    return min(symbolLimit * Self.connectionLimit, addressLimit ?? .max)
  }

  /// Why so many symbols cannot be followed; nil if they can.
  package func objection(to symbols: [String]) -> String? {
    for part in parts.isEmpty ? [self] : parts {
      let kinds = parts.isEmpty ? nil : part.kinds
      let count = symbols.count { symbol in kinds.map { $0.contains(FeedSymbol(symbol)?.kind.family ?? .spot) } ?? true
      }
      guard count > part.feedSymbolLimit else { continue }
      if let limit = part.addressLimit {
        return "\(part.title) lets an address have \(limit) symbols, over all of its connections, not \(count)"
      }
      let needed = (count + part.symbolLimit - 1) / part.symbolLimit
      return "\(count) symbols need \(needed) connections of \(part.symbolLimit) to \(part.title)"
    }
    return nil
  }

  /// Spreads a feed evenly over as few connections as carry it: their numbers of symbols differ by one at the most,
  /// and neighbours stay together. Selections (`*-USD`), whose number is not known, stay on the first.
  func split(_ configuration: FeedConfiguration) -> [(venue: Venue, configuration: FeedConfiguration)] {
    let names = configuration.symbols.filter { !MarketSelection.isMeant(by: $0) }
    let count = (names.count + symbolLimit - 1) / symbolLimit
    guard count > 1 else { return [(self, configuration)] }
    return (0..<count).map { index in
      var part = configuration
      part.symbols = Array(names[(names.count * index / count)..<(names.count * (index + 1) / count)])
      if index == 0 {
        part.symbols += configuration.symbols.filter(MarketSelection.isMeant)
        part.elsewhere = Array(names[(names.count / count)...])
      }
      part.connections = count
      var venue = self
      venue.number = index + 1
      return (venue, part)
    }
  }
}
