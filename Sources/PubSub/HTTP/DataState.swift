import Bytes
import MarketData

/// The state of the data in an answer: whether its feed is alive, and whether the prices are a venue's own.
///
/// It does not change while a feed stays live, or stays dead, so answers keep their entity tags. The age, which always
/// changes, is outside the body (`Tidegate-Feeds`).
package struct DataState: Sendable, Equatable {
  package var venue: String
  package var state: FeedState
  /// Since when the feed is in this state; nil before it has one.
  package var since: Timestamp?
  /// The time of the venue's last message; nil if there was none.
  package var lastMessage: Timestamp?
  package var source: DataSource
  /// Why the venue refuses the symbol, or its book fails again and again; nil if neither.
  package var failure: String?

  package init(
    venue: String, state: FeedState, since: Timestamp? = nil, lastMessage: Timestamp? = nil, source: DataSource,
    failure: String? = nil
  ) {
    self.venue = venue
    self.state = state
    self.since = since
    self.lastMessage = lastMessage
    self.source = source
    self.failure = failure
  }

  /// Appends `,"state":"live"`, and where it is another state, since when, and the time of the last message if none
  /// come.
  package func append(to out: inout ByteBuffer) {
    out.append(",\"state\":\"")
    out.append(state.rawValue)
    out.append(UInt8(ascii: "\""))
    source.append(to: &out)
    if state != .live, let since {
      out.append(",\"since\":")
      out.append(integer: since.microseconds)
    }
    if state.indicator != "connected", let lastMessage {
      out.append(",\"last_message\":")
      out.append(integer: lastMessage.microseconds)
    }
    if let failure {
      out.append(",\"failed\":")
      out.append(json: failure)
    }
  }
}

extension SubscriberHub {
  /// The state of the data of a symbol that is in the directory. O(feeds).
  package func dataState(of symbol: String, _ entry: DirectoryEntry) -> DataState {
    let venue = entry.instrument.venue
    guard let feed = feeds.first(where: { $0.venue == venue }) else {
      return DataState(venue: venue, state: .connecting, source: .live)
    }
    return DataState(
      venue: venue, state: feed.state, since: feed.since, lastMessage: feed.lastMessage, source: feed.source,
      failure: feed.failed[symbol])
  }
}

/// What was found out while the symbols of one request were looked up.
package struct SymbolLookup {
  /// Symbols of one request for which like ones are looked for; the rest get a plain hint.
  static let nearMatchLimit = 3
  var nearMatches = 0
  package init() {}
}

extension SubscriberHub {
  /// Why the directory has no such symbol: its venue's list of markets has not arrived yet, or the symbol does not
  /// exist; the same as on the stream. For the first few symbols O(symbols × length²).
  package func explainMissing(_ symbol: String, _ lookup: inout SymbolLookup) -> ProtocolError {
    if let early = listNotReady(of: symbol) { return early }
    lookup.nearMatches += 1
    return resolver.unknownSymbol(symbol, looksUp: lookup.nearMatches <= SymbolLookup.nearMatchLimit)
  }

  /// Why there is no list of markets yet; nil if there is one.
  /// - Parameter symbol: any symbol of the venue; `*:` asks for any venue's.
  package func listNotReady(of symbol: String) -> ProtocolError? {
    guard var early = resolver.notReady(symbol) else { return nil }
    early.hint = "retry in a second"
    return early
  }
}
