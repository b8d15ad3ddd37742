import MarketData

/// What a connection asks for, and what it may.
///
/// | value | what it knows |
/// |---|---|
/// | `SubscriptionRequests` | where every subscription stands, and what is still to be sent |
/// | `SendingLimits` | numbers, the limits of an hour and a minute, the greeting, the next other connection |
/// | `SuspectSymbols` | which names are asked for apart from others |
struct FeedRequests {
  var desk: SubscriptionRequests
  var sending: SendingLimits
  var suspects: SuspectSymbols

  init(_ facts: DialectFacts, connections: Int) {
    desk = SubscriptionRequests(facts, connections: connections)
    sending = SendingLimits(facts.pacing, connections: connections)
    suspects = SuspectSymbols(facts.badName)
  }

  /// Makes room for so many symbols.
  mutating func grow(to symbols: Int) {
    desk.grow(to: symbols)
    suspects.grow(to: symbols)
  }

  mutating func disconnected() {
    sending.disconnected()
    desk.removeAll()
  }
}
