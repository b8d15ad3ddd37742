import Bytes
import MarketData

/// Gate spot, WebSocket v4, without a key: `spot.obu` (a snapshot of 400 levels a side in the stream, then changes every 100 ms),
/// `spot.trades`, `spot.book_ticker` as quotes and `spot.tickers`. Facts and their evidence: <doc:Gate>.
///
/// Of the venue's two books `spot.obu` is the one that needs no REST: its snapshot comes on subscribing, it is four times as
/// deep as what `spot.order_book_update` reports, and each message says which numbers it covers. The other is still read, since
/// recordings from before 2025 have it: as soon as it comes for a symbol, that symbol's book is bridged to a REST snapshot.
package final class GateHandler: SymbolHandler {
  /// Which of the venue's books is subscribed.
  package enum Books: Sendable { case streamed, bridged }

  /// Levels a side of `spot.obu`, to which the book is cut: whether the venue says what falls out is known of its futures only.
  static let depth = 400
  /// Levels a side of a REST snapshot: the most that the venue answers with.
  static let snapshotLimit = 1_000
  /// Room for 1,000 levels a side: about 60 KB.
  static let snapshotBodyLimit = 1 << 20
  /// A socket without a word from the client has been seen to close after 30 s.
  static let pingAfter = 15 * Microseconds.second
  /// How long a connection may last after its end was announced: "soon", and nobody has seen how soon.
  static let upgradeNotice = 10 * Microseconds.second
  /// A subscription that the venue could not carry out is sent again after this long.
  static let retryAfter = 5 * Microseconds.second
  /// A symbol of whose book nothing came for this long after subscribing is told: `spot.obu` may acknowledge any name.
  static let silenceLimit = Microseconds.minute
  /// A bridged book that never changes still wants a snapshot, this long after its subscription was acknowledged.
  static let quietBook = 5 * Microseconds.second

  package static let venue = venue(.streamed)

  /// The venue with one or the other book.
  package static func venue(_ books: Books) -> Venue {
    Venue(
      name: "gate", title: "Gate", separator: "_", endpoint: "wss://api.gateio.ws/ws/v4/",
      restEndpoint: "https://api.gateio.ws",
      // Pings are answered within a moment.
      cadence: .canary("spot.tickers", of: ["BTC_USDT"], every: Microseconds.second),
      // The largest is a snapshot of 400 levels a side: about 25 KB.
      messageLimit: 2 << 20,
      // None is documented; 150 streams on a connection have been measured, on futures.
      symbolLimit: 150,
      market: Market.Configuration(
        quotesFromBook: false, bookDepthLimit: books == .streamed ? depth : nil, checksum: nil),
      profile: VenueProfile(
        channels: [
          .init("spot.obu", .book, silence: .linked, .contradicted), .init("spot.trades", .trades),
          .init("spot.book_ticker", .quote), .init("spot.tickers", .ticker),
        ],
        bookDepth: depth, bookCheck: "U and u link each update to the one before",
        requests: [.instruments, .volumes],
        limits: ["50 subscriptions in one go, five times a second"]),
      replay: replay,
      makeHandler: { GateHandler(books, configuration: $0) })
  }

  enum Channel: String, CaseIterable {
    case stream = "spot.obu"
    case updates = "spot.order_book_update"
    case trades = "spot.trades"
    case quotes = "spot.book_ticker"
    case tickers = "spot.tickers"
  }

  struct Feed {
    var book = StreamedBook()
    /// `u` of the newest message of the streamed book; 0 before the first snapshot.
    var last: Int64 = 0
    var bridge = SnapshotBridge(rule: .gate)
    /// Whether the book comes as `spot.order_book_update`.
    var isBridged = false
    /// When its book was subscribed on this connection.
    var subscribed = Timestamp.distantFuture
    /// When that was acknowledged. Without it, or an update, a bridged book asks for no snapshot: it would say nothing of what comes.
    var acknowledged: Timestamp?
    var isHeard = false
    var reportedSilent = false
    /// Whether the newest list has it, and it is traded.
    var isListed = true
    var isRefused = false
    /// Whether its streams have been asked for on this connection.
    var isSubscribed = false
    var isCarried: Bool { isListed && !isRefused }
    var isLive: Bool { isBridged ? bridge.isLive : book.isLive }
  }

  /// The beginning or the end of a stream.
  struct Request: RepeatedRequest {
    var place: Int
    var channel: Channel
    var isEnd = false
    var attempts = 0
    var refusals = 0
    var isBook: Bool { channel == .stream || channel == .updates }
  }

  let books: Books
  var feeds: [Feed] = []
  /// A fifth of what the venue allows an address on one endpoint (200 in 10 s).
  var pacer: RequestPacer
  private(set) var isConnected = false
  private var isLeaving = false
  /// 150 at once have been taken. Of a symbol there are four requests, and two for its book when that is subscribed again.
  private var outbox = RequestOutbox<Request>(atOnce: 50, every: 200 * Microseconds.millisecond, limit: 4_096)
  private var lastPing = Timestamp.distantPast

  init(_ books: Books, configuration: FeedConfiguration) {
    self.books = books
    pacer = RequestPacer(
      weightPerMinute: max(1, 240 / configuration.connections), requestWeight: 1, concurrency: 4)
    super.init(venue: Self.venue(books), configuration: configuration)
  }

  // MARK: Instruments

  override var listPath: String? { "/api/v4/spot/currency_pairs" }

  override func answered(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  override func hasListed(now: Timestamp) {
    guard isConnected else { return }
    subscribeMissing(now)
    flush(now)
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    let carried = carry(try readMarkets(body), into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed()) }
    for place in feeds.indices { feeds[place].isListed = carried.contains(place) }
    return true
  }

  override func isLive(_ place: Int) -> Bool { feeds[place].isLive }

  override var carriesHalted: Bool { false }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) {
      if feeds[place].isRefused {
        feeds[place].isRefused = false
        feeds[place].isSubscribed = false
      } else if feeds[place].reportedSilent {
        // Its book is subscribed again by itself; if it stays silent, that is told again.
        feeds[place].reportedSilent = false
        feeds[place].subscribed = now
      }
    }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  override var volumeRequests: [String] { ["/api/v4/spot/tickers"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    lastPing = now
    subscribeMissing(now)
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    #"{"time":\#(now.rawValue / Microseconds.second),"id":\#(id),"channel":"\#(Channel.tickers.rawValue)","event":"subscribe","payload":\#(JSONText.array([market]))}"#
  }

  /// What is carried and has not been asked for on this connection: one request for each stream, as what a bad name does to the others
  /// of its request is not documented. Books first.
  private func subscribeMissing(_ now: Timestamp) {
    let places = feeds.indices.filter { feeds[$0].isCarried && !feeds[$0].isSubscribed }
    let book: Channel = books == .streamed ? .stream : .updates
    for channel in [book, .trades, .quotes, .tickers] {
      for place in places { outbox.append(Request(place: place, channel: channel)) }
    }
    for place in places {
      feeds[place].isSubscribed = true
      feeds[place].isBridged = books == .bridged
      if books == .streamed { feeds[place].book.queued(now: now) }
    }
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    outbox.removeAll()
    pacer.removeAll()
    for place in feeds.indices {
      var feed = Feed()
      feed.book = feeds[place].book
      feed.book.disconnected()
      feeds[place] = feed
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    for place in feeds.indices where feeds[place].isCarried { tend(place, now) }
    repeatUnanswered(of: &outbox, now: now) {
      "\($0.channel.rawValue) of \(name($0.place))"
    } isMoot: { request in
      isMoot(&request, now)
    }
    if now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send(#"{"time":\#(now.rawValue / Microseconds.second),"channel":"spot.ping"}"#))
    }
    pacer.expire(now: now)
    pump(now)
    flush(now)
  }

  private func tend(_ place: Int, _ now: Timestamp) {
    if feeds[place].book.isDue(now: now) {
      feeds[place].book.queued(now: now)
      outbox.append(
        together: Request(place: place, channel: .stream, isEnd: true), Request(place: place, channel: .stream))
    }
    if feeds[place].isBridged, !feeds[place].bridge.isLive, let acknowledged = feeds[place].acknowledged,
      now - acknowledged >= Self.quietBook
    {
      pacer.want(place)
    }
    if !feeds[place].isHeard, !feeds[place].reportedSilent, now - feeds[place].subscribed >= Self.silenceLimit {
      feeds[place].reportedSilent = true
      refuse(
        configuredName(place), "no book came for it in \(Self.silenceLimit / Microseconds.second) s of subscription")
    }
  }

  /// Whether a request that was not answered need not be sent again.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    let feed = feeds[request.place]
    guard feed.isCarried else { return true }
    switch request.channel {
    case .stream:
      // A book asks again by itself, until its data comes.
      if !feed.isLive, !feed.isBridged {
        unanswered(feed.book.silentAttempts, "\(request.channel.rawValue) of \(name(request.place))", now: now)
      }
      return true
    case .updates: return feed.acknowledged != nil
    case .trades, .quotes, .tickers: return false
    }
  }

  func name(_ place: Int) -> String { instruments[place].venueSymbol }

  private func flush(_ now: Timestamp) {
    if outbox.isEmpty { followCanary(now) }
    for request in outbox.take(now: now) { send(request, now) }
  }

  private func send(_ request: Request, _ now: Timestamp) {
    let place = request.place
    guard feeds[place].isCarried else { return }
    // Its snapshot has come after all.
    if request.channel == .stream, !feeds[place].book.isQueued { return }
    requestID += 1
    let payload =
      switch request.channel {
      case .stream: ["ob.\(name(place)).\(Self.depth)"]
      case .updates: [name(place), "100ms"]
      case .trades, .quotes, .tickers: [name(place)]
      }
    let event = request.isEnd ? "unsubscribe" : "subscribe"
    // A time that is more than 60 s off is refused.
    actions.append(
      .send(
        #"{"time":\#(now.rawValue / Microseconds.second),"id":\#(requestID),"channel":"\#(request.channel.rawValue)","event":"\#(event)","payload":\#(JSONText.array(payload))}"#
      ))
    guard !request.isEnd else { return }
    outbox.sent(request, as: requestID, now: now)
    guard request.channel == .stream || request.channel == .updates else { return }
    if feeds[place].subscribed == .distantFuture { feeds[place].subscribed = now }
    if request.channel == .stream { feeds[place].book.subscribed(now: now) }
  }

  // MARK: Replies

  /// The answer to a subscription, or to its end.
  func replied(_ reply: GateReply, now: Timestamp) throws(FeedError) {
    let request = reply.id.flatMap { outbox.answered($0) }
    guard reply.failed else {
      if let request, request.isBook { feeds[request.place].acknowledged = now }
      return
    }
    // Unsubscribed too late, or twice: what was wanted is so.
    if reply.isEnd || reply.message.hasPrefix("Alert sub") { return }
    guard let request else {
      throw FeedError(.refused, "\(reply.channel): code \(reply.code), \(reply.message)")
    }
    guard reply.code == 2, request.isBook, !feeds[request.place].isLive else {
      if reply.code != 2 {
        // The server's own trouble (code 3): the same again, later.
        if request.channel == .stream { feeds[request.place].book.queued(now: now) }
        outbox.append(request, due: now + Self.retryAfter)
      } else if !request.isBook {
        askLater(request, in: &outbox, now: now)
      }
      throw FeedError(.refused, "\(reply.channel) of \(name(request.place)): code \(reply.code), \(reply.message)")
    }
    feeds[request.place].isRefused = true
    feeds[request.place].book.disconnected()
    feeds[request.place].bridge.reset()
    refuse(configuredName(request.place), reply.message)
  }

  /// The venue's servers are about to be replaced.
  func leave() {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: "the venue announced an upgrade", within: Self.upgradeNotice))
  }

  // MARK: Books

  override func readSnapshot(
    _ body: RawSpan, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    try readOrderBook(body, place, into: &batch)
  }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard isConnected, feeds.indices.contains(place) else { return }
    if feeds[place].isBridged {
      guard feeds[place].bridge.isLive else { return }
      feeds[place].bridge.reset()
      lostBridged(place, now: now)
    } else if feeds[place].book.resync(now: now) {
      tick(now: now, into: &batch)
    }
  }

  override func trouble(ofBook place: Int) -> BookTrouble? {
    feeds[place].isBridged ? pacer.trouble(of: place) : feeds[place].book.trouble
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard feeds.indices.contains(place) else { return }
    feeds[place].bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    if Salvage.contains(message, "\"spot.obu\"") {
      let places = Salvage.symbols(message, key: "\"s\"", in: table, prefix: "ob.", suffix: ".400")
      for place in places where !feeds[place].isBridged { lost(place, .malformed, now: now, into: &batch) }
    } else if Salvage.contains(message, "\"spot.order_book_update\"") {
      for place in Salvage.symbols(message, key: "\"s\"", in: table) where feeds[place].bridge.isLive {
        feeds[place].bridge.reset()
        batch.events.append(.bookReset(InstrumentID(place), .malformed))
        lostBridged(place, now: now)
      }
    }
  }
}

/// The answer to a request.
struct GateReply {
  var channel = ""
  var id: Int?
  /// Of an end of a subscription.
  var isEnd = false
  var failed = false
  var code: Int64 = 0
  var message = "no reason given"
}
