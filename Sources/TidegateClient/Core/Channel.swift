/// The kind of data of a stream.
public enum Channel: String, Sendable, Hashable, CaseIterable {
  /// Every trade.
  case trades
  /// Best bid and ask.
  case quote
  /// Last price and the last 24 hours.
  case ticker
  /// The direction of the price, at most ten times a second.
  case pulse
  /// The order book.
  case book
  /// The price over a span of time, in a few points.
  case sparkline
  /// Open, high, low and close of each interval.
  case candles
  /// Mark, index, funding and open interest of a perpetual or dated future.
  case derivative
  /// Positions that the exchange closed because their margin was used up.
  case liquidations
  /// The value of one unit of an asset in another.
  case rate
  /// Documents that are published to a topic.
  case topic
  /// The card of the day of a deck.
  case deck
  /// The connections to the exchanges. Takes no symbols.
  case status
  /// The rules of the owner whose token the client shows. Takes no symbols.
  case alerts
  /// The value of holdings and positions. Takes no symbols.
  case portfolio

  /// Whether only the latest value matters, so that older ones may be merged into it. Trades, liquidations and
  /// documents are events: every one matters.
  public var isState: Bool { self != .trades && self != .topic && self != .liquidations }

  /// Whether its updates are changes, which mean nothing without the snapshot before them.
  var isIncremental: Bool { self == .book || self == .sparkline || self == .candles || self == .alerts }

  /// Whether it concerns the whole gateway or its client, so that it takes no symbols.
  var isNameless: Bool { self == .status || self == .alerts || self == .portfolio }
}

/// A channel and a symbol or pattern, with parameters: an item of a subscription. With a symbol, it identifies a
/// stream.
struct StreamItem: Hashable, Sendable {
  var channel: Channel
  /// `kraken:BTC-USD`, `kraken:*`, `*:BTC-USD`, for a rate `ZEC-USD`, or the name of a topic or deck; empty for a
  /// channel without symbols.
  var symbol: String
  var depth: BookDepth?
  var range: SparklineRange?
  var points: Int?
  var interval: CandleInterval?
  /// The number of documents of the first value.
  var last: Int?
  var portfolio: PortfolioRequest?
  /// The time zone of a deck's day.
  var zone: String?
  /// Milliseconds.
  var cadence: Int?

  /// The same parameters for another symbol.
  func of(_ symbol: String) -> StreamItem {
    var item = self
    item.symbol = symbol
    return item
  }
}

/// How many levels a side a book has.
public enum BookDepth: Sendable, Hashable {
  case levels10, levels25, levels100
  /// All that the gateway has.
  case full
}
