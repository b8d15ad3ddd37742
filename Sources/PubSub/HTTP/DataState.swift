import Bytes
import MarketData

/// The state of the data in an answer: whether its feed is live, and whether the prices are a venue's own.
///
/// It does not change while a feed stays live, or stays not live, so answers keep their entity tags. The age, which
/// always changes, is outside the body (`Tidegate-Feeds`).
package struct DataState: Sendable, Equatable {
  package var venue: String
  package var state: FeedState
  /// Since when the feed is in this state; nil before its first state.
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

  /// Appends `,"state":"live"`. For another state, also appends since when, and the time of the last message if none
  /// arrive.
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

/// The results of looking up the symbols of one request.
package struct SymbolLookup {
  /// The most symbols of one request for which similar ones are suggested; the others get a general hint.
  static let nearMatchLimit = 3
  var nearMatches = 0
  package init() {}
}

extension SubscriberHub {
  /// Why the directory has no such symbol: its venue's list of markets has not arrived yet, or the symbol does not
  /// exist; the same reason as on the stream. For the first few symbols O(symbols × length²).
  package func explainMissing(_ symbol: String, _ lookup: inout SymbolLookup) -> ProtocolError {
    if let early = listNotReady(of: symbol) { return early }
    lookup.nearMatches += 1
    return resolver.unknownSymbol(symbol, looksUp: lookup.nearMatches <= SymbolLookup.nearMatchLimit)
  }

  /// Why there is no list of markets yet; nil if there is one.
  /// - Parameter symbol: any symbol of the venue; `*:` means any venue.
  package func listNotReady(of symbol: String) -> ProtocolError? {
    guard var early = resolver.notReady(symbol) else { return nil }
    early.hint = "retry in a second"
    return early
  }
}
