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
  enum Books: Sendable { case streamed, bridged }

  /// Levels a side of `spot.obu`, to which the book is cut: whether the venue says what falls out is known of its futures only.
  static let depth = 400
  /// Levels a side of a REST snapshot: the most that the venue answers with.
  static let snapshotLimit = 1_000
  /// Room for 2,300 markets of some 350 bytes.
  static let listLimit = 16 << 20
  /// Room for 1,000 levels a side: about 60 KB.
  static let snapshotBodyLimit = 1 << 20
  /// A socket without a word from the client has been seen to close after 30 s.
  static let pingAfter = 15 * Microseconds.second
  /// Subscriptions sent in one go, of which there are four a second. 150 at once have been taken.
  static let requestsAtOnce = 50
  /// Subscriptions without an answer that are remembered: beyond it refusals are told without their symbol.
  static let requestLimit = 4_096
  /// A subscription that the venue could not carry out is sent again after this long.
  static let retryAfter = 5 * Microseconds.second
  /// A symbol of whose book nothing came for this long after subscribing is told: `spot.obu` may acknowledge any name.
  static let silenceLimit = Microseconds.minute
  /// A bridged book that never changes still wants a snapshot, this long after its subscription.
  static let quietBook = 5 * Microseconds.second

  package static let venue = venue(.streamed)

  /// The venue with one or the other book.
  static func venue(_ books: Books) -> Venue {
    Venue(
      name: "gate", title: "Gate", separator: "_", endpoint: "wss://api.gateio.ws/ws/v4/",
      restEndpoint: "https://api.gateio.ws",
      // Pings are answered within a moment.
      staleAfter: 40 * Microseconds.second,
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
        connectionLife: "pings every 15 s are answered", requests: [.instruments, .volumes],
        limits: ["50 subscriptions in one go, four times a second"]),
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
    var subscribed = Timestamp.distantFuture
    var isHeard = false
    var reportedSilent = false
  }

  private struct Request {
    var place: Int
    var channel: Channel
  }

  let books: Books
  var feeds: [Feed] = []
  private var pacer = RequestPacer(weightPerMinute: 300, requestWeight: 1, concurrency: 4)
  private var isListed = false
  private var listRequest: Int?
  private var listDue = Timestamp.distantPast
  private var listBackoff = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)
  private var requestID = 0
  private var isConnected = false
  private var outbox: [String] = []
  /// Subscriptions under way, by their number; emptied with the connection, and by the answers.
  private var requests: [Int: Request] = [:]
  /// Subscriptions to be sent again: at most one for each channel of each symbol.
  private var retries: [(due: Timestamp, request: Request)] = []
  private var flushed = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast

  init(_ books: Books, configuration: FeedConfiguration) {
    self.books = books
    super.init(venue: Self.venue(books), configuration: configuration)
  }

  // MARK: Instruments

  package override var isPrepared: Bool { isListed }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    guard !isListed, listRequest == nil, now >= listDue, hasVolumes(now: now) else { return }
    requestID += 1
    listRequest = requestID
    listDue = now + RequestPacer.answerTimeout
    actions.append(.get(request: requestID, path: "/api/v4/spot/currency_pairs", bodyLimit: Self.listLimit))
  }

  package override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    if takeVolumes(request, status: status, body: body, now: now) { return prepare(now: now, into: &batch) }
    if request == listRequest {
      listRequest = nil
      do throws(FeedError) {
        guard status == 200 else { throw FeedError(.refused, "GET currency_pairs: status \(status)") }
        take(try readInstruments(body), into: &batch)
        isListed = true
        listBackoff.reset()
        listDue = now
      } catch {
        rejectAnswer(error)
        listDue = now + (status == 429 ? Microseconds.minute : listBackoff.next())
      }
      return
    }
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  private func take(_ list: [GateInstrument], into batch: inout EventBatch) {
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
        refuse(symbol, "Gate has no market \(symbol)\(question)")
        continue
      }
      guard found.isTraded else {
        refuse(symbol, "\(symbol) is listed at Gate but not traded")
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

  override var volumeRequests: [String] { ["/api/v4/spot/tickers"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    lastPing = now
    flushed = .distantPast
    // One request for each stream: what a bad name does to the others of its request is not documented. Books first.
    let book: Channel = books == .streamed ? .stream : .updates
    for channel in [book, .trades, .quotes, .tickers] {
      for place in feeds.indices { subscribe(Request(place: place, channel: channel), now) }
    }
    for place in feeds.indices {
      feeds[place].subscribed = now
      feeds[place].isBridged = books == .bridged
      if books == .streamed { feeds[place].book.subscribed(now: now) }
    }
    flush(now)
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
    pacer.removeAll()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].last = 0
      feeds[place].bridge.reset()
      feeds[place].isBridged = false
      feeds[place].isHeard = false
      feeds[place].reportedSilent = false
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else {
      if listRequest != nil, now >= listDue { listRequest = nil }
      prepare(now: now, into: &batch)
      return
    }
    for place in feeds.indices {
      if feeds[place].book.isDue(now: now) {
        send(.stream, "unsubscribe", place, now)
        subscribe(Request(place: place, channel: .stream), now)
        feeds[place].book.subscribed(now: now)
      }
      if feeds[place].isBridged, !feeds[place].bridge.isLive, now - feeds[place].subscribed >= Self.quietBook {
        pacer.want(place)
      }
      if !feeds[place].isHeard, !feeds[place].reportedSilent, now - feeds[place].subscribed >= Self.silenceLimit {
        feeds[place].reportedSilent = true
        refuse(
          symbolText(place), "no book came for it in \(Self.silenceLimit / Microseconds.second) s of subscription")
      }
    }
    while let due = retries.first, now >= due.due {
      subscribe(due.request, now)
      retries.removeFirst()
    }
    if now - lastPing >= Self.pingAfter {
      lastPing = now
      outbox.insert(#"{"time":\#(now.rawValue / Microseconds.second),"channel":"spot.ping"}"#, at: 0)
    }
    pacer.expire(now: now)
    pump(now)
    flush(now)
  }

  func name(_ place: Int) -> String { instruments[place].venueSymbol }

  /// The symbol as it was configured.
  private func symbolText(_ place: Int) -> String {
    FeedSymbol(base: instruments[place].base, quote: instruments[place].quote).text
  }

  private func subscribe(_ request: Request, _ now: Timestamp) {
    if requests.count >= Self.requestLimit { requests.removeAll() }
    requests[send(request.channel, "subscribe", request.place, now)] = request
  }

  @discardableResult
  private func send(_ channel: Channel, _ event: String, _ place: Int, _ now: Timestamp) -> Int {
    requestID += 1
    let payload =
      switch channel {
      case .stream: ["ob.\(name(place)).\(Self.depth)"]
      case .updates: [name(place), "100ms"]
      case .trades, .quotes, .tickers: [name(place)]
      }
    // A time that is more than 60 s off is refused.
    outbox.append(
      #"{"time":\#(now.rawValue / Microseconds.second),"id":\#(requestID),"channel":"\#(channel.rawValue)","event":"\#(event)","payload":\#(JSONText.array(payload))}"#
    )
    return requestID
  }

  private func flush(_ now: Timestamp) {
    guard !outbox.isEmpty, now - flushed >= 200 * Microseconds.millisecond else { return }
    flushed = now
    for text in outbox.prefix(Self.requestsAtOnce) { actions.append(.send(text)) }
    outbox.removeFirst(min(outbox.count, Self.requestsAtOnce))
  }

  // MARK: Replies

  /// The answer to a subscription, or to its end.
  func replied(_ reply: GateReply, now: Timestamp) throws(FeedError) {
    let request = reply.id.flatMap { requests.removeValue(forKey: $0) }
    guard reply.failed else { return }
    // Unsubscribed too late, or twice: what was wanted is so.
    if reply.isEnd || reply.message.hasPrefix("Alert sub") { return }
    guard let request else {
      throw FeedError(.refused, "\(reply.channel): code \(reply.code), \(reply.message)")
    }
    guard reply.code == 2 else {
      // The server's own trouble (code 3): the same again, later.
      retries.append((now + Self.retryAfter, request))
      throw FeedError(.refused, "\(reply.channel) of \(name(request.place)): code \(reply.code), \(reply.message)")
    }
    feeds[request.place].book.disconnected()
    feeds[request.place].reportedSilent = true
    refuse(symbolText(request.place), reply.message)
  }

  /// The venue's servers are about to be replaced.
  func leave() { actions.append(.reconnect(reason: "the venue announced an upgrade")) }

  // MARK: Books

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

  /// The streamed book has a hole.
  func lost(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), reason))
    tick(now: now, into: &batch)
  }

  /// The bridged book, which was live, is out of sync.
  func lostBridged(_ place: Int, now: Timestamp) {
    guard isConnected else { return }
    pacer.lost(place, now: now)
    pump(now)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? {
    feeds[place].isBridged ? pacer.trouble(of: place) : feeds[place].book.trouble
  }

  /// The bridged book wants its first snapshot.
  func wantSnapshot(_ place: Int, now: Timestamp) {
    guard isConnected else { return }
    pacer.want(place)
    pump(now)
  }

  private func pump(_ now: Timestamp) {
    while let (place, request) = pacer.next(now: now) {
      guard feeds[place].isBridged, !feeds[place].bridge.isLive else {
        _ = pacer.answered(request)
        continue
      }
      let symbol = BinanceHandler.percentEncoded(name(place))
      actions.append(
        .get(
          request: request,
          path: "/api/v4/spot/order_book?currency_pair=\(symbol)&limit=\(Self.snapshotLimit)&with_id=true",
          bodyLimit: Self.snapshotBodyLimit))
    }
  }

  private func takeSnapshot(_ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].isBridged, !feeds[place].bridge.isLive else { return pacer.succeeded(place) }
    guard status == 200 else { return pacer.failed(place, status: status, now: now) }
    var mark = BatchMark(batch)
    // Price and size may each widen their scale.
    for _ in 0..<4 {
      do throws(FeedError) {
        let id = try readSnapshot(body, place, into: &batch)
        guard !feeds[place].bridge.isStale(id) else {
          mark.rewind(&batch)
          return pacer.failed(place, status: status, now: now)
        }
        feeds[place].isHeard = true
        if join(&feeds[place].bridge, place, at: id, from: mark, time: now, into: &batch) {
          pacer.succeeded(place)
        } else {
          pacer.failed(place, status: status, now: now)
        }
        return
      } catch {
        mark.rewind(&batch)
        guard widenIfNeeded(into: &batch) else {
          rejectAnswer(error)
          return pacer.failed(place, status: status, now: now)
        }
        mark = BatchMark(batch)
      }
    }
    rejectAnswer(FeedError(.decimal, "order book: scales that were widened four times do not do"))
    pacer.failed(place, status: status, now: now)
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

extension SequenceRule {
  /// Gate, "How to maintain local order book": drop `u <= id`; first `U <= id+1 <= u`; then `U == last+1`. Numbers rise by one with every
  /// change of a book.
  static let gate = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.first <= snapshot &+ 1 && update.last >= snapshot &+ 1 },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.first == last &+ 1 })
}

/// An entry of the instrument list, as far as it is used.
struct GateInstrument {
  var name = ""
  var base = ""
  var quote = ""
  /// Digits after the point of prices and amounts; the increments are one of the last.
  var priceScale: UInt8 = 0
  var sizeScale: UInt8 = 0
  var priceIncrement: Decimal64?
  var sizeIncrement: Decimal64?
  var isTraded = true
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
