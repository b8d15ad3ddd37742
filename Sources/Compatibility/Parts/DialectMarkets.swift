import MarketData
import PubSub

/// The markets of one venue, as a path of a dialect serves them.
struct DialectMarkets: Sendable {
  /// The venue's name in our symbols.
  let venue: String
  /// Whether simulated and replayed data is served. No other protocol can mark it.
  let allowsSimulated: Bool

  /// Why a client does not get data of a symbol.
  enum Refusal: Error, Equatable {
    /// There is no such market.
    case unknown
    /// The venue has not listed its markets yet.
    case notReady
    case forbidden
    /// The prices are not a venue's present ones.
    case simulated
    case tooMany
  }

  /// The spot market of two assets.
  func entry(_ base: Substring, _ quote: Substring, in directory: Directory) -> DirectoryEntry? {
    guard let entry = directory.entries["\(venue):\(base)-\(quote)"], entry.instrument.kind == .spot else { return nil }
    return entry
  }

  /// Checks whether a client may have a channel of a market.
  /// - Parameter entry: nil: there is no such market.
  func check(
    _ entry: DirectoryEntry?, _ channel: ChannelName, _ grant: Grant, _ feeds: [FeedStatus]
  ) throws(Refusal) -> DirectoryEntry {
    let feed = feeds.first { $0.venue == venue }
    if let feed, feed.source != .live, !allowsSimulated { throw .simulated }
    guard let entry else { throw feed?.state == .connecting ? .notReady : .unknown }
    guard grant.allows(channel, entry.instrument.symbol) else { throw .forbidden }
    return entry
  }

  /// The venue's spot markets that a grant allows, in the order of their symbols.
  func all(in directory: Directory, _ grant: Grant) -> [DirectoryEntry] {
    let prefix = venue + ":"
    return directory.entries.values
      .filter { entry in
        let instrument = entry.instrument
        return instrument.kind == .spot && instrument.symbol.hasPrefix(prefix) && grant.allows(instrument.symbol)
      }
      .sorted { $0.instrument.symbol < $1.instrument.symbol }
  }

  /// Whether the place may show lists and figures at all.
  func isShown(_ feeds: [FeedStatus]) -> Bool {
    allowsSimulated || (feeds.first { $0.venue == venue }?.source ?? .live) == .live
  }
}

extension DialectMarkets.Refusal {
  var words: String {
    switch self {
    case .unknown: "there is no such market"
    case .notReady: "the venue has not listed its markets yet; try again"
    case .forbidden: "your token does not allow it"
    case .simulated: "the prices are simulated or replayed, which this protocol cannot say (compat.allow-simulated)"
    case .tooMany: "too many subscriptions"
    }
  }
}
