import MarketData
import Portfolio

/// Finds the streams that a request names: in the directory, within the client's grant and limits. What is refused, it
/// explains.
struct SubscriptionResolver {
  /// Failed symbols of one request for which like ones are looked up; the rest get a plain hint.
  private static let nearMatchLimit = 3
  /// Symbols that searches for like ones may look at in a second, of all clients together. One takes under 1 µs.
  private static let nearSearchSymbols = 50_000
  /// The members of all groups of a loop. Clients can think of any number of lists, and each member takes about 1 kB.
  static let groupMembersLimit = 200_000
  /// When a client should retry a symbol whose venue has no list yet. A list usually arrives within a second of the
  /// start.
  private static let listWaitMilliseconds: Int64 = 1_000

  /// Where a stream is published.
  struct Route {
    var loop: Int
    var market: Int
    var instrument: InstrumentID
  }

  /// A stream that a request names.
  struct Match: Equatable {
    var key: StreamKey
    /// The rate class that was asked for.
    var wanted: UInt16
    /// Whether the client has it already.
    var isPresent: Bool
    /// Where the client stopped, if it comes back.
    var position: StreamPosition?
  }

  /// The client as far as it matters here.
  struct Asker {
    var grant: Grant
    /// Subscriptions that it has, and may have.
    var count: Int
    var limit: Int
    /// The slowest rate class forced on it; 0: none.
    var degraded: UInt16
    /// Whether it takes binary records.
    var isBinary = false
    /// The members that new groups of this loop may have.
    var groupRoom = SubscriptionResolver.groupMembersLimit
    /// Lines of the portfolios that it has.
    var portfolioLines = 0
  }

  struct Resolution {
    var matches: [Match] = []
    var failures: [PendingRequest.Failure] = []
    /// What the search has cost, in the unit of `ClientAllowance`.
    var work = 0
  }

  /// What symbols resolve to.
  var directory = Directory()
  /// Lists of symbols and patterns by name, from the configuration.
  var watchlists: [String: [String]] = [:]
  /// Symbols that one request may name; its wildcards may stand for four times as many, whether the client gets them or
  /// not.
  let nameLimit: Int
  private var wildcardLimit: Int { 4 * nameLimit }
  /// Searches for like names: so many a second for all clients, since each looks at every symbol.
  private var nearSearches = ClientAllowance()
  /// Whether an owner keeps a portfolio of an id. The gateway sets it.
  var hasPortfolio: @Sendable (_ id: String, _ owner: String) -> Bool = { _, _ in false }
  /// Why a deck cannot be shown in a zone; nil if it can. The gateway sets it.
  var refuseDeck: @Sendable (_ name: String, _ zone: String) -> ProtocolError? = { name, _ in
    ProtocolError(.unknownDeck, "there is no deck `\(name.prefix(64))`")
  }

  init(nameLimit: Int) { self.nameLimit = nameLimit }

  func route(of key: StreamKey) -> Route? {
    if !key.isOfMarket { return Route(loop: 0, market: 0, instrument: InstrumentID(rawValue: 0)) }
    return directory.entries[key.group.first ?? key.symbol].map {
      Route(loop: $0.loop, market: $0.market, instrument: $0.instrument.id)
    }
  }

  /// The refusal of a request that names more than any client can have.
  func tooManyNames(_ items: [ClientRequest.Item]) -> ProtocolError? {
    let count = items.reduce(0) { $0 + max(1, $1.symbols.count) }
    guard count > nameLimit else { return nil }
    return ProtocolError(
      .outOfRange, "`streams` names \(count) symbols; the limit is \(nameLimit)",
      hint: "split the request, or use a wildcard: \"kraken:*\"")
  }

  /// The class of a subscription, from its requested class and the class to which its client was slowed down.
  static func effectiveInterval(_ wanted: UInt16, _ channel: ChannelName, degraded: UInt16) -> UInt16 {
    guard degraded > wanted, channel.isDegradable else { return wanted }
    return RateClass.interval(for: channel, asked: Int(degraded))
  }

  // MARK: Resolving

  /// One request on its way.
  private struct Search {
    let asker: Asker
    let now: Timestamp
    var result = Resolution()
    /// The item that is looked at.
    var index = 0
    var channelText: String?
    var seen: Set<StreamKey> = []
    var wildcards: Set<StreamKey> = []
    /// Symbols that wildcards stand for, searches for like names, and new subscriptions so far.
    var (examined, lookups, joins) = (0, 0, 0)
    var portfolioLines: Int

    init(for asker: Asker, now: Timestamp) {
      (self.asker, self.now, portfolioLines) = (asker, now, asker.portfolioLines)
    }

    mutating func fail(_ error: ProtocolError, _ symbol: String?) {
      result.failures.append(.init(item: index, channel: channelText, symbol: symbol, error: error))
    }
  }

  /// The streams that the items name, each once, in the order of the request.
  mutating func resolve(
    _ items: [ClientRequest.Item], for asker: Asker, now: Timestamp, isSubscribed: (StreamKey) -> Bool
  ) -> Resolution {
    var search = Search(for: asker, now: now)
    for (index, item) in items.enumerated() {
      (search.index, search.channelText) = (index, item.channelText)
      if let error = item.error ?? Self.forbidden(item.channel, asker.grant) {
        search.fail(error, item.symbols.first)
        continue
      }
      do throws(ProtocolError) {
        let portfolio = try portfolio(of: item, asker.grant)
        if item.isGroup {
          resolve(groupOf: try named(item), &search, isSubscribed)
          continue
        }
        for symbol in item.channel.takesNames ? item.symbols : [""] {
          resolve(symbol, of: item, portfolio, &search, isSubscribed)
        }
      } catch {
        search.fail(error, nil)
      }
    }
    search.result.work += search.joins * ClientAllowance.joinWork + search.examined * ClientAllowance.frameWork
    return search.result
  }

  /// The streams of one symbol, or wildcard, of an item.
  private mutating func resolve(
    _ symbol: String, of item: ClientRequest.Item, _ portfolio: PortfolioSubject?, _ search: inout Search,
    _ isSubscribed: (StreamKey) -> Bool
  ) {
    let isWildcard = symbol.utf8.contains(UInt8(ascii: "*"))
    let grant = search.asker.grant
    var asked = Self.key(of: item, symbol, search.asker)
    asked.setAudience(grant, portfolio)
    // The same one again adds nothing.
    if isWildcard, !search.wildcards.insert(asked).inserted { return }
    if let zone = asked.zone, let error = refuseDeck(symbol, zone) { return search.fail(error, symbol) }
    let known = symbols(of: symbol, item.channel)
    if isWildcard {
      guard search.examined == 0 || search.examined + known.count <= wildcardLimit else {
        return search.fail(tooManyMatches, symbol)
      }
      search.examined += known.count
    }
    let allowed = grant.allowsAllSymbols ? known : known.filter { grant.allows(item.channel, $0) }
    guard !allowed.isEmpty else {
      return search.fail(refusal(of: symbol, item.channel, isKnown: !known.isEmpty, &search), symbol)
    }
    let wanted = RateClass.interval(for: item.channel, asked: item.interval)
    for (index, name) in allowed.enumerated() {
      let key = isWildcard ? asked.named(name) : asked
      guard search.seen.insert(key).inserted else { continue }
      let isPresent = isSubscribed(key)
      if !isPresent {
        let lines = portfolio?.lines ?? 0
        guard portfolio == nil || search.portfolioLines + lines <= StreamLimits.portfolioLines else {
          search.fail(Self.tooManyLines, nil)
          continue
        }
        search.portfolioLines += lines
        guard search.asker.count + search.joins < search.asker.limit else {
          let error = Self.tooManySubscriptions(search.asker.limit, allowed.count - index, of: symbol)
          return search.fail(error, symbol.isEmpty ? nil : symbol)
        }
        search.joins += 1
      }
      search.result.matches.append(
        Match(key: key, wanted: wanted, isPresent: isPresent, position: item.position))
    }
  }

  /// The item with the symbols of its watchlist, if it names one.
  private func named(_ item: ClientRequest.Item) throws(ProtocolError) -> ClientRequest.Item {
    guard let name = item.watchlist else { return item }
    guard let symbols = watchlists[name] else {
      let known = watchlists.keys.sorted().prefix(20).joined(separator: ", ")
      throw ProtocolError(
        .outOfRange, "there is no watchlist `\(name.prefix(64))`", hint: known.isEmpty ? "there are none" : known)
    }
    var named = item
    named.symbols = symbols
    return named
  }

  /// The stream of all symbols of an item: one for each loop that publishes some of them.
  private mutating func resolve(
    groupOf item: ClientRequest.Item, _ search: inout Search, _ isSubscribed: (StreamKey) -> Bool
  ) {
    let grant = search.asker.grant
    var loops: [Int: Set<String>] = [:]
    for symbol in item.symbols {
      let known = symbols(of: symbol, item.channel)
      search.examined += known.count
      guard search.examined <= wildcardLimit else { return search.fail(tooManyMatches, symbol) }
      let allowed = known.filter { grant.allows(item.channel, $0) && directory.entries[$0] != nil }
      guard !allowed.isEmpty else {
        if CompositeSymbol.isOne(symbol), !known.isEmpty {
          search.fail(Self.noGroupOfComposites, symbol)
        } else {
          search.fail(refusal(of: symbol, item.channel, isKnown: !known.isEmpty, &search), symbol)
        }
        continue
      }
      for name in allowed { if let loop = directory.entries[name]?.loop { loops[loop, default: []].insert(name) } }
    }
    let wanted = RateClass.interval(for: item.channel, asked: item.interval)
    var groupMembers = 0
    for (_, members) in loops.sorted(by: { $0.key < $1.key }) {
      let key = Self.key(of: item, "", search.asker).grouped(members.sorted())
      guard search.seen.insert(key).inserted else { continue }
      let isPresent = isSubscribed(key)
      if !isPresent {
        guard search.asker.count + search.joins + key.weight <= search.asker.limit else {
          search.fail(Self.tooManyMembers(search.asker.limit, key.weight), nil)
          continue
        }
        guard groupMembers + key.weight <= search.asker.groupRoom else {
          search.fail(Self.tooManyGroups, nil)
          continue
        }
        groupMembers += key.weight
        search.joins += key.weight
      }
      search.result.matches.append(
        Match(key: key, wanted: wanted, isPresent: isPresent, position: loops.count == 1 ? item.position : nil))
    }
  }

  /// Where each symbol of a group is published; empty for other streams.
  func members(of key: StreamKey) -> [GroupMember] {
    key.group.map { symbol in
      directory.entries[symbol].map { GroupMember(market: $0.market, instrument: $0.instrument.id) }
        ?? GroupMember(market: -1, instrument: InstrumentID(rawValue: 0))
    }
  }

  /// The portfolio that an item asks for; nil if it asks for none.
  private mutating func portfolio(
    of item: ClientRequest.Item, _ grant: Grant
  ) throws(ProtocolError) -> PortfolioSubject? {
    let audience = item.channel.facts.audience
    if audience == .owner, grant.owner == nil { throw Self.nobody }
    if audience == .subject { return try item.portfolio.subject(for: grant, &directory, exists: hasPortfolio) }
    guard item.portfolio.isEmpty else {
      throw ProtocolError(
        .badRequest, "only the channel `portfolio` takes \(PortfolioRequestItem.fields.joined(separator: ", "))")
    }
    return nil
  }

  /// The stream of a symbol that an item asks for.
  static func key(of item: ClientRequest.Item, _ symbol: String, _ asker: Asker) -> StreamKey {
    let wanted = RateClass.interval(for: item.channel, asked: item.interval)
    var key = StreamKey(
      channel: item.channel, symbol: symbol,
      intervalMilliseconds: effectiveInterval(wanted, item.channel, degraded: asker.degraded))
    for parameter in item.channel.facts.parameters { parameter.set(from: item, in: &key) }
    if asker.isBinary { key.setBinary() }
    return key
  }

  /// The symbols that `symbol` stands for, in their order: itself, those of a venue (`kraken:*`), or those of all
  /// venues (`*:BTC-USD`); empty if there are none.
  private mutating func symbols(of symbol: String, _ channel: ChannelName) -> [String] {
    switch channel.facts.names {
    case .nothing: return [""]
    case .topics: return TopicBoard.isName(symbol) ? [symbol] : []
    case .rates: return RateName(symbol) == nil ? [] : [symbol]
    case .decks: return [symbol]
    case .symbols:
      if CompositeSymbol.isOne(symbol) {
        guard channel.isOfComposites, let first = directory.members(ofComposite: symbol).first else { return [] }
        return channel.isOfDerivatives && first.instrument.kind == .spot ? [] : [symbol]
      }
      if directory.entries[symbol] != nil { return hasChannel(symbol, channel) ? [symbol] : [] }
      guard symbol.utf8.contains(UInt8(ascii: "*")) else { return [] }
      let matching = directory.symbols(matching: symbol)
      return channel.isOfDerivatives ? matching.filter { hasChannel($0, channel) } : matching
    }
  }

  /// Whether a listed symbol's kind of market has a channel.
  private func hasChannel(_ symbol: String, _ channel: ChannelName) -> Bool {
    !channel.isOfDerivatives || directory.entries[symbol]?.instrument.kind != .spot
  }

  // MARK: Refusals

  static func spotMarket(_ symbol: String, _ channel: ChannelName) -> ProtocolError {
    ProtocolError(
      .unknownChannel, "`\(symbol.prefix(80))` is a spot market, which has no channel `\(channel.rawValue)`",
      hint: "perpetuals and dated futures have it: GET /v1/instruments shows the `kind`")
  }

  private static let nobody = ProtocolError(
    .forbidden, "your token does not say who you are, so you have no alerts",
    hint: "use a key of your own, or a token with a `sub`")

  private static let tooManyLines = ProtocolError(
    .tooManySubscriptions,
    "a client's portfolios have at most \(StreamLimits.portfolioLines) holdings and positions",
    hint: "a stored portfolio counts as \(PortfolioContents.holdingLimit); unsubscribe from others first")

  private static let noGroupOfComposites = ProtocolError(
    .badRequest, "a composite market cannot be a member of a group", hint: "subscribe to it alone")

  private static let tooManyGroups = ProtocolError(
    .tooManySubscriptions, "the gateway has too many different groups",
    hint: "subscribe to each symbol alone, or to a list that others have, too")

  private static func tooManyMembers(_ limit: Int, _ count: Int) -> ProtocolError {
    ProtocolError(
      .tooManySubscriptions,
      "a client may have \(limit) subscriptions; a group counts as its members, and \(count) would be too many",
      hint: "unsubscribe from others first, or open a second connection")
  }

  private static func noTopic(_ name: String) -> ProtocolError {
    ProtocolError(
      .outOfRange, "`\(name.prefix(80))` is not a topic name", hint: "1 to 64 letters of a-z 0-9 . _ -")
  }

  private static func tooManySubscriptions(_ limit: Int, _ count: Int, of symbol: String) -> ProtocolError {
    ProtocolError(
      .tooManySubscriptions,
      "a client may have \(limit) subscriptions; \(count) of `\(symbol)` would be too many",
      hint: "unsubscribe from others first, or open a second connection")
  }

  private var tooManyMatches: ProtocolError {
    ProtocolError(
      .outOfRange, "the wildcards of this request stand for more than \(wildcardLimit) symbols",
      hint: "split the request")
  }

  /// The refusal of a channel that the grant does not allow; nil if it does.
  private static func forbidden(_ channel: ChannelName, _ grant: Grant) -> ProtocolError? {
    guard !grant.channels.contains(channel) else { return nil }
    return ProtocolError(
      .forbidden, "your token does not allow the channel `\(channel.rawValue)`",
      hint: grant.channels.isEmpty
        ? "it allows none" : "it allows \(grant.channels.map(\.rawValue).sorted().joined(separator: ", "))")
  }

  /// Why the client gets no stream of a symbol.
  /// - Parameter isKnown: whether there are streams of it.
  private mutating func refusal(
    of symbol: String, _ channel: ChannelName, isKnown: Bool, _ search: inout Search
  ) -> ProtocolError {
    let names = channel.facts.names
    if names == .topics { return Self.noTopic(symbol) }
    if names == .rates { return isKnown ? Self.noConversions : Self.noRate(symbol) }
    if isKnown {
      return ProtocolError(
        .forbidden, "your token does not allow `\(symbol.prefix(80))`",
        hint: "GET /v1/instruments lists what it allows")
    }
    if directory.entries[symbol] != nil { return Self.spotMarket(symbol, channel) }
    if let error = explainComposite(symbol, channel) ?? notReady(symbol) { return error }
    search.lookups += 1
    let looksUp = search.lookups <= Self.nearMatchLimit && maySearch(work: &search.result.work, now: search.now)
    return unknownSymbol(symbol, looksUp: looksUp)
  }

  /// What to say of a symbol of a venue whose list has not come since the gateway started; nil if it has, or if there
  /// is no such venue. Clients that come back at once after a restart are there before it.
  mutating func notReady(_ symbol: String) -> ProtocolError? {
    guard let colon = symbol.firstIndex(of: ":") else { return nil }
    let venue = symbol[..<colon]
    guard venue == "*" ? !directory.venues.isEmpty : directory.venues.contains(String(venue)) else { return nil }
    let isListed = venue == "*" ? !directory.entries.isEmpty : directory.hasInstruments(of: venue)
    guard !isListed else { return nil }
    var error = ProtocolError(
      .notReady, venue == "*" ? "no venue has listed its markets yet" : "\(venue) has not listed its markets yet",
      hint: "subscribe again in a second")
    error.retry = true
    error.retryAfterMilliseconds = Self.listWaitMilliseconds
    return error
  }

  /// Whether symbols like an unknown one may be looked for: that looks at all there are.
  private mutating func maySearch(work: inout Int, now: Timestamp) -> Bool {
    let count = directory.entries.count
    let perSecond = min(max(Self.nearSearchSymbols / max(1, count), 2), 100)
    guard nearSearches.takeRequest(perSecond: perSecond, now: now) == 0 else { return false }
    work += count * ClientAllowance.frameWork
    return true
  }

  /// `btc/usd` as a symbol writes it: `BTC-USD`.
  private static func asWritten(_ name: some StringProtocol) -> String {
    String(name.uppercased().map { "/_".contains($0) ? "-" : $0 })
  }

  mutating func unknownSymbol(_ symbol: String, looksUp: Bool) -> ProtocolError {
    let shown = String(symbol.prefix(80))
    guard let colon = shown.firstIndex(of: ":") else {
      let name = Self.asWritten(shown)
      let near = directory.venues.sorted().map { "\($0):\(name)" }.filter { directory.entries[$0] != nil }.prefix(3)
      let guess = near.isEmpty ? "" : "did you mean \(near.joined(separator: ", "))? "
      return ProtocolError(
        .unknownSymbol, "`\(shown)` is not a symbol",
        hint: guess + "a symbol is venue:BASE-QUOTE, as in kraken:BTC-USD")
    }
    let venue = String(shown[..<colon])
    let name = shown[shown.index(after: colon)...]
    // A symbol that is only written another way is found at once, however many there are.
    let written = "\(venue.lowercased()):\(Self.asWritten(name))"
    let near =
      written != shown && !symbols(of: written, .quote).isEmpty
      ? [written] : looksUp ? NearNames.of(shown, among: directory.entries.keys, limit: 3) : []
    let guess = near.isEmpty ? "" : "did you mean \(near.joined(separator: ", "))? "
    guard venue == "*" || directory.venues.contains(venue) else {
      return ProtocolError(
        .unknownSymbol, "there is no venue `\(venue)`",
        hint: guess + "venues: \(directory.venues.sorted().joined(separator: ", "))")
    }
    return ProtocolError(
      .unknownSymbol, venue == "*" ? "no venue has \(name)" : "\(venue) has no \(name)",
      hint: guess + (venue == "*" ? "GET /v1/instruments" : "GET /v1/instruments?venue=\(venue)"))
  }
}
