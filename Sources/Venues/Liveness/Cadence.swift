import MarketData

/// A venue's regular messages on a live connection, which come even if the followed markets are quiet. Their absence
/// shows that the connection is dead.
package struct Cadence: Sendable {
  package enum Source: Sendable {
    /// The venue promises it: a heartbeat, or the same state again.
    case promised
    /// The venue promises nothing. The cheapest channel of its busiest markets is followed for this alone, on a
    /// connection that follows none of them for its own sake. It is not published.
    /// - Parameters:
    ///   - markets: by the venue's own names.
    ///   - prefix: what stands before a market's name in their messages.
    case canary(markets: [String], prefix: String)
  }

  /// However often a venue speaks, silence is no sign before this, µs: networks stall.
  static let leastPatience = 10 * Microseconds.second
  /// Times that a venue may miss before it counts as silent.
  static let missed: Int64 = 3

  /// The venue's name of the channel: `heartbeat`, `orderbook.1`.
  package let channel: String
  /// The longest time between two messages of it, µs.
  package let every: Int64
  package let source: Source

  private init(_ channel: String, every: Int64, _ source: Source) {
    precondition(every > 0)
    self.channel = channel
    self.every = every
    self.source = source
  }

  /// - Parameter every: the longest time between two messages, by the venue's documentation or by measurement, µs.
  static func promised(_ channel: String, every: Int64) -> Cadence { Cadence(channel, every: every, .promised) }

  /// - Parameters:
  ///   - markets: by the venue's own names. All of them are followed; what comes of any shows that the venue speaks.
  ///   - every: how often the busiest of them is heard of at the quietest hour, µs.
  ///   - prefix: what stands before a market's name in their messages.
  static func canary(
    _ channel: String, of markets: [String], every: Int64, behind prefix: String = "\""
  ) -> Cadence {
    precondition(!markets.isEmpty)
    return Cadence(channel, every: every, .canary(markets: markets, prefix: prefix))
  }

  /// Silence of the market after which a connection counts as stale, µs; after the same again it is replaced.
  package var staleAfter: Int64 { max(Self.missed * every, Self.leastPatience) }

  /// A few words for a table: `heartbeat each 1 s`.
  package var words: String {
    let time =
      every >= Microseconds.second ? "\(every / Microseconds.second) s" : "\(every / Microseconds.millisecond) ms"
    switch source {
    case .promised: return "\(channel) each \(time)"
    case .canary(let markets, _): return "canary: \(channel) of \(markets.joined(separator: " and "))"
    }
  }
}
