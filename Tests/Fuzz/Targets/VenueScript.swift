import Venues

/// The start of a connection's target. The rest is the same for every venue.
struct VenueScript {
  let symbols: [String]
  /// Lines after which the first symbol's feed is in sync, as an input has them.
  let prelude: [String]

  /// By the label of the connection (`bybit`, `bybit-linear`).
  static let all: [String: VenueScript] = VenueRegistry.dialects.reduce(into: [:]) { all, dialect in
    all.merge((dialect as? any ScriptedVenue.Type)?.scripts ?? [:]) { _, new in new }
  }
}

/// A venue whose connections have scripts, which is each: `Venues` here has a file for each venue.
protocol ScriptedVenue: RegisteredVenue {
  /// By the label of the connection.
  static var scripts: [String: VenueScript] { get }
}
