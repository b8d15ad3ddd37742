import MarketData

/// The lists of a connection: how the venue's is asked for, by REST or in the stream, what of it is wanted, and which
/// symbols it does not have.
///
/// | value | what it knows |
/// |---|---|
/// | `MarketList` | what is configured, the selections, the 24 h volumes, the list where it is shown |
/// | `ListRequest`, `ListPages` | the list by REST, in parts that follow each other |
/// | `StreamedParts` | the list in the stream |
/// | `InstrumentLists` | the details of single markets, where the list has names only |
/// | `RefusedSymbols` | which configured symbols cannot be followed |
struct MarketLists {
  var market: MarketList
  var request: ListRequest
  var pages = ListPages()
  var streamed: StreamedParts
  /// Nil where the list says it all.
  var details: InstrumentLists?
  var refused = RefusedSymbols()
  /// Whether the volumes are there that a list in the stream is asked for behind.
  var hasAllVolumes = false

  init(_ facts: DialectFacts, _ configuration: FeedConfiguration, limit: Int) {
    market = MarketList(configuration, limit: limit)
    request = ListRequest(banPause: facts.list?.banPause)
    streamed = StreamedParts(facts.streamedList)
    details = (facts.list?.perMarket).map { InstrumentLists($0, connections: configuration.connections) }
  }

  /// What is asked for of the list.
  func query(_ families: Set<Instrument.Kind.Family>) -> ListQuery {
    // A rank needs volumes however long they take; what is to be shown only is shown without.
    let wantsVolumes = market.isRanked || streamed.attempts < MarketList.attemptLimit
    return ListQuery(
      symbols: market.named.compactMap(FeedSymbol.init), isWhole: market.isWanted, families: families,
      wantsVolumes: market.wantsVolumes && wantsVolumes, isOtherWay: pages.isOtherWay, part: pages.count,
      cursor: pages.cursor)
  }

  /// A request for the list failed: it is asked for again later, from its first part, in the other way if that is what
  /// the status says.
  mutating func failed(_ status: AnswerStatus, _ list: MarketListing?, now: Timestamp) {
    request.failed(status: status.code, retryAfter: status.retryAfter, now: now)
    pages.restart()
    if list?.otherWayAfter.contains(status.code) ?? false { pages.isOtherWay.toggle() }
  }

  mutating func disconnected() {
    streamed.disconnected()
    hasAllVolumes = false
    request.restart()
    pages.restart()
    details?.disconnected()
  }
}

/// The parts of a list that have come by REST.
struct ListPages {
  private(set) var markets: [ListedMarket] = []
  private(set) var names: Set<String> = []
  private(set) var count = 0
  private(set) var cursor: String?
  /// Whether the list is asked for in its other way.
  var isOtherWay = false

  /// Takes a part of the list; true if its cursor stays where it is: it would be followed for ever.
  mutating func append(_ page: ListPage) -> Bool {
    markets += page.markets
    names.formUnion(page.names)
    count += 1
    defer { cursor = page.cursor }
    return page.cursor != nil && page.cursor == cursor
  }

  mutating func restart() { self = ListPages(isOtherWay: isOtherWay) }

  private init(isOtherWay: Bool) { self.isOtherWay = isOtherWay }
  init() {}
}
