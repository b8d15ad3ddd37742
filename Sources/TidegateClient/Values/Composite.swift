/// The venues of a composite such as `composite:BTC-USD`.
public struct Composite: Sendable, Hashable {
  /// An excluded venue.
  public struct Absence: Sendable, Hashable {
    /// The venue: `bitstamp`.
    public var venue: String
    /// The reason: `stale`, `reconnecting`, `sequence gap`, `no price yet`.
    public var reason: String
  }

  /// Whether there are prices, and of how many venues.
  public var state: CompositeState
  /// The included venues.
  public var venues: [String] = []
  /// The excluded venues.
  public var absent: [Absence] = []
  /// Whether any price is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The largest number of venues that the client reads.
  static let limit = 1_000
}

/// How many venues a composite has.
public enum CompositeState: OpenState {
  /// Several.
  case live
  /// One.
  case single
  /// None: there are no prices.
  case unavailable
  case unknown(String)

  /// The words that this version knows.
  public static let known: [CompositeState] = [.live, .single, .unavailable]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .live: "live"
    case .single: "single"
    case .unavailable: "unavailable"
    case .unknown(let text): text
    }
  }
}
