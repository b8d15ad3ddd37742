/// What kind of data a stream carries.
public enum TidegateChannel: String, Sendable, Hashable, CaseIterable {
  /// Every trade.
  case trades
  /// Best bid and ask.
  case quote
  /// Last price and the last 24 hours.
  case ticker
  /// Which way the price moves, at most ten times a second.
  case pulse
  /// The order book.
  case book
  /// The price of the last 24 hours in a few points.
  case sparkline
  /// The connections to the exchanges. Takes no symbols.
  case status

  /// Whether only the latest value matters, so that older ones may be merged into it.
  public var isState: Bool { self != .trades }
}

/// What a consumer asks for: every channel for every symbol.
public struct TidegateSubscription: Sendable, Hashable {
  /// The channels, each once.
  public var channels: [TidegateChannel]
  /// `kraken:BTC-USD`, `kraken:*` or `*:BTC-USD`. Not used by `.status`.
  public var symbols: [String]
  /// Levels a side of `.book`; nil: as the server prefers.
  public var depth: Int?
  /// Points of `.sparkline`; nil: as the server prefers.
  public var points: Int?
  /// The least time between two updates of a stream in milliseconds, 0 for every one; nil: as the server prefers.
  public var intervalMilliseconds: Int?

  /// Creates a subscription.
  public init(
    channels: [TidegateChannel], symbols: [String] = [], depth: Int? = nil, points: Int? = nil,
    intervalMilliseconds: Int? = nil
  ) {
    self.channels = channels
    self.symbols = symbols
    self.depth = depth
    self.points = points
    self.intervalMilliseconds = intervalMilliseconds
  }
}
