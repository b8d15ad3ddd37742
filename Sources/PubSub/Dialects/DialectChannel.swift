import MarketData

/// A channel of another protocol, and what makes the messages of its streams.
///
/// It is a part of a stream's key. So a message is encoded once for all clients of a dialect, and hubs, queues,
/// outboxes and the rules for slow clients treat its streams as they treat ours. Channels with equal names are the
/// same.
package struct DialectChannel: Sendable {
  /// The dialect, its channel, and the parameters that `StreamKey` does not have: `kraken.ticker.bbo`.
  package let name: String
  /// The changes of a market that its streams receive.
  package let hears: MarketChangeKinds
  /// Makes the writer of a new stream.
  package let makeWriter: @Sendable () -> any DialectWriter

  package init(_ name: String, hears: MarketChangeKinds, _ makeWriter: @escaping @Sendable () -> any DialectWriter) {
    self.name = name
    self.hears = hears
    self.makeWriter = makeWriter
  }
}

extension DialectChannel: Hashable {
  package static func == (one: Self, other: Self) -> Bool { one.name == other.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Makes the messages of one stream in another protocol, from the changes of a market. It holds what the subscribers
/// have. Used on the loop of the market only.
package protocol DialectWriter: AnyObject {
  /// Takes over the present state as what subscribers have; false while there is no data.
  func begin(_ view: DialectView) -> Bool
  /// Notes a change, and returns when the stream publishes it.
  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment
  /// Appends what changed since the last message; nothing if nothing did.
  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages)
  /// Appends what a new subscriber gets first: the state after the last update. A protocol that begins with an update
  /// appends nothing.
  /// - Returns: false if there is no data. The stream then begins again when there is.
  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool
}

/// When a stream publishes a change.
package enum DialectMoment: Sendable {
  case never
  /// At once, or at the next tick of the stream's interval.
  case soon
  /// When all changes of the batch have been taken, because a later one may undo this one; or at the next tick.
  case endOfBatch
  /// The data is out of sync: nothing is published until there is data again, then a snapshot.
  case whenBack
}

/// The state of an instrument, as a writer sees it.
package struct DialectView {
  package let state: InstrumentState
  private let recentTrades: RecentTrades

  init(_ instrument: PublishedInstrument) {
    state = instrument.state
    recentTrades = instrument.recentTrades
  }

  package var instrument: Instrument { state.instrument }

  /// The last trades, oldest first, at most 50. O(limit).
  package func trades(last limit: Int) -> ArraySlice<Trade> { recentTrades.last(limit) }
}
