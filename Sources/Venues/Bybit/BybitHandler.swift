import Bytes
import MarketData

/// Bybit v5: spot, and linear perpetuals and futures (settled in USDT or USDC), without a key.
///
/// A venue with two connections, as one socket carries one family of markets. Instruments come by REST before the connection, then
/// `orderbook.200` (a snapshot in the stream, then changes every 100 ms), `orderbook.1` as quotes (10 ms, and again every
/// 3 s when nothing changed), `publicTrade` and `tickers`. Sizes of linear contracts are in base units already.
///
/// Books have no checksum. `u` rises by one with every message, which was measured over 100,000 of them and is documented for the
/// full book only; so a jump costs the book a new subscription and nothing else.
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

  /// A subscription under way, by its number, for a refusal that names no symbol.
  private struct Request {
    var place: Int
    var topics: [String]
  }

  let part: String
  var feeds: [Feed] = []
  private var listed: [ListedMarket] = []
  private var pages = 0
  private var cursor = ""
  private var isConnected = false
  private var outbox: [String] = []
  private var requests: [Int: Request] = [:]
  private var sendDue = Timestamp.distantPast
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
    if !cursor.isEmpty { path += "&cursor=" + BinanceHandler.percentEncoded(cursor) }
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
    sendDue = now
    // One request for each symbol: one bad topic refuses the whole request it is in, and spot takes ten topics at most.
    subscribe(Array(feeds.indices), now)
    flush(now)
  }

  /// What is sent again is the symbols'.
  package override var expectsMarket: Bool { feeds.contains { $0.book.state != .unsubscribed } }

  private func subscribe(_ places: [Int], _ now: Timestamp) {
    for place in places {
      subscribe(place, [Self.bookTopic, Self.quoteTopic, "publicTrade.", "tickers."].map { $0 + name(place) })
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
    requests.removeAll()
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
      let topic = Self.bookTopic + name(place)
      send(#""op":"unsubscribe","args":\#(JSONText.array([topic]))"#)
      subscribe(place, [topic])
      feeds[place].book.subscribed(now: now)
    }
    for place in feeds.indices where feeds[place].quotes.isDead(now: now, connectionHeard: marketHeard) {
      let topic = Self.quoteTopic + name(place)
      send(#""op":"unsubscribe","args":\#(JSONText.array([topic]))"#)
      subscribe(place, [topic])
    }
    if now - lastPing >= Self.pingAfter {
      lastPing = now
      send(#""op":"ping""#)
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

  private func subscribe(_ place: Int, _ topics: [String]) {
    let id = send(#""op":"subscribe","args":\#(JSONText.array(topics))"#)
    requests[id] = Request(place: place, topics: topics)
  }

  @discardableResult
  private func send(_ text: String) -> Int {
    requestID += 1
    outbox.append(#"{"req_id":"\#(requestID)",\#(text)}"#)
    return requestID
  }

  private func flush(_ now: Timestamp) {
    guard !outbox.isEmpty, now >= sendDue else { return }
    sendDue = now + Self.requestInterval
    for text in outbox.prefix(Self.requestsAtOnce) { actions.append(.send(text)) }
    outbox.removeFirst(min(outbox.count, Self.requestsAtOnce))
  }

  // MARK: Replies

  /// `{"success":…,"ret_msg":…,"req_id":…,"op":…}`
  func replied(_ reply: BybitReply, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    isAnswer = true
    let request = reply.id.flatMap { requests.removeValue(forKey: $0) }
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
        subscribe(request.place, rest)
        flush(now)
      }
      return
    }
    if request.topics.count == 1, feeds[request.place].book.isLive {
      throw FeedError(.refused, "subscribe \(request.topics[0]): \(reply.message)")
    }
    feeds[request.place].book.disconnected()
    feeds[request.place].quotes.disconnected()
    refuse(configuredName(request.place), reply.message)
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
