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
  /// Room for 1,300 markets of some 800 bytes.
  static let listLimit = 16 << 20
  /// Without a ping for its `pingInterval` of 18 s the venue may close; more than one a second is forbidden.
  static let pingAfter = 15 * Microseconds.second
  static let shortestPing = 2 * Microseconds.second
  /// Subscriptions wait for the venue's welcome, but not for ever.
  static let welcomeLimit = 3 * Microseconds.second
  /// Requests are limited to 100 in ten seconds by some of the documentation, and to 300 by other: eight a second keep both.
  static let requestsAtOnce = 2
  static let requestInterval = 250 * Microseconds.millisecond
  /// Subscriptions without an answer that are remembered: beyond it refusals are told without their symbol.
  static let requestLimit = 4_096
  /// A subscription that was one too many is sent again after this long.
  static let retryAfter = 10 * Microseconds.second
  /// A symbol of whose book nothing came for this long after subscribing is told: any name is acknowledged.
  static let silenceLimit = Microseconds.minute
  /// Subscriptions in a row without a snapshot, of a book that has been live, after which the connection is made anew.
  static let silentAttempts = 2

  package static let venue = Venue(
    name: "kucoin", title: "KuCoin", separator: "-", endpoint: "wss://x-push-spot.kucoin.com/",
    restEndpoint: "https://api.kucoin.com",
    // Pings are answered within a moment.
    staleAfter: 40 * Microseconds.second,
    // The largest is a snapshot of 500 levels a side: about 30 KB.
    messageLimit: 2 << 20,
    // Two topics each; 200 topics a connection is the smallest number in use, 600 the documented one.
    symbolLimit: 100,
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: depth, checksum: nil),
    profile: VenueProfile(
      channels: [.init("obu", .book, silence: .linked, .contradicted), .init("trade", .trades)],
      bookDepth: depth, bookCheck: "O and C link each update to the one before",
      connectionLife: "pings every 15 s are answered", requests: [.instruments, .volumes],
      limits: ["8 requests a second", "200 topics a connection"]),
    makeHandler: { KuCoinHandler(configuration: $0) })

  enum Channel { case book, trades }

  /// Something to be sent.
  private struct Request {
    var place: Int
    var channel: Channel
    var isEnd = false
  }

  struct Feed {
    var book = StreamedBook()
    /// A subscription of the book waits to be sent.
    var isQueued = false
    /// `C` of the newest book message.
    var last: Int64 = 0
    /// Whether a change has followed the snapshot.
    var isJoined = false
    /// Whether the book has been live on this connection.
    var wasLive = false
    var subscribed = Timestamp.distantFuture
    var isHeard = false
    var reportedSilent = false
  }

  var feeds: [Feed] = []
  private var isListed = false
  private var listRequest: Int?
  private var listDue = Timestamp.distantPast
  private var listBackoff = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)
  private var requestID = 0
  private var isConnected = false
  private var isLeaving = false
  /// When subscriptions may go out; nil once they may.
  private var welcomeDue: Timestamp?
  private var pingInterval = KuCoinHandler.pingAfter
  /// At most two subscriptions and one end for each symbol, and what is sent again.
  private var outbox: [Request] = []
  private var requests: [Int: Request] = [:]
  private var retries: [(due: Timestamp, request: Request)] = []
  private var flushed = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Instruments

  package override var isPrepared: Bool { isListed }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    guard !isListed, listRequest == nil, now >= listDue, hasVolumes(now: now) else { return }
    requestID += 1
    listRequest = requestID
    listDue = now + RequestPacer.answerTimeout
    actions.append(.get(request: requestID, path: "/api/v2/symbols", bodyLimit: Self.listLimit))
  }

  package override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeVolumes(request, status: status, body: body, now: now) { return prepare(now: now, into: &batch) }
    guard request == listRequest else { return }
    listRequest = nil
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "GET symbols: status \(status)") }
      take(try readInstruments(body), into: &batch)
      isListed = true
      listBackoff.reset()
      listDue = now
    } catch {
      rejectAnswer(error)
      listDue = now + (status == 429 ? Microseconds.minute : listBackoff.next())
    }
  }

  private func take(_ list: [KuCoinInstrument], into batch: inout EventBatch) {
    self.list(
      list.map {
        ListedMarket(
          venueSymbol: $0.name, symbol: FeedSymbol(base: $0.base, quote: $0.quote), priceIncrement: $0.priceIncrement,
          sizeIncrement: $0.sizeIncrement, state: $0.isTraded ? .trading : .halted)
      })
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      guard let found = list.first(where: { $0.base == wanted.base && $0.quote == wanted.quote }) else {
        let question = NearNames.question(symbol, among: list.lazy.map { "\($0.base)-\($0.quote)" })
        refuse(symbol, "KuCoin has no market \(symbol)\(question)")
        continue
      }
      guard found.isTraded else {
        refuse(symbol, "\(symbol) is listed at KuCoin but not traded")
        continue
      }
      let place = add(
        venueSymbol: found.name, base: wanted.base, quote: wanted.quote, priceScale: found.priceScale,
        sizeScale: found.sizeScale, priceIncrement: found.priceIncrement, sizeIncrement: found.sizeIncrement,
        into: &batch)
      guard let place else {
        refuse(symbol, "too many symbols on one connection")
        continue
      }
      if place == feeds.count { feeds.append(Feed()) }
    }
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
    welcomeDue = now + Self.welcomeLimit
    lastPing = now
    flushed = .distantPast
    // Books first: a book is what takes longest.
    outbox = feeds.indices.map { Request(place: $0, channel: .book) }
    outbox += feeds.indices.map { Request(place: $0, channel: .trades) }
    for place in feeds.indices { feeds[place].isQueued = true }
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Asked for again before the next connection: markets are listed and delisted.
    isListed = false
    if listRequest != nil { listDue = now }
    listRequest = nil
    outbox.removeAll()
    requests.removeAll()
    retries.removeAll()
    pingInterval = Self.pingAfter
    for place in feeds.indices {
      var feed = Feed()
      feed.book = feeds[place].book
      feed.book.disconnected()
      feeds[place] = feed
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else {
      if listRequest != nil, now >= listDue { listRequest = nil }
      prepare(now: now, into: &batch)
      return
    }
    for place in feeds.indices {
      if !feeds[place].isQueued, feeds[place].book.isDue(now: now) { renew(place) }
      if !feeds[place].isHeard, !feeds[place].reportedSilent, now - feeds[place].subscribed >= Self.silenceLimit {
        feeds[place].reportedSilent = true
        refuse(
          symbolText(place), "no book came for it in \(Self.silenceLimit / Microseconds.second) s of subscription")
      }
    }
    while let due = retries.first, now >= due.due {
      outbox.append(due.request)
      retries.removeFirst()
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
  private func renew(_ place: Int) {
    let wasLive = feeds[place].wasLive
    if wasLive, feeds[place].book.silentAttempts >= Self.silentAttempts {
      return leave("\(name(place)) got no snapshot by subscribing again")
    }
    feeds[place].isQueued = true
    outbox.insert(
      contentsOf: [
        Request(place: place, channel: .book, isEnd: true), Request(place: place, channel: .book),
      ], at: wasLive ? 0 : outbox.count)
  }

  private func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.reconnect(reason: reason))
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

  /// The symbol as it was configured.
  private func symbolText(_ place: Int) -> String {
    FeedSymbol(base: instruments[place].base, quote: instruments[place].quote).text
  }

  private func flush(_ now: Timestamp) {
    if let due = welcomeDue {
      guard now >= due else { return }
      welcomeDue = nil
    }
    guard !outbox.isEmpty, now - flushed >= Self.requestInterval else { return }
    flushed = now
    for request in outbox.prefix(Self.requestsAtOnce) { send(request, now) }
    outbox.removeFirst(min(outbox.count, Self.requestsAtOnce))
  }

  private func send(_ request: Request, _ now: Timestamp) {
    requestID += 1
    let action = request.isEnd ? "unsubscribe" : "subscribe"
    let symbol = JSONText.quoted(name(request.place))
    let channel = request.channel == .book ? "obu" : "trade"
    let depth = request.channel == .book ? #","depth":"increment@10ms""# : ""
    actions.append(
      .send(
        #"{"id":"\#(requestID)","action":"\#(action)","channel":"\#(channel)","tradeType":"SPOT","symbol":\#(symbol)\#(depth)}"#
      ))
    guard !request.isEnd else { return }
    if requests.count >= Self.requestLimit { requests.removeAll() }
    requests[requestID] = request
    if request.channel == .book {
      if feeds[request.place].subscribed == .distantFuture { feeds[request.place].subscribed = now }
      feeds[request.place].isQueued = false
      feeds[request.place].book.subscribed(now: now)
    }
  }

  // MARK: Replies

  /// `{"sessionId":…,"message":"welcome","pingInterval":18000}`
  func welcomed(pingInterval milliseconds: Int64?, now: Timestamp) {
    if let milliseconds, (1...3_600_000).contains(milliseconds) {
      // Some room before it runs out, and never more than one a second.
      let wanted = milliseconds * Microseconds.millisecond * 5 / 6
      pingInterval = max(Self.shortestPing, min(Self.pingAfter, wanted))
    }
    welcomeDue = nil
    flush(now)
  }

  func replied(_ reply: KuCoinReply, now: Timestamp) throws(FeedError) {
    let request = reply.id.flatMap { requests.removeValue(forKey: $0) }
    guard reply.failed else { return }
    guard let request else { throw FeedError(.refused, "request refused: \(reply.message)") }
    let text = reply.message.lowercased()
    if ["exceed", "too many", "limit"].contains(where: { text.contains($0) }) {
      // One too many, which is no word about the symbol: the same again, later.
      retries.append((now + Self.retryAfter, request))
      if request.channel == .book { feeds[request.place].isQueued = true }
      throw FeedError(.refused, "\(name(request.place)): \(reply.message)")
    }
    feeds[request.place].book.disconnected()
    feeds[request.place].reportedSilent = true
    refuse(symbolText(request.place), reply.message)
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

/// An entry of the instrument list, as far as it is used.
struct KuCoinInstrument {
  var name = ""
  var base = ""
  var quote = ""
  var priceIncrement: Decimal64?
  var sizeIncrement: Decimal64?
  /// Digits that the increments are written with.
  var priceScale: UInt8 = 0
  var sizeScale: UInt8 = 0
  var isTraded = true
}

/// The answer to a request.
struct KuCoinReply {
  var id: Int?
  var failed = false
  var message = "no reason given"
}
