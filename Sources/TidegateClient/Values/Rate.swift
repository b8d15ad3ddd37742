/// What one unit of an asset is worth in another, through live spot markets.
public struct Rate: Sendable, Hashable {
  /// What is converted: `ZEC`.
  public var base: String
  /// Into what: `USD`.
  public var quote: String
  /// Units of `quote` for one of `base`; nil while no live market leads there.
  public var value: ExactDecimal?
  /// The markets on the way, at most three: `kraken:ZEC-BTC`, `coinbase:BTC-USD`.
  public var path: [String] = []
  /// Whether there is a rate.
  public var state: RateState
  /// Why there is none, for people.
  public var reason: String?
  /// The age of the oldest price on the way, when the message was made.
  public var age: Duration?
  /// Whether a price on the way is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The most markets that are read.
  static let pathLimit = 100
}

/// Whether there is a rate.
public enum RateState: OpenState {
  case live, unavailable
  case unknown(String)

  /// The words that this version knows.
  public static let known: [RateState] = [.live, .unavailable]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .live: "live"
    case .unavailable: "unavailable"
    case .unknown(let text): text
    }
  }
}
