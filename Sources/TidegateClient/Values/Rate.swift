/// The value of one unit of an asset in another asset, through live spot markets.
public struct Rate: Sendable, Hashable {
  /// The converted asset: `ZEC`.
  public var base: String
  /// The asset of the result: `USD`.
  public var quote: String
  /// Units of `quote` for one of `base`; nil while no path of live markets connects them.
  public var value: ExactDecimal?
  /// The markets on the path, at most three: `kraken:ZEC-BTC`, `coinbase:BTC-USD`.
  public var path: [String] = []
  /// Whether there is a rate.
  public var state: RateState
  /// Why there is none, for people.
  public var reason: String?
  /// The age of the oldest price on the path, when the gateway made the message.
  public var age: Duration?
  /// Whether a price on the path is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The largest number of markets that the client reads.
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
