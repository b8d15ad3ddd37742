import MarketData

/// The watches over the channels that promise to speak (`VenueProfile.Channel.every`), by the code of their topics
/// (`SubscriptionRequests`). Nothing is kept where no channel promises anything. A value; time is a parameter.
struct ChannelWatches {
  /// By channel, the longest time between two of its messages, µs; nil where none is promised.
  private let promised: [Int64?]
  private let isEmpty: Bool
  private var watches: [SilenceWatch?] = []

  init(_ facts: DialectFacts) {
    // A book that is whole in each message is looked after by itself (`WholeBook`).
    let isWhole = if case .whole = facts.book { true } else { false }
    promised = facts.channels.indices.map { isWhole && $0 == 0 ? nil : facts.channels[$0].every }
    isEmpty = promised.allSatisfy { $0 == nil }
  }

  /// Makes room for so many symbols.
  mutating func grow(to symbols: Int) {
    guard !isEmpty else { return }
    while watches.count < symbols * promised.count {
      watches.append(promised[watches.count % promised.count].map { SilenceWatch(every: $0) })
    }
  }

  /// Something came on a channel.
  @inline(__always)
  mutating func heard(_ code: Int, now: Timestamp) { if !isEmpty { watches[code]?.heard(now: now) } }

  /// Something came on the channel of a symbol's book.
  @inline(__always)
  mutating func heardBook(of index: Int, now: Timestamp) {
    if !isEmpty { watches[index * promised.count]?.heard(now: now) }
  }

  /// The venue has taken the subscription of a channel.
  mutating func subscribed(_ code: Int, now: Timestamp) { if !isEmpty { watches[code]?.subscribed(now: now) } }

  /// The channels of `code` that are dead now, in their order; each once for each attempt to revive it.
  /// - Parameter connectionHeard: when something of a market last came on the connection.
  mutating func takeDead(connectionHeard: Timestamp, now: Timestamp, _ isFollowed: (Int) -> Bool) -> [Int] {
    var dead: [Int] = []
    for code in watches.indices where isFollowed(code) {
      if watches[code]?.isDead(now: now, connectionHeard: connectionHeard) ?? false { dead.append(code) }
    }
    return dead
  }

  mutating func disconnected() { for code in watches.indices { watches[code]?.disconnected() } }
}
