import Bytes
import MarketData

/// Kraken spot, WebSocket v2: instruments, books with checksums, trades and statistics on one connection without a key.
///
/// On connecting it subscribes `instrument`; when that snapshot has said what the pairs are, `book`, `trade` and `ticker` of
/// the configured ones. The book is subscribed at depth 100: the deepest that still costs little (a snapshot of 9 KB a symbol,
/// against 90 KB at 1,000) and ten times what the checksum covers, so that what clients see is what was verified.
package final class KrakenHandler: SymbolHandler {
  /// The depth that is subscribed. The book must be cut to the one that is acknowledged, which is this one or, in what others have
  /// recorded, theirs: Kraken sends no removal for levels that fall out of it.
  static let bookDepth = 100
  /// Quiet time after which a ping is sent. Kraken closes after about a minute without a word from either side.
  static let pingAfter = 25 * Microseconds.second
  /// How long the instrument list may take before it is asked for again.
  static let instrumentTimeout = 15 * Microseconds.second

  package static let venue = Venue(
    name: "kraken", title: "Kraken", separator: "/", endpoint: "wss://ws.kraken.com/v2",
    restEndpoint: "https://api.kraken.com",
    // A heartbeat comes every second in which there was nothing else.
    cadence: .promised("heartbeat", every: Microseconds.second),
    // The instrument snapshot is the largest message: some 1,500 pairs and 600 assets, under 1 MB.
    messageLimit: 8 << 20, symbolLimit: 200,
    // About 150 attempts in 10 minutes from one address, else it is banned for as long.
    connectLimit: ConnectLimit(count: 150, interval: 10 * Microseconds.minute),
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: bookDepth, checksum: { book, _, _ in KrakenChecksum.checksum(of: book) }),
    profile: VenueProfile(
      channels: [
        .init("instrument", .instruments), .init("book", .book, silence: .linked, .contradicted),
        .init("trade", .trades, silence: .linked), .init("ticker", .ticker),
      ],
      bookDepth: bookDepth, bookCheck: "CRC-32 of the top ten levels after every message",
      requests: [.volumes],
      limits: ["one subscription frame for all symbols; after a refusal for the rate, waits of 5 s to 1 min"]),
    replay: replay,
    makeHandler: { KrakenHandler(configuration: $0) })

  var books: [StreamedBook] = []
  /// Newest trade number per instrument, 0 before the first.
  var lastTrades: [Int64] = []
  private var isConnected = false
  private var instrumentsDue: Timestamp?
  private var hasInstruments = false
  private var hasAllVolumes = false
  /// By the names of REST (`XXBTZUSD`) those of the feed (`BTC/USD`), while volumes are being read.
  var restNames: [String: String] = [:]
  private var lastSent = Timestamp.distantPast
  private var inMaintenance = false
  /// After "Exceeded msg rate" nothing is subscribed before this time.
  private var quietUntil = Timestamp.distantPast
  private var rateBackoff = Backoff(first: 5 * Microseconds.second, limit: Microseconds.minute)
  /// What the entries of the message being read come to; done when all of it has been read.
  var commits: [KrakenCommit] = []

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  /// Pairs come in the stream; only their 24 h volumes have to be asked for before.
  package override var isPrepared: Bool { hasAllVolumes || !marketList.wantsVolumes }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) { hasAllVolumes = hasVolumes(now: now) }

  /// The figures are by the names of REST, which the list of pairs tells first.
  override var volumeRequests: [String] { ["/0/public/AssetPairs", "/0/public/Ticker"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readFigures(body, isNames: index == 0, into: &volumes)
  }

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    hasInstruments = false
    subscribeInstruments(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    instrumentsDue = nil
    hasAllVolumes = false
    for place in books.indices { books[place].disconnected() }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else {
      if !isPrepared { prepare(now: now, into: &batch) }
      return
    }
    if let due = instrumentsDue, now >= due { subscribeInstruments(now) }
    if now >= quietUntil {
      let due = books.indices.filter { books[$0].isDue(now: now) }
      if !due.isEmpty {
        send(KrakenRequest.book(.unsubscribe, symbols(due), id: nextID()), now)
        subscribeBooks(due, now)
      }
    }
    if now - lastSent >= Self.pingAfter { send(KrakenRequest.ping(id: nextID()), now) }
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { books[place].trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, books.indices.contains(instrument.index), books[instrument.index].resync(now: now) else {
      return
    }
    tick(now: now, into: &batch)
  }

  // MARK: Subscriptions

  private func subscribeInstruments(_ now: Timestamp) {
    send(KrakenRequest.instruments(id: nextID()), now)
    instrumentsDue = now + Self.instrumentTimeout
  }

  private func subscribeBooks(_ places: [Int], _ now: Timestamp) {
    send(KrakenRequest.book(.subscribe, symbols(places), id: nextID()), now)
    for place in places { books[place].subscribed(now: now) }
  }

  private func symbols(_ places: [Int]) -> [String] { places.map { instruments[$0].venueSymbol } }

  private func nextID() -> Int {
    requestID += 1
    return requestID
  }

  private func send(_ text: String, _ now: Timestamp) {
    actions.append(.send(text))
    lastSent = now
  }

  /// The instrument snapshot has come: what is configured and not subscribed is subscribed.
  func received(_ markets: [ListedMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasInstruments else { return }
    hasInstruments = true
    instrumentsDue = nil
    let carried = carry(markets, into: &batch)
    while books.count < instruments.count {
      books.append(StreamedBook())
      lastTrades.append(0)
    }
    // When the list has been asked for again, those that are subscribed go on as they are.
    let places = books.indices.filter { carried.contains($0) && books[$0].state == .unsubscribed }
    guard !places.isEmpty, isConnected else { return }
    subscribeBooks(places, now)
    send(KrakenRequest.trades(symbols(places), id: nextID()), now)
    send(KrakenRequest.ticker(symbols(places), id: nextID()), now)
  }

  override func isLive(_ place: Int) -> Bool { books[place].isLive }

  override func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    // REST and v1 still say XBT and XDG; v2 says BTC and DOGE.
    let names = ["XBT": "BTC", "XDG": "DOGE"]
    let known = FeedSymbol(base: names[wanted.base] ?? wanted.base, quote: names[wanted.quote] ?? wanted.quote)
    guard known != wanted, markets.contains(where: { $0.symbol == known }) else {
      return super.unlisted(wanted, among: markets)
    }
    return "Kraken's feed calls \(wanted.text) \(known.text): write that"
  }

  override var asksAgain: Bool { true }

  /// The list comes once, with its subscription.
  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    guard isConnected, hasInstruments, now >= quietUntil else { return }
    hasInstruments = false
    send(KrakenRequest.instruments(.unsubscribe, id: nextID()), now)
    subscribeInstruments(now)
  }

  // MARK: Replies

  /// A subscription was refused. `symbol` is the venue's.
  func refusedSubscription(_ reason: String, symbol: String?, method: String, now: Timestamp) throws(FeedError) {
    if reason.contains("rate") {
      quietUntil = now + rateBackoff.next()
      throw FeedError(.refused, "\(method): \(reason); waiting before the next subscription")
    }
    if method == "subscribe", let symbol, !reason.lowercased().contains("already subscribed") {
      var bytes = symbol
      let place = bytes.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
      if place >= 0 {
        refuse("\(instruments[place].base)-\(instruments[place].quote)", reason)
        books[place].disconnected()
        return
      }
    }
    throw FeedError(.refused, "\(method) \(symbol ?? ""): \(reason)")
  }

  func acknowledged() { rateBackoff.reset() }

  /// A book was subscribed at `depth`.
  func acknowledgedBook(_ symbol: String, depth: Int64, into batch: inout EventBatch) {
    var symbol = symbol
    let place = symbol.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
    guard place >= 0, (1...Int64(Market.defaultDepthLimit)).contains(depth) else { return }
    batch.events.append(.bookDepth(InstrumentID(place), levels: Int(depth)))
  }

  func status(_ system: String) {
    let now = system == "maintenance"
    guard now != inMaintenance else { return }
    inMaintenance = now
    actions.append(.maintenance(now))
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    commits.removeAll(keepingCapacity: true)
    try readMessage(message, now: now, into: &batch)
    for commit in commits {
      switch commit {
      case .snapshot(let place, let bids, let asks):
        seen[place].snapshots += 1
        books[place].snapshotArrived(now: now)
        note(place, batch.bids[bids])
        note(place, batch.asks[asks])
      case .delta(let place, let bids, let asks):
        seen[place].deltas += 1
        note(place, batch.bids[bids])
        note(place, batch.asks[asks])
      case .ignoredDelta(let place):
        seen[place].deltas += 1
      case .trade(let place, let id, let isBacklog):
        if isBacklog {
          seen[place].backlogTrades += 1
        } else {
          seen[place].trades += 1
          // One sequence per book: a jump means trades that never came.
          seen[place].missedTrades &+= TradeSequence.missed(after: lastTrades[place], before: id)
        }
        lastTrades[place] = max(lastTrades[place], id)
      }
    }
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    // Only a book loses something by a message that could not be read.
    guard Salvage.contains(message, "\"book\"") else { return }
    for place in Salvage.symbols(message, key: "\"symbol\"", in: table) where books[place].resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
    }
    tick(now: now, into: &batch)
  }
}

/// What an entry of a message does to the handler once the whole message has been read.
enum KrakenCommit {
  case snapshot(Int, bids: Range<Int>, asks: Range<Int>)
  case delta(Int, bids: Range<Int>, asks: Range<Int>)
  case ignoredDelta(Int)
  case trade(Int, id: Int64, isBacklog: Bool)
}
