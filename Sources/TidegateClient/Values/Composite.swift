/// Which markets a composite is made of: what `composite:BTC-USD` says beside its prices.
public struct Composite: Sendable, Hashable {
  /// A venue that does not take part.
  public struct Absence: Sendable, Hashable {
    /// The venue: `bitstamp`.
    public var venue: String
    /// Why not: `stale`, `reconnecting`, `sequence gap`, `no price yet`.
    public var reason: String
  }

  /// Whether there are prices, and of how many venues.
  public var state: CompositeState
  /// The venues that take part.
  public var venues: [String] = []
  /// Those that do not.
  public var absent: [Absence] = []
  /// Whether any price is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The most venues that are read.
  static let limit = 1_000
}

/// How many venues a composite has.
public enum CompositeState: OpenState {
  /// Several.
  case live
  /// One is all there is.
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
