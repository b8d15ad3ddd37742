import MarketData

/// The number of a stream; the same for every client of this run. `number % loops` is the loop that publishes it.
/// Numbers start at `loops`, so 0 is no stream.
@frozen
package struct StreamID: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }
}

package enum ChannelName: String, Sendable, CaseIterable {
  case trades, quote, ticker, pulse, book, sparkline, candles, status, alerts, topic, rate, portfolio, deck

  /// Whether every message matters (`trades`, `topic`); for the other channels, only the latest does.
  package var isEvent: Bool { self == .trades || self == .topic }

  /// Whether its data comes from a market, so that the directory has its symbol. Loop 0 publishes the others.
  package var isOfMarket: Bool {
    switch self {
    case .trades, .quote, .ticker, .pulse, .book, .sparkline, .candles: true
    case .status, .alerts, .topic, .rate, .portfolio, .deck: false
    }
  }

  /// Whether subscriptions name something: a symbol, a topic, a pair of assets, or a deck.
  package var takesNames: Bool { isOfMarket || self == .topic || self == .rate || self == .deck }

  /// Whether composite markets have this channel.
  package var isOfComposites: Bool { isOfMarket && self != .trades }

  /// Whether a composite market has a state of its own for this channel, which changes in differences. Its messages on
  /// the others are whole documents.
  var hasCompositeState: Bool { self == .book || self == .sparkline || self == .candles }
}

/// The properties of a stream: subscriptions with equal keys share it.
package struct StreamKey: Sendable, Hashable {
  package var channel: ChannelName
  /// `kraken:BTC-USD`, the name of a topic or a deck, or for a rate `ZEC-USD`; empty for `status` and `alerts`.
  package let symbol: String
  /// Whether the symbol is a composite's, which no single market publishes.
  package let isComposite: Bool
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

  package init(
    channel: ChannelName, symbol: String, depth: UInt16 = 0, points: UInt16 = 0, range: ChartRange = .day,
    candle: CandleInterval = .minute, intervalMilliseconds: UInt16 = 0
  ) {
    self.channel = channel
    self.symbol = symbol
    isComposite = channel.isOfComposites && CompositeSymbol.isOne(symbol)
    self.depth = depth
    self.points = points
    self.range = range
    self.candle = candle
    self.intervalMilliseconds = intervalMilliseconds
  }

  /// Whether a single market publishes it, which the directory finds by the symbol.
  package var isOfMarket: Bool { channel.isOfMarket && !isComposite }

  /// Whether it shows the state of a composite market.
  var isOfCompositeState: Bool { isComposite && channel.hasCompositeState }
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

/// How often a stream may publish. A stream of class 0 publishes every change, the others at most once per interval, at
/// multiples of it, so that all data of a class for a client is sent at once.
package enum RateClass {
  /// The intervals, in milliseconds.
  package static let intervals: [UInt16] = [0, 100, 250, 1000, 5000]

  /// The nearest class that is not faster than `milliseconds`; beyond 5 s it is 5 s.
  package static func nearest(notFasterThan milliseconds: Int) -> UInt16 {
    intervals.first { Int($0) >= milliseconds } ?? 5000
  }

  /// The next slower class; nil after the slowest.
  package static func slower(than interval: UInt16) -> UInt16? { intervals.first { $0 > interval } }

  static func index(of interval: UInt16) -> Int { intervals.firstIndex(of: interval) ?? 0 }

  /// The class of a subscription that requests `milliseconds`, or nothing. A pulse's natural rate is 100 ms; a
  /// sparkline, a candle and a ticker move so little that their rate-limited classes start at 1 s.
  package static func interval(for channel: ChannelName, asked milliseconds: Int?) -> UInt16 {
    switch channel {
    case .status, .alerts, .topic, .deck: return 0
    // A table of conversions is made at most four times a second.
    case .rate: return max(250, nearest(notFasterThan: milliseconds ?? 1000))
    case .portfolio: return 1000
    case .pulse: return max(100, nearest(notFasterThan: milliseconds ?? 100))
    case .ticker, .sparkline, .candles:
      let nearest = nearest(notFasterThan: milliseconds ?? 1000)
      return nearest == 0 ? 0 : max(1000, nearest)
    case .trades, .quote, .book: return nearest(notFasterThan: milliseconds ?? 0)
    }
  }
}

/// The limits of the parameters of a subscription.
package enum StreamLimits {
  /// Levels a side; 0 is all.
  package static let depths: [UInt16] = [10, 25, 100, 0]
  package static let defaultDepth: UInt16 = 25
  package static let points: ClosedRange<Int> = 2...1440
  package static let defaultPoints: UInt16 = 96
  /// The number of last documents of a topic in a snapshot.
  package static let documents: ClosedRange<Int> = 1...100
  /// Holdings and positions of all portfolios of a client.
  package static let portfolioLines = 500
  /// Of a deck.
  package static let defaultZone = "UTC"
  /// The number of candles in a snapshot.
  package static let candles = 100
}
