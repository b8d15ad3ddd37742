import Bytes
import MarketData

/// Bybit v5: spot, and linear perpetuals and futures (settled in USDT or USDC), without a key.
///
/// A venue with two connections, as one socket carries one family of markets. Instruments come by REST before the
/// connection, then `orderbook.200` (a snapshot in the stream, then changes every 100 ms), `orderbook.1` as quotes
/// (10 ms, and again every 3 s when nothing changed), `publicTrade` and `tickers`. Sizes of linear contracts are in
/// base units already.
///
/// Books have no checksum. `u` rises by one with every message, which was measured over 100,000 of them and is
/// documented for the full book only; so a jump costs the book a new subscription and nothing else.
package final class BybitHandler: SymbolHandler {
  /// Levels a side that are subscribed; those that fall out of the window come as removals.
  static let bookTopic = "orderbook.200."
  static let quoteTopic = "orderbook.1."
  /// Quiet time on the client's side after which a ping is sent: every 20 s by the documentation.
  static let pingAfter = 20 * Microseconds.second
  /// Pages of the instrument list: some 700 linear contracts are one page of 1,000 and part of another.
  static let pageLimit = 20
  /// Subscriptions sent in one go, and the time between two goes. 200 at once have been taken; nothing promises it.
  static let requestsAtOnce = 10
  static let requestInterval = 100 * Microseconds.millisecond

  static let spot: Venue = connection("spot", kinds: [.spot])
  static let linear: Venue = connection("linear", kinds: [.perpetual, .future])
  package static let venue = Venue(title: "Bybit", parts: [spot, linear], replay: replay)

  private static func connection(_ part: String, kinds: Set<Instrument.Kind.Family>) -> Venue {
    Venue(
      name: "bybit", title: "Bybit \(part)", separator: "", endpoint: "wss://stream.bybit.com/v5/public/\(part)",
      restEndpoint: "https://api.bybit.com",
      // `orderbook.1` is sent again after 3 s without a change, and pings are answered.
      cadence: .promised("orderbook.1", every: 3 * Microseconds.second),
      // The largest is a message of 1,024 trades: about 200 KB.
      messageLimit: 2 << 20,
      // 21,000 characters of topics a connection: four topics of a symbol are about 100.
      symbolLimit: 150, kinds: kinds, part: part,
      // 500 connections in 5 minutes from one address.
      connectLimit: ConnectLimit(count: 500, interval: 5 * Microseconds.minute),
      market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 1_000, checksum: nil),
      profile: VenueProfile(
        channels: [
          .init("orderbook.200", .book, silence: .linked, .contradicted),
          .init("orderbook.1", .quote, silence: .atLeast(every: 3 * Microseconds.second)),
          .init("publicTrade", .trades), .init("tickers", .ticker),
        ],
        bookDepth: 200, bookCheck: "u rises by one with every update",
        requests: [.instruments, .volumes],
        limits: ["21,000 characters of topics a connection", "10 topics a request on spot"]),
      makeHandler: { BybitHandler(part: part, configuration: $0) })
  }

  struct Feed {
    var book = StreamedBook()
    /// `u` of the newest book message; 0 before the first snapshot.
    var last: Int64 = 0
    var quote: Quote?
    /// `orderbook.1` is sent again after 3 s without a change.
    var quotes = SilenceWatch(every: 3 * Microseconds.second)
    var ticker: Ticker?
  }

  /// The beginning or the end of some of a symbol's topics.
  struct Request: RepeatedRequest {
    var place: Int
    var topics: [String]
    var isEnd = false
    var attempts = 0
    var refusals = 0
    var hasBook: Bool { topics.contains { $0.hasPrefix(BybitHandler.bookTopic) } }
  }

  let part: String
  var feeds: [Feed] = []
  private var listed: [ListedMarket] = []
  private var pages = 0
  private var cursor = ""
  private var isConnected = false
  /// Of a symbol there is one request, two for its book or its quote when that is subscribed again, and one for each
  /// topic that is refused.
  private var outbox = RequestOutbox<Request>(atOnce: requestsAtOnce, every: requestInterval, limit: 1_024)
  private var lastPing = Timestamp.distantPast

  init(part: String, configuration: FeedConfiguration) {
    self.part = part
    super.init(venue: part == "spot" ? Self.spot : Self.linear, configuration: configuration)
    // 403 is "access too frequent", for ten minutes.
    listRequest = ListRequest(banPause: 10 * Microseconds.minute)
  }

  // MARK: Instruments

  override var listPath: String? {
    var path = "/v5/market/instruments-info?category=\(part)"
    // Spot has no pages; elsewhere one is 1,000 instruments, about 1 MB.
    if part != "spot" { path += "&limit=1000" }
    if !cursor.isEmpty { path += "&cursor=" + URLText.percentEncoded(cursor) }
    return path
  }

  override func hasListed(now: Timestamp) {
    if isConnected { subscribe(feeds.indices.filter { feeds[$0].book.state == .unsubscribed }, now) }
  }

  /// A page has not come: all of them again.
  override func listFailed(status: Int) { restartList() }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    let page = try readMarkets(body)
    listed += page.markets
    pages += 1
    // A cursor that does not end is not followed for ever.
    guard page.cursor.isEmpty || page.cursor == cursor || pages >= Self.pageLimit else {
      cursor = page.cursor
      return false
    }
    carry(listed, into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed()) }
    restartList()
    return true
  }

  private func restartList() {
    listed = []
    pages = 0
    cursor = ""
  }

  override func isLive(_ place: Int) -> Bool { feeds[place].book.isLive }

  override var volumeRequests: [String] { ["/v5/market/tickers?category=\(part)"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    lastPing = now
    // One request for each symbol: one bad topic refuses the whole request it is in, and spot takes ten topics at most.
    subscribe(Array(feeds.indices), now)
    flush(now)
  }

  /// What is sent again is the symbols'.
  package override var expectsMarket: Bool { feeds.contains { $0.book.state != .unsubscribed } }

  private func subscribe(_ places: [Int], _ now: Timestamp) {
    for place in places {
      let topics = [Self.bookTopic, Self.quoteTopic, "publicTrade.", "tickers."].map { $0 + name(place) }
      outbox.append(Request(place: place, topics: topics))
      feeds[place].book.subscribed(now: now)
    }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    restartList()
    outbox.removeAll()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].last = 0
      feeds[place].quote = nil
      feeds[place].quotes.disconnected()
      feeds[place].ticker = nil
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    for place in feeds.indices where feeds[place].book.isDue(now: now) {
      renew(place, Self.bookTopic + name(place))
      feeds[place].book.subscribed(now: now)
    }
    for place in feeds.indices where feeds[place].quotes.isDead(now: now, connectionHeard: marketHeard) {
      renew(place, Self.quoteTopic + name(place))
    }
    repeatUnanswered(of: &outbox, now: now) {
      $0.topics.joined(separator: " ")
    } isMoot: {
      isMoot(&$0, now)
    }
    if now - lastPing >= Self.pingAfter {
      lastPing = now
      requestID += 1
      actions.append(.send(#"{"req_id":"\#(requestID)","op":"ping"}"#))
    }
    flush(now)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.resync(now: now) else {
      return
    }
    tick(now: now, into: &batch)
  }

  func name(_ place: Int) -> String { instruments[place].venueSymbol }

  /// Ends the subscription of a topic and begins it again.
  private func renew(_ place: Int, _ topic: String) {
    outbox.append(
      together: Request(place: place, topics: [topic], isEnd: true), Request(place: place, topics: [topic]))
  }

  /// Whether a request that was not answered need not be sent again. Its book, if it has one, asks again by itself
  /// until its data comes.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    let book = feeds[request.place].book
    guard book.state != .unsubscribed else { return true }
    if request.hasBook {
      // One request for all: what has come of the book was subscribed with the rest.
      if book.isLive { return true }
      unanswered(book.silentAttempts, request.topics.joined(separator: " "), now: now)
      request.topics.removeAll { $0.hasPrefix(Self.bookTopic) }
    }
    return request.topics.isEmpty
  }

  private func flush(_ now: Timestamp) {
    for request in outbox.take(now: now) {
      // The symbol has been refused since.
      if feeds[request.place].book.state == .unsubscribed { continue }
      requestID += 1
      let operation = request.isEnd ? "unsubscribe" : "subscribe"
      let topics = JSONText.array(request.topics)
      actions.append(.send(#"{"req_id":"\#(requestID)","op":"\#(operation)","args":\#(topics)}"#))
      if !request.isEnd { outbox.sent(request, as: requestID, now: now) }
    }
  }

  // MARK: Replies

  /// `{"success":…,"ret_msg":…,"req_id":…,"op":…}`
  func replied(_ reply: BybitReply, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    isAnswer = true
    let request = reply.id.flatMap { outbox.answered($0) }
    if reply.isPong {
      batch.events.append(.heartbeat)
      return
    }
    guard !reply.succeeded else { return }
    guard let request else { throw FeedError(.refused, "\(reply.operation): \(reply.message)") }
    if reply.message.contains("already subscribed") {
      // The other topics of the request were refused with the one that is there already, which goes on.
      let rest = request.topics.filter { !reply.message.hasSuffix("topic:" + $0) }
      if rest.count < request.topics.count, !rest.isEmpty {
        outbox.append(Request(place: request.place, topics: rest))
        flush(now)
      }
      return
    }
    let bad = request.topics.filter { Self.names(reply.message, $0) }
    let isOfBook = request.hasBook && (bad.isEmpty || bad.contains { $0.hasPrefix(Self.bookTopic) })
    if isOfBook, !feeds[request.place].book.isLive {
      feeds[request.place].book.disconnected()
      feeds[request.place].quotes.disconnected()
      return refuse(configuredName(request.place), reply.message)
    }
    if !isOfBook {
      // One bad topic refuses all: the rest goes on without it.
      var refused = request
      if !bad.isEmpty, bad.count < request.topics.count {
        outbox.append(Request(place: request.place, topics: request.topics.filter { !bad.contains($0) }))
        refused.topics = bad
      }
      askLater(refused, in: &outbox, now: now)
      flush(now)
    }
    throw FeedError(.refused, "subscribe \(request.topics.joined(separator: " ")): \(reply.message)")
  }

  /// Whether `topic` stands in `text` by itself: `tickers.BTCUSDT` does not stand in `tickers.BTCUSDTX`.
  private static func names(_ text: String, _ topic: String) -> Bool {
    guard let range = text.firstRange(of: topic) else { return false }
    guard range.upperBound < text.endIndex else { return true }
    let next = text[range.upperBound]
    return !next.isLetter && !next.isNumber && next != "-"
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"orderbook.") else { return }
    for place in Salvage.symbols(message, key: "\"s\"", in: table) where feeds[place].book.resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
    }
    tick(now: now, into: &batch)
  }
}

/// The answer to a request.
struct BybitReply {
  var succeeded = true
  var message = ""
  var id: Int?
  var operation = "request"
  var isPong = false
}
