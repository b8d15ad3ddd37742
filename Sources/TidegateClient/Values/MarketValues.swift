import Foundation

/// The best bid and ask. Values that the exchange has not sent are nil.
public struct Quote: Sendable, Hashable {
  /// Price and size of the best bid.
  public var bid: ExactDecimal?, bidSize: ExactDecimal?
  /// Price and size of the best ask.
  public var ask: ExactDecimal?, askSize: ExactDecimal?
  /// When the exchange, or the gateway, saw it.
  public var time: Date
  /// For a composite: the venues of the bid and of the ask. The best bid may then be at or above the best ask.
  public var bidVenue: String?, askVenue: String?
  /// For a composite: the included venues; nil for a market.
  public var composite: Composite?

  /// `ask` minus `bid`, exact; nil if a side is missing. A composite's may be negative.
  public var spread: ExactDecimal? {
    guard let bid, let ask else { return nil }
    return ask - bid
  }

  /// The middle of bid and ask, exact; nil if a side is missing.
  public var mid: ExactDecimal? {
    guard let bid, let ask else { return nil }
    return .middle(bid, ask)
  }

  /// The spread in percent of the middle, with four digits, rounded half to even; nil if a side is missing.
  public var spreadPercent: ExactDecimal? {
    guard let spread, let mid else { return nil }
    return spread.percent(of: mid, digits: 4)
  }
}

/// One trade.
public struct Trade: Sendable, Hashable {
  /// The side of the taker.
  public enum Side: String, Sendable { case buy, sell }
  /// The exchange's number of the trade; empty if it gives none.
  public var id: String
  /// The price paid.
  public var price: ExactDecimal
  /// The amount of the base currency.
  public var size: ExactDecimal
  /// The side of the taker.
  public var side: Side
  /// When it happened.
  public var time: Date
  /// Whether trades between this one and the one published before it may be missing.
  public var followsGap = false
  /// Whether the exchange began its numbers anew with this trade: ids before and after it cannot be compared.
  public var isRenumbered = false
  /// Whether the gateway got it after later trades: it is one of those that a `.gap` has reported.
  public var isLate = false
}

/// The last price and the figures of the last 24 hours. Unknown values are nil.
public struct Ticker: Sendable, Hashable {
  /// The price of the last trade.
  public var last: ExactDecimal?
  /// The best prices.
  public var bid: ExactDecimal?, ask: ExactDecimal?
  /// First, highest and lowest price of the last 24 hours.
  public var open24h: ExactDecimal?, high24h: ExactDecimal?, low24h: ExactDecimal?
  /// The volume of 24 hours, in the base and the quote currency.
  public var volume24h: ExactDecimal?, quoteVolume24h: ExactDecimal?
  /// The volume-weighted average price of 24 hours.
  public var vwap24h: ExactDecimal?
  /// The change of the price in 24 hours, absolute and in per cent.
  public var change24h: ExactDecimal?, changePercent24h: ExactDecimal?
  /// Trades in 24 hours.
  public var trades24h: Int?
  /// The source of the figures.
  public var source: TickerSource
  /// If the source is `.mixed`: the fields that the gateway filled, by their names on the wire.
  public var own: [String] = []
  /// Since when the gateway's own figures count; nil if they cover the whole day, or are the exchange's.
  public var coveredFrom: Date?
  /// The time of these figures.
  public var time: Date
  /// For a composite: the venue of the last trade.
  public var lastVenue: String?
  /// For a composite: the included venues; nil for a market.
  public var composite: Composite?
}

/// The direction of the price.
public struct Pulse: Sendable, Hashable {
  /// Up, down, or neither.
  public enum Direction: String, Sendable { case up, down, flat }
  /// The direction of the last change; `.flat` in the first pulse.
  public var direction: Direction
  /// The price now.
  public var price: ExactDecimal
  /// The price before.
  public var previous: ExactDecimal?
  /// From `previous` to `price`, and over 24 hours, in per cent.
  public var changePercent: ExactDecimal?, changePercent24h: ExactDecimal?
  /// The number of price changes merged into this pulse.
  public var merged: Int
  /// When the price was this.
  public var time: Date
}

/// The state of the connection to one exchange.
public struct FeedReport: Sendable, Hashable {
  /// The exchange: `kraken`.
  public var venue: String
  /// Its state in one word.
  public var state: FeedState
  /// The state in three colours: what a status dot shows.
  public var indicator: FeedIndicator
  /// The age of the exchange's last message when the gateway made this report; nil if there was none.
  public var age: Duration?
  /// The reason for the state, for people.
  public var reason: String?
  /// Since when.
  public var since: Date?
  /// The number of the reconnection attempt.
  public var attempt: Int?
  /// Symbols whose book is out of sync, with the reason; only in `status`.
  public var syncing: [String: String] = [:]
  /// Symbols that the exchange refused, with the reason; only in `status`.
  public var failed: [String: String] = [:]
  /// Symbols of which a channel at the exchange died alone, with the channels: `trades`, `quote`, `ticker`; only in
  /// `status`.
  public var silent: [String: [String]] = [:]
  /// Whether its prices are simulated, or those of a recording: not for trading.
  public var isSimulated = false
  /// Whether its prices are those of a recording.
  public var isReplayed = false
}
