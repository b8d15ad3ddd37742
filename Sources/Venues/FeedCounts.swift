/// Counts that are added up over the connections of a feed.
protocol CountsOfFeed {
  static var all: [WritableKeyPath<Self, Int>] { get }
}

extension CountsOfFeed {
  static func + (a: Self, b: Self) -> Self { all.reduce(into: a) { $0[keyPath: $1] &+= b[keyPath: $1] } }
  static func - (a: Self, b: Self) -> Self { all.reduce(into: a) { $0[keyPath: $1] &-= b[keyPath: $1] } }
}

/// What one feed has seen, for replays and metrics.
package struct FeedCounts: Sendable, Equatable, CountsOfFeed {
  package var messages = 0
  /// Messages that could not be read.
  package var rejected = 0
  /// Asks at prices beyond 64 bits, which were left out: they are further away than anything that is shown.
  package var rejectedLevels = 0
  /// Messages of a type that the engine does not use.
  package var ignored = 0
  package init() {}

  static var all: [WritableKeyPath<FeedCounts, Int>] { [\.messages, \.rejected, \.rejectedLevels, \.ignored] }
}

/// What one symbol of a feed has seen.
package struct SymbolCounts: Sendable, Equatable, CountsOfFeed {
  /// Book updates received, those older than the snapshot included.
  package var deltas = 0
  package var snapshots = 0
  /// Links between consecutive book messages that held, where the venue numbers them.
  package var sequenceOK = 0
  package var gaps = 0
  /// Book updates that their snapshot contained already, and those that came again after their successors.
  package var dropped = 0
  /// Updates that joined a snapshot which was asked for apart from the stream.
  package var bridged = 0
  /// Live trades.
  package var trades = 0
  /// Trades from before the subscription.
  package var backlogTrades = 0
  /// Trades that the venue's numbering says were missed.
  package var missedTrades = 0
  /// Runs of such trades.
  package var tradeHoles = 0
  /// Missed trades that came late or were found by REST.
  package var foundTrades = 0
  package init() {}

  static var all: [WritableKeyPath<SymbolCounts, Int>] {
    [
      \.deltas, \.snapshots, \.sequenceOK, \.gaps, \.dropped, \.bridged, \.trades, \.backlogTrades, \.missedTrades,
      \.tradeHoles, \.foundTrades,
    ]
  }
}
