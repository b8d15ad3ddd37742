import MarketData

/// Symbols by exact name (`kraken:BTC-USD`), by venue (`kraken:*`), by instrument over all venues (`*:BTC-USD`), or all
/// (`*`).
package struct SymbolRules: Sendable, Hashable {
  private var isAll = false
  private var names: Set<String> = []
  private var venues: Set<String> = []
  private var instruments: Set<String> = []

  /// Every symbol.
  package static let all = SymbolRules(isAll: true)

  private init(isAll: Bool) { self.isAll = isAll }

  /// - Parameter patterns: none allows nothing.
  /// - Returns: nil if one of them is not a pattern.
  package init?(_ patterns: some Sequence<String>) {
    for pattern in patterns {
      if pattern == "*" {
        isAll = true
        continue
      }
      let parts = pattern.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && ($0 == "*" || !$0.contains("*")) }) else { return nil }
      switch (parts[0], parts[1]) {
      case ("*", "*"): isAll = true
      case ("*", let name): instruments.insert(String(name))
      case (let venue, "*"): venues.insert(String(venue))
      default: names.insert(pattern)
      }
    }
  }

  /// Whether any symbol of this venue is allowed. O(names).
  func covers(venue: String) -> Bool {
    isAll || venues.contains(venue) || !instruments.isEmpty || names.contains { $0.hasPrefix("\(venue):") }
  }

  /// O(length of the symbol).
  package func allows(_ symbol: String) -> Bool {
    if isAll || names.contains(symbol) { return true }
    guard let colon = symbol.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
    return venues.contains(String(symbol[..<colon]))
      || instruments.contains(String(symbol[symbol.index(after: colon)...]))
  }
}

/// A client's rights. A plain value; the gateway knows the key or token behind it.
package struct Grant: Sendable, Equatable {
  /// The holder's name, for logs and counts.
  package var subject: String
  /// The owner whose rules the holder may read and change: `key:desk-1`, `jwt:issuer-a/alice`. Nil: no owner, because
  /// several people may have this grant.
  package var owner: String?
  package var channels: Set<ChannelName>
  /// Each of these must allow a symbol: for example the rules of a token's issuer and those of the token.
  package var symbols: [SymbolRules]
  /// The holder may publish to the topics that each of these allows; empty: to none.
  package var publish: [TopicRules] = []
  /// Limits lower than the general ones; nil: the general ones.
  package var subscriptions: Int?
  package var requestsPerSecond: Int?
  /// The largest number of simultaneous connections of all its holders; counted by the gateway.
  package var connections: Int?
  /// When the grant ends; nil: never.
  package var expires: Timestamp?

  package init(
    subject: String, owner: String? = nil, channels: Set<ChannelName> = Set(ChannelName.allCases),
    symbols: [SymbolRules] = [],
    subscriptions: Int? = nil, requestsPerSecond: Int? = nil, connections: Int? = nil, expires: Timestamp? = nil
  ) {
    self.subject = subject
    self.owner = owner
    self.channels = channels
    self.symbols = symbols
    self.subscriptions = subscriptions
    self.requestsPerSecond = requestsPerSecond
    self.connections = connections
    self.expires = expires
  }

  /// The grant of every client if the gateway requires no token.
  package static let everything = Grant(subject: "", owner: localOwner)
  /// The grant of a page of another site if the gateway requires no token: it owns nothing.
  package static let reader = Grant(subject: "")
  /// The only owner of a gateway that requires no tokens.
  package static let localOwner = "local"
  /// No channel at all.
  static let nothing = Grant(subject: "", channels: [])

  /// Whether every symbol is allowed, so that no symbol needs a check.
  package var allowsAllSymbols: Bool { symbols.allSatisfy { $0 == .all } }
  package func allows(_ symbol: String) -> Bool { symbols.allSatisfy { $0.allows(symbol) } }
  package func mayPublish(to topic: String) -> Bool { !publish.isEmpty && publish.allSatisfy { $0.allows(topic) } }
  /// Identifies the holder's status stream: the rules, or empty if all symbols are allowed.
  var scope: [SymbolRules] { allowsAllSymbols ? [] : symbols }
  package func allows(_ channel: ChannelName, _ symbol: String) -> Bool {
    guard channels.contains(channel) else { return false }
    let facts = channel.facts
    if facts.needsAllSymbols { return allowsAllSymbols }
    return facts.source != .market || allows(symbol)
  }
}

extension [FeedStatus] {
  /// The feeds with symbols that all rules allow, each reduced to these symbols, for heartbeats and the status.
  package func visible(to rules: [SymbolRules]) -> [FeedStatus] {
    if rules.allSatisfy({ $0 == .all }) { return self }
    return filter { feed in rules.allSatisfy { $0.covers(venue: feed.venue) } }.map { feed in
      var feed = feed
      feed.syncing = feed.syncing.filter { entry in rules.allSatisfy { $0.allows(entry.key) } }
      feed.failed = feed.failed.filter { entry in rules.allSatisfy { $0.allows(entry.key) } }
      feed.silent = feed.silent.filter { entry in rules.allSatisfy { $0.allows(entry.key) } }
      return feed
    }
  }
}
