import Bytes
import MarketData

/// Gemini's WebSocket (the API of 2025 and later): spot and linear perpetuals on one connection, without a key.
///
/// `depth@100ms` is the book, `bookTicker` the quote, `trade` the trades. With `?snapshot=-1` in the URL the first
/// message of a book after its subscription is the whole of it, told from the others by `U` = `u` alone. Each further
/// one begins at the number that the one before ended at: `U` = `u` before, an overlap of one. There is no checksum.
///
/// 24 h figures are by REST only, a market at a time: they are asked for in turn within `restPerMinute`. So are the
/// increments; spot markets need not wait for them, as their names are base and quote. Perpetuals wait, until it is
/// known that they are linear.
///
/// A bad stream refuses all of its request, so each market has a request of its own.
package final class GeminiHandler: SymbolHandler {
  static let bookStream = "@depth@100ms"
  static let streams = [bookStream, "@trade", "@bookTicker"]
  /// Quiet time after which a ping is sent; books that do not change say nothing, 28 s have been seen.
  static let pingAfter = 15 * Microseconds.second
  /// Room for the list of names (347 were 4 KB), and for the details or figures of one.
  static let listLimit = 1 << 20
  static let detailsLimit = 64 << 10
  /// REST requests in a minute, of the 120 that an address may send.
  static let restPerMinute = 60
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 10 * Microseconds.second
  /// How often a market's 24 h figures are asked for, at most.
  static let tickerInterval = 30 * Microseconds.second
  /// How long increments are believed.
  static let detailsAge = 6 * Microseconds.hour

  package static let venue = Venue(
    name: "gemini", title: "Gemini", separator: "", endpoint: "wss://ws.gemini.com/?snapshot=-1",
    restEndpoint: "https://api.gemini.com",
    // Pings go out after 15 s of silence and are answered.
    cadence: .canary("bookTicker", of: ["btcusd", "ethusd"], every: Microseconds.second),
    // A whole book of 16,000 levels is some 500 KB.
    messageLimit: 8 << 20, symbolLimit: 350, kinds: [.spot, .perpetual],
    // What the venue reports of itself.
    connectLimit: ConnectLimit(count: 300, interval: 5 * Microseconds.minute),
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 20_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("depth@100ms", .book, silence: .linked, .contradicted), .init("trade", .trades),
        .init("bookTicker", .quote),
      ],
      bookDepth: nil, bookCheck: "each update begins at the number that the one before ended at",
      requests: [.instruments, .volumes],
      limits: ["120 REST requests a minute"]),
    replay: replay,
    makeHandler: { GeminiHandler(configuration: $0) })

  struct Feed {
    /// The place in `entries`.
    let entry: Int
    var book = StreamedBook()
    /// `U` and `u` of the newest book message that was used.
    var first: Int64 = 0
    var last: Int64 = 0
    var isRefused = false
    /// 24 h figures, from two requests.
    var ticker: Ticker?
    var tickerDue = Timestamp.distantFuture
    /// Which of the two is next.
    var wantsVolume = false
  }

  /// A configured symbol that the list has.
  struct Entry {
    let symbol: String
    let wanted: FeedSymbol
    /// `btcusd`, `btcgusdperp`
    let name: String
    var place: Int?
    var details: GeminiDetails?
    var fetched: Timestamp?
    /// Not to be carried, whatever the connection.
    var isEnded = false
    /// Whether the newest list has it.
    var isListed = true
  }

  /// What a REST request is for; the numbers of the pacer's subjects.
  enum Subject {
    case list
    case details(Int)
    case ticker(Int)
    case volume(Int)

    init(_ number: Int) {
      let market = (number - 1) / 3
      switch number {
      case 0: self = .list
      case _ where number % 3 == 1: self = .details(market)
      case _ where number % 3 == 2: self = .ticker(market)
      default: self = .volume(market)
      }
    }

    var number: Int {
      switch self {
      case .list: 0
      case .details(let market): market * 3 + 1
      case .ticker(let market): market * 3 + 2
      case .volume(let market): market * 3 + 3
      }
    }
  }

  /// The beginning or the end of a market's streams.
  struct Request: RepeatedRequest {
    var place: Int
    var streams: [String]
    var isEnd = false
    var attempts = 0
    var refusals = 0
    /// Whether the book is among the streams.
    var hasBook: Bool { streams.contains { $0.hasSuffix(GeminiHandler.bookStream) } }
  }

  var feeds: [Feed] = []
  var entries: [Entry] = []
  /// Whether the list is there, and nobody wants a newer one.
  var isListed = false
  /// Whether a list is there, be it an older one: enough to connect with.
  var hasList = false
  var pacer: RequestPacer
  private(set) var isConnected = false
  /// 347 markets on one socket have been taken; nothing promises it. Of a market there is one request, and two for
  /// its book when that is subscribed again.
  var outbox = RequestOutbox<Request>(atOnce: 25, every: 200 * Microseconds.millisecond, limit: 2_048)
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  private var ping: Int?

  package init(configuration: FeedConfiguration) {
    pacer = RequestPacer(
      weightPerMinute: max(1, Self.restPerMinute / configuration.connections), requestWeight: 1, concurrency: 2)
    super.init(venue: Self.venue, configuration: configuration)
  }

  // MARK: REST

  package override var isPrepared: Bool { hasList }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    if !isListed { pacer.want(Subject.list.number) }
    ask(now)
  }

  override func answered(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    guard let subject = pacer.answered(request) else { return }
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "REST request: status \(status)") }
      switch Subject(subject) {
      case .list: take(try readNames(body), now: now, into: &batch)
      case .details(let market): take(try readDetails(body), of: market, now: now, into: &batch)
      case .ticker(let market):
        if let place = entries[market].place { try readDay(body, place, now: now, into: &batch) }
      case .volume(let market):
        if let place = entries[market].place { try readVolume(body, place, now: now, into: &batch) }
      }
      pacer.succeeded(subject)
    } catch {
      rejectAnswer(error)
      guard status == 400 || status == 404 else {
        pacer.failed(subject, status: status, retryAfter: retryAfter, now: now)
        return ask(now)
      }
      // There is nothing to be had, now or soon. A spot market does without.
      if case .details(let market) = Subject(subject), entries[market].place == nil {
        refuse(entries[market].symbol, "Gemini gives no details of \(entries[market].name)")
      } else if case .list = Subject(subject) {
        pacer.failed(subject, status: status, retryAfter: retryAfter, now: now)
      }
    }
    ask(now)
  }

  /// Where the URL does not ask for whole books, nothing can be carried however often it is asked for.
  override var asksAgain: Bool { asksForWholeBooks }

  private var asksForWholeBooks: Bool { url.contains("snapshot=-1") }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for index in entries.indices where symbols.contains(entries[index].symbol) {
      // What was closed may have been opened, which its details say.
      entries[index].fetched = nil
      if let place = entries[index].place, !entries[index].isEnded { feeds[place].isRefused = false }
    }
    isListed = false
    pacer.want(Subject.list.number)
    ask(now)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    heardAt = now
    lastPing = now
    // Without it the first message of a book would be taken for the whole of it.
    guard asksForWholeBooks else {
      for market in entries.indices {
        end(
          market, "\(url) does not ask for whole books: leave the path out of the endpoint, or write \(venue.endpoint)",
          into: &batch)
      }
      isConnected = true
      return
    }
    isConnected = true
    subscribeMissing(now)
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    #"{"id":\#(id),"method":"subscribe","params":\#(JSONText.array([market + "@bookTicker"]))}"#
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Asked for again beside the next connection: markets are listed and delisted.
    isListed = false
    pacer.removeAll()
    outbox.removeAll()
    ping = nil
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].isRefused = false
      feeds[place].tickerDue = .distantFuture
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else { return prepare(now: now, into: &batch) }
    for place in feeds.indices {
      if feeds[place].book.isDue(now: now) {
        let stream = [name(place) + Self.bookStream]
        feeds[place].book.queued(now: now)
        outbox.append(
          together: Request(place: place, streams: stream, isEnd: true), Request(place: place, streams: stream))
      }
      if now >= feeds[place].tickerDue {
        let market = feeds[place].entry
        pacer.want((feeds[place].wantsVolume ? Subject.volume(market) : .ticker(market)).number)
        feeds[place].wantsVolume.toggle()
        // Two requests each; at half of what REST may be asked, so that lists and details find room.
        let turn = Int64(feeds.count) * 2 * Microseconds.minute / Int64(pacer.weightPerMinute)
        feeds[place].tickerDue = now + max(Self.tickerInterval / 2, turn)
      }
    }
    repeatUnanswered(of: &outbox, now: now) {
      $0.streams.joined(separator: " ")
    } isMoot: {
      isMoot(&$0, now)
    }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      requestID += 1
      ping = requestID
      actions.append(.send(#"{"id":\#(requestID),"method":"ping"}"#))
    }
    flush(now)
    ask(now)
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

  /// Takes a live book out of sync; it is subscribed again by the next `tick`.
  func reset(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].book.resync(now: now) else { return }
    if reason == .gap { seen[place].gaps += 1 }
    batch.events.append(.bookReset(InstrumentID(place), reason))
  }

  private func name(_ place: Int) -> String { instruments[place].venueSymbol }

  /// Whether a request that was not answered need not be sent again. Its book, if it has one, asks again by itself
  /// until its data comes.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    guard !feeds[request.place].isRefused else { return true }
    if request.hasBook {
      let book = feeds[request.place].book
      // The answer comes after the snapshot: one that is live has been subscribed, and the other streams with it.
      if book.isLive { return true }
      unanswered(book.silentAttempts, request.streams.joined(separator: " "), now: now)
      request.streams.removeAll { $0.hasSuffix(Self.bookStream) }
    }
    return request.streams.isEmpty
  }

  func streams(of place: Int) -> [String] { Self.streams.map { name(place) + $0 } }

  /// What is carried and has not been asked for on this connection.
  func subscribeMissing(_ now: Timestamp) {
    for place in feeds.indices where feeds[place].book.state == .unsubscribed && !feeds[place].isRefused {
      let entry = entries[feeds[place].entry]
      guard entry.isListed, !entry.isEnded else { continue }
      feeds[place].book.queued(now: now)
      outbox.append(Request(place: place, streams: streams(of: place)))
      // The first figures of all, one after the other.
      feeds[place].tickerDue = now + Int64(1 + place) * Microseconds.minute / Int64(pacer.weightPerMinute)
    }
  }

  func flush(_ now: Timestamp) {
    if outbox.isEmpty { followCanary(now) }
    for request in outbox.take(now: now) { send(request, now) }
  }

  private func send(_ request: Request, _ now: Timestamp) {
    let place = request.place
    if request.hasBook, feeds[place].isRefused ? !request.isEnd : !feeds[place].book.isQueued {
      // Refused since, or its snapshot has come after all.
      return
    }
    if !request.hasBook, feeds[place].isRefused { return }
    requestID += 1
    let method = request.isEnd ? "unsubscribe" : "subscribe"
    actions.append(
      .send(#"{"id":\#(requestID),"method":"\#(method)","params":\#(JSONText.array(request.streams))}"#))
    guard !request.isEnd else { return }
    outbox.sent(request, as: requestID, now: now)
    if request.hasBook { feeds[place].book.subscribed(now: now) }
  }

  // MARK: Replies

  /// `{"id":…,"status":200}`, or with `"error":{"code":…,"msg":…}`.
  func replied(_ reply: GeminiReply, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    isAnswer = true
    if let ping, reply.id == ping {
      self.ping = nil
      batch.events.append(.heartbeat)
      return
    }
    let request = reply.id.flatMap { outbox.answered($0) }
    guard reply.status != 200 else { return }
    let reason = reply.message.isEmpty ? "status \(reply.status)" : reply.message
    guard let request else { throw FeedError(.refused, reason) }
    if reply.status != 400 || reply.code == -1003 {
      // Too much at once, or the venue's own trouble: the same again later.
      again(request, now)
      outbox.pause(until: now + Self.ratePause)
      throw FeedError(.refused, reason)
    }
    // One bad stream refuses all; without a quote or trades there is still a book.
    let bad = request.streams.filter { reply.message.hasSuffix($0) }
    if !bad.isEmpty, !bad.contains(where: { $0.hasSuffix(Self.bookStream) }) {
      let rest = request.streams.filter { !bad.contains($0) }
      if !rest.isEmpty { again(Request(place: request.place, streams: rest), now) }
      var refused = request
      refused.streams = bad
      askLater(refused, in: &outbox, now: now)
      flush(now)
      throw FeedError(.refused, reason)
    }
    if !request.hasBook { askLater(request, in: &outbox, now: now) }
    if !request.hasBook || feeds[request.place].book.isLive { throw FeedError(.refused, reason) }
    stop(request.place)
    refuse(entries[feeds[request.place].entry].symbol, reason)
  }

  private func again(_ request: Request, _ now: Timestamp) {
    if request.hasBook { feeds[request.place].book.queued(now: now) }
    outbox.append(request)
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    heardAt = now
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"depthUpdate\"") else { return }
    for place in Salvage.symbols(message, key: "\"s\"", in: table) {
      reset(place, .malformed, now: now, into: &batch)
    }
    tick(now: now, into: &batch)
  }
}

/// `GET /v1/symbols/details/…`, as far as it is used.
struct GeminiDetails {
  var base = ""
  var quote = ""
  var status = ""
  /// `vanilla`, `linear`, `inverse`; empty on spot in older answers.
  var contract = ""
  /// `quote_increment`
  var priceIncrement: Decimal64?
  /// `tick_size`, which is the step of sizes.
  var sizeIncrement: Decimal64?
}

/// The answer to a request.
struct GeminiReply {
  var id: Int?
  var status: Int64 = 200
  var code: Int64 = 0
  var message = ""
}
