/// The best bid and ask. What the exchange has not sent is nil.
public struct Quote: Sendable, Equatable {
  /// Price and size of the best bid.
  public var bid: ExactDecimal?, bidSize: ExactDecimal?
  /// Price and size of the best ask.
  public var ask: ExactDecimal?, askSize: ExactDecimal?
  /// Microseconds since 1970, UTC.
  public var time: Int64?
}

/// One trade.
public struct Trade: Sendable, Equatable {
  /// Who took liquidity.
  public enum Side: String, Sendable { case buy, sell }
  /// The exchange's number of the trade.
  public var id: String
  /// The price paid.
  public var price: ExactDecimal
  /// The amount of the base currency.
  public var size: ExactDecimal
  /// The side of the taker; nil if the exchange does not say.
  public var side: Side?
  /// Microseconds since 1970, UTC.
  public var time: Int64?
}

/// The last price and the last 24 hours. What is not known is nil.
public struct Ticker: Sendable, Equatable {
  /// The price of the last trade.
  public var last: ExactDecimal?
  /// The best prices.
  public var bid: ExactDecimal?, ask: ExactDecimal?
  /// First, highest and lowest price of the last 24 hours.
  public var open24h: ExactDecimal?, high24h: ExactDecimal?, low24h: ExactDecimal?
  /// What was traded in 24 hours, in the base and the quote currency.
  public var volume24h: ExactDecimal?, quoteVolume24h: ExactDecimal?
  /// The volume-weighted average price of 24 hours.
  public var vwap24h: ExactDecimal?
  /// How the price changed in 24 hours, absolutely and in per cent.
  public var change24h: ExactDecimal?, changePercent24h: ExactDecimal?
  /// Trades in 24 hours.
  public var trades24h: Int64?
  /// Microseconds since 1970, UTC.
  public var time: Int64?
}

/// Which way the price moves.
public struct Pulse: Sendable, Equatable {
  /// Up, down, or neither.
  public enum Direction: String, Sendable { case up, down, flat }
  /// The direction of the last change.
  public var direction: Direction
  /// The price now.
  public var price: ExactDecimal
  /// The price before.
  public var previous: ExactDecimal?
  /// From `previous` to `price`, and over 24 hours, in per cent.
  public var changePercent: ExactDecimal?, changePercent24h: ExactDecimal?
  /// Price changes that this pulse stands for.
  public var merged: Int64
  /// Microseconds since 1970, UTC.
  public var time: Int64?
}

/// One level of an order book.
public struct BookLevel: Sendable, Equatable {
  /// The price of the level.
  public var price: ExactDecimal
  /// The amount at it; in an update, zero removes the level.
  public var size: ExactDecimal
}

/// Levels of an order book: all of them in a snapshot, the changed ones in an update. `BookView` puts them together.
public struct BookLevels: Sendable, Equatable {
  /// Bids; best first in a snapshot.
  public var bids: [BookLevel]
  /// Asks; best first in a snapshot.
  public var asks: [BookLevel]
  /// Best ask minus best bid, and that in per cent.
  public var spread: ExactDecimal?, spreadPercent: ExactDecimal?
  /// Microseconds since 1970, UTC.
  public var time: Int64?
}

/// The price of a span of time in evenly spaced points, always whole: the client applies the server's changes.
public struct Sparkline: Sendable, Equatable {
  /// The span: `24h`.
  public var range: String
  /// The time of the first point, microseconds since 1970, UTC.
  public var from: Int64
  /// Seconds between points.
  public var stepSeconds: Int64
  /// Prices, oldest first; nil where nothing was known yet.
  public var points: [ExactDecimal?]
  /// `up`, `down` or `flat`, from the first to the last point.
  public var trend: Pulse.Direction?
}

/// The state of the connection to one exchange.
public struct FeedReport: Sendable, Equatable {
  /// What a status dot shows.
  public enum Indicator: String, Sendable { case connected, reconnecting, disconnected }
  /// The exchange: `kraken`.
  public var venue: String
  /// `connecting`, `syncing`, `live`, `stale`, `reconnecting`, `disconnected` or `maintenance`.
  public var state: String
  /// The state in three colours; one that this version does not know counts as `.reconnecting`.
  public var indicator: Indicator
  /// Milliseconds since anything came from the exchange; nil if nothing ever did.
  public var ageMilliseconds: Int64?
  /// Why it is in this state, for people.
  public var reason: String?
  /// Since when, microseconds since 1970, UTC.
  public var since: Int64?
  /// The number of the reconnection attempt.
  public var attempt: Int64?
  /// Symbols whose book is being put in order, with the reason; only in `.status`.
  public var syncing: [String: String] = [:]
  /// Symbols that the exchange refused, with the reason; only in `.status`.
  public var failed: [String: String] = [:]
  /// Whether its prices are simulated, or those of a recording: not for trading.
  public var isSimulated = false
}
