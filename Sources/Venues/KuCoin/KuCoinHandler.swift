import Bytes
import MarketData

/// KuCoin spot on the socket of its unified API, without a key or a token: `obu` at depth `increment@10ms` (a snapshot of 500 levels a side
/// in the stream, then changes every 10 ms) and `trade`. Facts and their evidence: <doc:KuCoin>.
///
/// The venue's classic socket needs a token from a POST, and its changes of the whole book can be joined without a key to a REST
/// snapshot of 100 levels only: everything below them stays unknown until it changes, and as the market moves, the known part
/// runs out. `obu` is exact to its depth at all times, which is why it is used.
///
/// Quotes are made from the book, which comes as often as the venue's own. 24 h figures are made from the trades: this socket has none.
package final class KuCoinHandler: SymbolHandler {
  /// Levels a side, to which the book is cut: a level that falls out comes as a removal, but some messages late.
  static let depth = 500
  /// Without a ping for its `pingInterval` of 18 s the venue may close; more than one a second is forbidden.
  static let pingAfter = 15 * Microseconds.second
  static let shortestPing = 2 * Microseconds.second
  /// Subscriptions wait for the venue's welcome, but not for ever.
  static let welcomeLimit = 3 * Microseconds.second
  /// A subscription that was one too many is sent again after this long.
  static let retryAfter = 10 * Microseconds.second
  /// A symbol of whose book nothing came for this long after subscribing is told: any name is acknowledged.
  static let silenceLimit = Microseconds.minute
  /// Subscriptions in a row without a snapshot, of a book that has been live, after which the connection is made anew.
  static let silentAttempts = 2
  /// How long the old connection goes on then, as its other books are good.
  static let renewalTime = Microseconds.minute

  package static let venue = Venue(
    name: "kucoin", title: "KuCoin", separator: "-", endpoint: "wss://x-push-spot.kucoin.com/",
    restEndpoint: "https://api.kucoin.com",
    // Pings are answered within a moment.
    // Five levels are sent again each 100 ms, changed or not.
    cadence: .canary("obu", of: ["BTC-USDT"], every: Microseconds.second),
    // The largest is a snapshot of 500 levels a side: about 30 KB.
    messageLimit: 2 << 20,
    // Two topics each; 200 topics a connection is the smallest number in use, 600 the documented one.
    symbolLimit: 100,
    // The smallest of the documented numbers.
    connectLimit: ConnectLimit(count: 30, interval: Microseconds.minute),
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: depth, checksum: nil),
    profile: VenueProfile(
      channels: [.init("obu", .book, silence: .linked, .contradicted), .init("trade", .trades)],
      bookDepth: depth, bookCheck: "O and C link each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["8 requests a second", "200 topics a connection"]),
    replay: replay,
    makeHandler: { KuCoinHandler(configuration: $0) })

  enum Channel { case book, trades }

  /// The beginning or the end of a topic.
  struct Request: RepeatedRequest {
    var place: Int
    var channel: Channel
    var isEnd = false
    var attempts = 0
    var refusals = 0
  }

  struct Feed {
    var book = StreamedBook()
    /// `C` of the newest book message.
    var last: Int64 = 0
    /// Whether a change has followed the snapshot.
    var isJoined = false
    /// Whether the book has been live on this connection.
    var wasLive = false
    /// When its book was subscribed on this connection.
    var subscribed = Timestamp.distantFuture
    var isHeard = false
    var reportedSilent = false
    /// Whether the newest list has it, and it is traded.
    var isListed = true
    var isRefused = false
    var isCarried: Bool { isListed && !isRefused }
  }

  var feeds: [Feed] = []
  private var isConnected = false
  private var isLeaving = false
  private var pingInterval = KuCoinHandler.pingAfter
  /// Requests are limited to 100 in ten seconds by some of the documentation, and to 300 by other: eight a second keep both. Of a symbol
  /// there are two, and two for its book when that is subscribed again.
  private var outbox = RequestOutbox<Request>(atOnce: 2, every: 250 * Microseconds.millisecond, limit: 1_024)
  private var lastPing = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Instruments

  override var listPath: String? { "/api/v2/symbols" }

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

  override func isLive(_ place: Int) -> Bool { feeds[place].book.isLive }

  override var carriesHalted: Bool { false }

  override var asksAgain: Bool { true }

  /// What is acknowledged and silent is subscribed again as well: a name that is none is acknowledged, and whether one that has become one is
  /// heard of by itself is not known.
  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) && !feeds[place].book.isLive {
      guard feeds[place].isRefused || feeds[place].reportedSilent else { continue }
      feeds[place].isRefused = false
      feeds[place].reportedSilent = false
      feeds[place].subscribed = .distantFuture
      feeds[place].book.disconnected()
    }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  override var volumeRequests: [String] { ["/api/v1/market/allTickers"] }

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
    outbox.pause(until: now + Self.welcomeLimit)
    subscribeMissing(now)
  }

  /// What is carried and has not been asked for on this connection. Books first: a book is what takes longest.
  private func subscribeMissing(_ now: Timestamp) {
    let places = feeds.indices.filter { feeds[$0].isCarried && feeds[$0].book.state == .unsubscribed }
    for channel in [Channel.book, .trades] {
      for place in places { outbox.append(Request(place: place, channel: channel)) }
    }
    for place in places { feeds[place].book.queued(now: now) }
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    outbox.removeAll()
    pingInterval = Self.pingAfter
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
    for place in feeds.indices where feeds[place].isCarried {
      if feeds[place].book.isDue(now: now) { renew(place, now) }
      if !feeds[place].isHeard, !feeds[place].reportedSilent, now - feeds[place].subscribed >= Self.silenceLimit {
        feeds[place].reportedSilent = true
        refuse(
          configuredName(place), "no book came for it in \(Self.silenceLimit / Microseconds.second) s of subscription")
      }
    }
    repeatUnanswered(of: &outbox, now: now) {
      "\($0.channel) of \(name($0.place))"
    } isMoot: { request in
      let feed = feeds[request.place]
      guard feed.isCarried else { return true }
      guard request.channel == .book else { return false }
      // A book asks again by itself, until its data comes.
      if !feed.book.isLive { unanswered(feed.book.silentAttempts, "book of \(name(request.place))", now: now) }
      return true
    }
    if now - lastPing >= pingInterval {
      lastPing = now
      requestID += 1
      actions.append(.send(#"{"id":"\#(requestID)","type":"ping"}"#))
    }
    flush(now)
  }

  /// Ends the subscription of a book and begins it again: before whatever else waits, if it has been live. That this brings a new
  /// snapshot is what the documentation says of a first subscription; where it does not, only another connection helps.
  private func renew(_ place: Int, _ now: Timestamp) {
    let wasLive = feeds[place].wasLive
    if wasLive, feeds[place].book.silentAttempts >= Self.silentAttempts {
      return leave("\(name(place)) got no snapshot by subscribing again")
    }
    feeds[place].book.queued(now: now)
    outbox.append(
      together: Request(place: place, channel: .book, isEnd: true), Request(place: place, channel: .book),
      isFirst: wasLive)
  }

  private func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: Self.renewalTime))
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

  /// A book has a hole, or could not be read.
  func lost(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), reason))
    tick(now: now, into: &batch)
  }

  func name(_ place: Int) -> String { instruments[place].venueSymbol }

  private func flush(_ now: Timestamp) {
    if outbox.isEmpty, outbox.isOpen(at: now) { followCanary(now) }
    for request in outbox.take(now: now) { send(request, now) }
  }

  private func send(_ request: Request, _ now: Timestamp) {
    let place = request.place
    guard feeds[place].isCarried else { return }
    // Its snapshot has come after all.
    if request.channel == .book, !feeds[place].book.isQueued { return }
    requestID += 1
    let action = request.isEnd ? "unsubscribe" : "subscribe"
    let symbol = JSONText.quoted(name(place))
    let channel = request.channel == .book ? "obu" : "trade"
    let depth = request.channel == .book ? #","depth":"increment@10ms""# : ""
    actions.append(
      .send(
        #"{"id":"\#(requestID)","action":"\#(action)","channel":"\#(channel)","tradeType":"SPOT","symbol":\#(symbol)\#(depth)}"#
      ))
    guard !request.isEnd else { return }
    outbox.sent(request, as: requestID, now: now)
    guard request.channel == .book else { return }
    if feeds[place].subscribed == .distantFuture { feeds[place].subscribed = now }
    feeds[place].book.subscribed(now: now)
  }

  // MARK: Replies

  /// `{"sessionId":…,"message":"welcome","pingInterval":18000}`
  func welcomed(pingInterval milliseconds: Int64?, now: Timestamp) {
    if let milliseconds, (1...3_600_000).contains(milliseconds) {
      // Some room before it runs out, and never more than one a second.
      let wanted = milliseconds * Microseconds.millisecond * 5 / 6
      pingInterval = max(Self.shortestPing, min(Self.pingAfter, wanted))
    }
    outbox.resume()
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    #"{"id":"\#(id)","action":"subscribe","channel":"obu","tradeType":"SPOT","symbol":\#(JSONText.quoted(market)),"depth":"5"}"#
  }

  func replied(_ reply: KuCoinReply, now: Timestamp) throws(FeedError) {
    let request = reply.id.flatMap { outbox.answered($0) }
    guard reply.failed else { return }
    guard let request else { throw FeedError(.refused, "request refused: \(reply.message)") }
    let text = reply.message.lowercased()
    if ["exceed", "too many", "limit"].contains(where: { text.contains($0) }) {
      // One too many, which is no word about the symbol: the same again, later.
      if request.channel == .book { feeds[request.place].book.queued(now: now) }
      outbox.append(request, due: now + Self.retryAfter)
      throw FeedError(.refused, "\(name(request.place)): \(reply.message)")
    }
    guard request.channel == .book, !feeds[request.place].book.isLive else {
      if request.channel != .book { askLater(request, in: &outbox, now: now) }
      throw FeedError(.refused, "\(name(request.place)): \(reply.message)")
    }
    feeds[request.place].isRefused = true
    feeds[request.place].book.disconnected()
    refuse(configuredName(request.place), reply.message)
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"obu.SPOT\"") else { return }
    for place in Salvage.symbols(message, key: "\"s\"", in: table) {
      lost(place, .malformed, now: now, into: &batch)
    }
  }
}

/// The answer to a request.
struct KuCoinReply {
  var id: Int?
  var failed = false
  var message = "no reason given"
}
