import MarketData

/// The number of a stream; the same for every client of this run. `number % loops` is the loop that publishes it.
/// Numbers start at `loops`, so 0 is no stream.
@frozen
package struct StreamID: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The properties of a stream: subscriptions with equal keys share it.
package struct StreamKey: Sendable, Hashable {
  package var channel: ChannelName
  /// `kraken:BTC-USD`, the name of a topic or a deck, or for a rate `ZEC-USD`; empty for `status` and `alerts`.
  package private(set) var symbol: String
  /// Whether the symbol is a composite's, which no single market publishes.
  package private(set) var isComposite: Bool
  /// Levels a side of a `book`: 10, 25, 100, or 0 for all.
  package var depth: UInt16
  /// Points of a `sparkline`; the number of last documents of a `topic`.
  package var points: UInt16
  /// Of a `sparkline`.
  package var range: ChartRange
  /// Of `candles`.
  package var candle: CandleInterval
  /// 0 (every update), 100, 250, 1000 or 5000 ms.
  package var intervalMilliseconds: UInt16
  /// For `status`: the rules of clients that may see only a part; empty: everything.
  package var scope: [SymbolRules] = []
  /// For `alerts`: the owner of the rules.
  package var owner: String?
  /// For `portfolio`: what is valued.
  package var portfolio: PortfolioSubject?
  /// For `deck`: the time zone of the days, `Europe/Berlin`.
  package var zone: String?
  /// For a stream in another protocol: its channel there. `channel` is the one of ours with the same data, which
  /// grants name. Nil: our own protocol.
  package var dialect: DialectChannel?
  /// The symbols of a group, in order; empty for a stream of one symbol.
  package private(set) var group: [String] = []
  /// Whether its messages are binary records.
  package private(set) var isBinary = false

  package init(
    channel: ChannelName, symbol: String, depth: UInt16 = 0, points: UInt16 = 0, range: ChartRange = .day,
    candle: CandleInterval = .minute, intervalMilliseconds: UInt16 = 0
  ) {
    self.channel = channel
    self.symbol = symbol
    isComposite = CompositeSymbol.isOne(symbol) && channel.isOfComposites
    self.depth = depth
    self.points = points
    self.range = range
    self.candle = candle
    self.intervalMilliseconds = intervalMilliseconds
  }

  /// The same stream in the binary encoding, if it has one. Documents are text in both.
  package mutating func setBinary() {
    isBinary = channel.facts.binary != nil && !isOfCompositeDocument
  }

  /// The stream of these symbols, each once and in order, instead of one.
  func grouped(_ symbols: [String]) -> StreamKey {
    var key = self
    key.symbol = ""
    key.isComposite = false
    key.group = symbols
    return key
  }

  /// The stream of one of the group's symbols.
  func alone(_ symbol: String) -> StreamKey {
    var key = named(symbol)
    key.group = []
    return key
  }

  /// The subscriptions that it counts as.
  var weight: Int { max(1, group.count) }

  /// The same stream of another symbol.
  package func named(_ symbol: String) -> StreamKey {
    var key = self
    key.symbol = symbol
    key.isComposite = CompositeSymbol.isOne(symbol) && channel.isOfComposites
    return key
  }

  /// Whether a single market publishes it, which the directory finds by the symbol.
  package var isOfMarket: Bool { channel.isOfMarket && !isComposite }

  /// Whether it shows the state of a composite market.
  var isOfCompositeState: Bool { isComposite && channel.facts.composites == .state }

  /// Whether it shows a document of a composite market, which has no state of the channel.
  var isOfCompositeDocument: Bool { isComposite && channel.facts.composites == .documents }

  /// Whether a slow client gets the stream in a slower class. Another protocol has none.
  var isDegradable: Bool { channel.isDegradable && dialect == nil }

  /// Sets who shares the stream to the holders of a grant.
  mutating func setAudience(_ grant: Grant, _ portfolio: PortfolioSubject?) {
    switch channel.facts.audience {
    case .everyone: break
    case .scope: scope = grant.scope
    case .owner: owner = grant.owner
    case .subject: self.portfolio = portfolio
    }
  }

  /// Whether a holder of the grant may be one of those who share the stream.
  func isShared(with grant: Grant) -> Bool {
    switch channel.facts.audience {
    case .everyone: true
    case .scope: scope == grant.scope
    case .owner: owner == grant.owner
    case .subject:
      portfolio.map { $0.scope == grant.scope && ($0.owner == nil || $0.owner == grant.owner) } ?? true
    }
  }
}

/// The symbols of several venues' markets as one: `composite:BTC-USD`.
package enum CompositeSymbol {
  /// The prefix in place of a venue.
  package static let venue = "composite"
  static let prefix = venue + ":"

  package static func isOne(_ symbol: String) -> Bool { symbol.hasPrefix(prefix) }

  /// The symbol of the composite that a market is part of.
  package static func of(_ instrument: Instrument) -> String {
    prefix + instrument.symbol.drop { $0 != ":" }.dropFirst()
  }
}
