import MarketData

/// Kinds of changes of a market, as a set.
package struct MarketChangeKinds: OptionSet, Sendable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let trades = Self(rawValue: 1 << 0)
  package static let tradeGap = Self(rawValue: 1 << 1)
  /// Trades are missing, or the search for them has ended.
  package static let tradeHole = Self(rawValue: 1 << 2)
  package static let quote = Self(rawValue: 1 << 3)
  package static let ticker = Self(rawValue: 1 << 4)
  package static let pulse = Self(rawValue: 1 << 5)
  /// Levels changed, or all of them.
  package static let book = Self(rawValue: 1 << 6)
  package static let bookState = Self(rawValue: 1 << 7)
  package static let channel = Self(rawValue: 1 << 8)
  package static let sparkline = Self(rawValue: 1 << 9)
  package static let candles = Self(rawValue: 1 << 10)
  package static let past = Self(rawValue: 1 << 11)
  package static let instrument = Self(rawValue: 1 << 12)
  package static let derivative = Self(rawValue: 1 << 13)
  package static let liquidations = Self(rawValue: 1 << 14)
}

extension MarketChange {
  /// The instrument that changed, and the kind of the change.
  var target: (instrument: InstrumentID, kind: MarketChangeKinds) {
    switch self {
    case .trades(let id, _): (id, .trades)
    case .tradeGap(let id, _): (id, .tradeGap)
    case .tradesMissing(let id, _), .tradesSearched(let id, _): (id, .tradeHole)
    case .quote(let quote): (quote.instrument, .quote)
    case .ticker(let id): (id, .ticker)
    case .pulse(let pulse): (pulse.instrument, .pulse)
    case .derivative(let id): (id, .derivative)
    case .liquidations(let id, _): (id, .liquidations)
    case .bookSnapshot(let id), .bookDelta(let id, _, _, _): (id, .book)
    case .bookState(let id, _): (id, .bookState)
    case .channel(let id, _, _): (id, .channel)
    case .sparkline(let id): (id, .sparkline)
    case .candles(let id, _): (id, .candles)
    case .past(let id): (id, .past)
    case .instrument(let id): (id, .instrument)
    }
  }
}
