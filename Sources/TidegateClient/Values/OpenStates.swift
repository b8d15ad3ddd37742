/// A word of the protocol. Later versions may add words; an unknown word is `.unknown`, with its text.
public protocol OpenState: Sendable, Hashable, RawRepresentable, CustomStringConvertible where RawValue == String {
  /// The words that this version knows.
  static var known: [Self] { get }
  /// The word on the wire.
  var rawValue: String { get }
  /// Any other word.
  static func unknown(_ text: String) -> Self
  /// Reads a word; never fails.
  init(rawValue: String)
}

extension OpenState {
  /// Reads a word; an unknown one is `.unknown`.
  public init(rawValue: String) { self = Self.known.first { $0.rawValue == rawValue } ?? .unknown(rawValue) }

  /// The word on the wire.
  public var description: String { rawValue }

  /// Whether the words are the same.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

  /// Feeds the word in.
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// The state of a feed.
public enum FeedState: OpenState {
  case connecting, syncing, live, stale, reconnecting, disconnected, maintenance
  case unknown(String)

  /// The words that this version knows.
  public static let known: [FeedState] = [
    .connecting, .syncing, .live, .stale, .reconnecting, .disconnected, .maintenance,
  ]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .connecting: "connecting"
    case .syncing: "syncing"
    case .live: "live"
    case .stale: "stale"
    case .reconnecting: "reconnecting"
    case .disconnected: "disconnected"
    case .maintenance: "maintenance"
    case .unknown(let text): text
    }
  }
}

/// The colour of a status dot: green, yellow, red. Draw an unknown one as `.reconnecting`.
public enum FeedIndicator: OpenState {
  case connected, reconnecting, disconnected
  case unknown(String)

  /// The words that this version knows.
  public static let known: [FeedIndicator] = [.connected, .reconnecting, .disconnected]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .connected: "connected"
    case .reconnecting: "reconnecting"
    case .disconnected: "disconnected"
    case .unknown(let text): text
    }
  }
}

/// The source of a ticker's 24-hour figures.
public enum TickerSource: OpenState {
  /// The exchange's.
  case venue
  /// The gateway's, from the trades that it saw.
  case gateway
  /// Some of each.
  case mixed
  /// Several exchanges': it is a composite's.
  case composite
  case unknown(String)

  /// The words that this version knows.
  public static let known: [TickerSource] = [.venue, .gateway, .mixed, .composite]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .venue: "venue"
    case .gateway: "gateway"
    case .mixed: "mixed"
    case .composite: "composite"
    case .unknown(let text): text
    }
  }
}

/// The source of a candle.
public enum CandleSource: OpenState {
  /// The gateway, of the whole interval.
  case own
  /// The gateway, of a part of it: trades may be missing.
  case partial
  /// The exchange: it is the exchange's own candle.
  case venue
  case unknown(String)

  /// The words that this version knows.
  public static let known: [CandleSource] = [.own, .partial, .venue]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .own: "own"
    case .partial: "partial"
    case .venue: "venue"
    case .unknown(let text): text
    }
  }
}

/// Why a gateway refused something.
public enum RefusalCode: OpenState {
  case badRequest, unknownChannel, unknownSymbol, outOfRange, tooManySubscriptions, messageTooLarge, rateLimited
  case unauthorized, forbidden, notReady
  /// For requests about alerts, portfolios and decks.
  case unknownAlert, invalidAlert, tooManyAlerts, changed, keyReused, unavailable, unknownPortfolio, unknownDeck
  case unknown(String)

  /// The words that this version knows.
  public static let known: [RefusalCode] = [
    .badRequest, .unknownChannel, .unknownSymbol, .outOfRange, .tooManySubscriptions, .messageTooLarge, .rateLimited,
    .unauthorized, .forbidden, .notReady, .unknownAlert, .invalidAlert, .tooManyAlerts, .changed, .keyReused,
    .unavailable, .unknownPortfolio, .unknownDeck,
  ]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .badRequest: "bad_request"
    case .unknownChannel: "unknown_channel"
    case .unknownSymbol: "unknown_symbol"
    case .outOfRange: "out_of_range"
    case .tooManySubscriptions: "too_many_subscriptions"
    case .messageTooLarge: "message_too_large"
    case .rateLimited: "rate_limited"
    case .unauthorized: "unauthorized"
    case .forbidden: "forbidden"
    case .notReady: "not_ready"
    case .unknownAlert: "unknown_alert"
    case .invalidAlert: "invalid_alert"
    case .tooManyAlerts: "too_many_alerts"
    case .changed: "changed"
    case .keyReused: "key_reused"
    case .unavailable: "unavailable"
    case .unknownPortfolio: "unknown_portfolio"
    case .unknownDeck: "unknown_deck"
    case .unknown(let text): text
    }
  }
}
