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

  /// The beginning or the end of one channel of some pairs. It is answered for each pair.
  struct Request: SymbolRequest, RepeatedRequest {
    var channel: Channel
    var places: [Int]
    var isEnd = false
    var attempts = 0
    var refusals = 0
  }

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
  /// What is sent in one go is one frame for each channel. Of a pair there are three requests, two for its book when that is subscribed
  /// again, and one for each channel that is refused. After "Exceeded msg rate" it pauses.
  private var outbox = RequestOutbox<Request>(atOnce: 1_024, every: 0, limit: 2_048)
  /// Times that the list was asked for and did not come.
  private var listAttempts = 0
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
    listAttempts = 0
    subscribeInstruments(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    instrumentsDue = nil
    hasAllVolumes = false
    outbox.removeAll()
    for place in books.indices { books[place].disconnected() }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else {
      if !isPrepared { prepare(now: now, into: &batch) }
      return
    }
    if let due = instrumentsDue, now >= due {
      listAttempts += 1
      unanswered(listAttempts, "instrument", now: now)
      subscribeInstruments(now)
    }
    if outbox.isOpen(at: now) {
      let due = books.indices.filter { books[$0].isDue(now: now) }
      if !due.isEmpty {
        for place in due { books[place].queued(now: now) }
        outbox.append(
          together: Request(channel: .book, places: due, isEnd: true), Request(channel: .book, places: due))
      }
    }
    repeatUnanswered(of: &outbox, now: now) {
      "\($0.channel) of \(symbols($0.places).joined(separator: " "))"
    } isMoot: {
      isMoot(&$0, now)
    }
    flush(now)
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

  /// Sends what waits, each channel of all pairs in one frame: a burst of frames trips the venue's limit.
  private func flush(_ now: Timestamp) {
    var frames: [Request] = []
    for request in outbox.take(now: now) {
      if let last = frames.lastIndex(where: { $0.channel == request.channel }), frames[last].isEnd == request.isEnd {
        frames[last].places += request.places.filter { !frames[last].places.contains($0) }
        frames[last].attempts = max(frames[last].attempts, request.attempts)
        frames[last].refusals = max(frames[last].refusals, request.refusals)
      } else {
        frames.append(request)
      }
    }
    for frame in frames { send(frame, now) }
  }

  private func send(_ request: Request, _ now: Timestamp) {
    var request = request
    // A book whose snapshot has come after all is left as it is, and of a pair that was refused nothing is asked for.
    request.places.removeAll {
      request.channel == .book ? !books[$0].isQueued : books[$0].state == .unsubscribed
    }
    guard !request.places.isEmpty else { return }
    let id = nextID()
    let names = symbols(request.places)
    switch request.channel {
    case .trade: send(KrakenRequest.trades(names, id: id), now)
    case .ticker: send(KrakenRequest.ticker(names, id: id), now)
    default: send(KrakenRequest.book(request.isEnd ? .unsubscribe : .subscribe, names, id: id), now)
    }
    guard !request.isEnd else { return }
    outbox.sent(request, as: id, now: now)
    if request.channel == .book { for place in request.places { books[place].subscribed(now: now) } }
  }

  /// Whether a request that was not answered need not be sent again.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    request.places.removeAll { books[$0].state == .unsubscribed }
    guard request.channel == .book else { return request.places.isEmpty }
    // A book asks again by itself, until its data comes.
    let silent = request.places.filter { !books[$0].isLive }
    if let attempts = silent.map({ books[$0].silentAttempts }).max() {
      unanswered(attempts, "book of \(symbols(silent).joined(separator: " "))", now: now)
    }
    return true
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
    for place in places { books[place].queued(now: now) }
    for channel in [Channel.book, .trade, .ticker] { outbox.append(Request(channel: channel, places: places)) }
    flush(now)
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
    guard isConnected, hasInstruments, outbox.isOpen(at: now) else { return }
    hasInstruments = false
    send(KrakenRequest.instruments(.unsubscribe, id: nextID()), now)
    subscribeInstruments(now)
  }

  // MARK: Replies

  private func place(of symbol: String?) -> Int? {
    guard var symbol else { return nil }
    let place = symbol.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
    return place >= 0 ? place : nil
  }

  /// A subscription was refused. `symbol` is the venue's. It belongs to the channel and the pair of its request and touches nothing else.
  func refusedSubscription(
    _ reason: String, symbol: String?, method: String, id: Int?, now: Timestamp
  ) throws(FeedError) {
    let place = place(of: symbol)
    let request =
      method == "subscribe" ? place.map { outbox.answered(id, place: $0) } ?? id.flatMap { outbox.answered($0) } : nil
    let isRate = reason.contains("rate")
    if isRate { outbox.pause(until: now + rateBackoff.next()) }
    let words = FeedError(
      .refused, "\(method) \(request.map { "\($0.channel) " } ?? "")\(symbol ?? ""): \(reason)")
    guard let request else { throw words }
    if isRate {
      // The same again, as soon as it may be.
      if request.channel == .book { for place in request.places { books[place].queued(now: now) } }
      outbox.append(request)
      throw words
    }
    if reason.lowercased().contains("already subscribed") {
      // A book's new snapshot is what it lacks then, which it asks for by itself.
      if request.channel == .book { throw words }
      return
    }
    guard request.channel == .book else {
      // Where the pair itself is refused, its book says so.
      askLater(request, in: &outbox, now: now)
      throw words
    }
    for place in request.places where !books[place].isLive {
      refuse(configuredName(place), reason)
      books[place].disconnected()
    }
  }

  /// A request for one pair was carried out, or, where there is none, an end or a ping.
  func acknowledged(_ channel: Channel?, symbol: String?, id: Int?) {
    rateBackoff.reset()
    guard let channel, let place = place(of: symbol) else { return }
    _ = outbox.answered(id, place: place) { $0.channel == channel }
  }

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
