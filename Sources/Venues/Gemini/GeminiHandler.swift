import Bytes
import MarketData

/// Gemini's WebSocket (the API of 2025 and later): spot and linear perpetuals on one connection, without a key.
///
/// `depth@100ms` is the book, `bookTicker` the quote, `trade` the trades. With `?snapshot=-1` in the URL the first message of a book after
/// its subscription is the whole of it, told from the others by `U` = `u` alone. Each further one begins at the number that the one
/// before ended at: `U` = `u` before, an overlap of one. There is no checksum.
///
/// 24 h figures are by REST only, a market at a time: they are asked for in turn within `restPerMinute`. So are the increments; spot markets
/// need not wait for them, as their names are base and quote. Perpetuals wait, until it is known that they are linear.
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
  /// Subscriptions sent in one go, and the time between two goes. 347 markets on one socket have been taken; nothing promises it.
  static let requestsAtOnce = 25
  static let requestInterval = 200 * Microseconds.millisecond
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
    staleAfter: 30 * Microseconds.second,
    // A whole book of 16,000 levels is some 500 KB.
    messageLimit: 8 << 20, symbolLimit: 350, kinds: [.spot, .perpetual],
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 20_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("depth@100ms", .book, silence: .linked, .contradicted), .init("trade", .trades),
        .init("bookTicker", .quote),
      ],
      bookDepth: nil, bookCheck: "each update begins at the number that the one before ended at",
      connectionLife: "pings after 15 s of silence are answered", requests: [.instruments, .volumes],
      limits: ["120 REST requests a minute"]),
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
  }

  /// What a REST request is for; the numbers of the pacer's subjects.
  private enum Subject {
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

  /// A subscription under way, by its number.
  private struct Request {
    var place: Int
    var streams: [String]
  }

  var feeds: [Feed] = []
  private(set) var entries: [Entry] = []
  private var isListed = false
  private var pacer = RequestPacer(weightPerMinute: restPerMinute, requestWeight: 1, concurrency: 2)
  private var isConnected = false
  private var requestID = 0
  private var requests: [Int: Request] = [:]
  private var outbox: [String] = []
  private var sendDue = Timestamp.distantPast
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  private var ping: Int?

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: REST

  package override var isPrepared: Bool { isListed }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    if !isListed { pacer.want(Subject.list.number) }
    ask(now)
  }

  private func ask(_ now: Timestamp) {
    pacer.expire(now: now)
    while let (subject, request) = pacer.next(now: now) {
      switch Subject(subject) {
      case .list: actions.append(.get(request: request, path: "/v1/symbols", bodyLimit: Self.listLimit))
      case .details(let market): get(request, "/v1/symbols/details/\(entries[market].name)")
      case .ticker(let market): get(request, "/v2/ticker/\(entries[market].name)")
      case .volume(let market): get(request, "/v1/pubticker/\(entries[market].name)")
      }
    }
  }

  private func get(_ request: Int, _ path: String) {
    actions.append(.get(request: request, path: path, bodyLimit: Self.detailsLimit))
  }

  package override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
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
        pacer.failed(subject, status: status, now: now)
        return ask(now)
      }
      // There is nothing to be had, now or soon. A spot market does without.
      if case .details(let market) = Subject(subject), entries[market].place == nil {
        refuse(entries[market].symbol, "Gemini gives no details of \(entries[market].name)")
      } else if case .list = Subject(subject) {
        pacer.failed(subject, status: status, now: now)
      }
    }
    ask(now)
  }

  private func take(_ names: [String], now: Timestamp, into batch: inout EventBatch) {
    list(names.compactMap { name in GeminiName.symbol(name).map { ListedMarket(venueSymbol: name, symbol: $0) } })
    let known = Set(names)
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      let name = GeminiName.text(of: wanted)
      guard known.contains(name) else {
        refuse(symbol, "Gemini has no market \(name)\(NearNames.question(name, among: names))")
        continue
      }
      let market = entries.firstIndex { $0.symbol == symbol } ?? entries.count
      if market == entries.count { entries.append(Entry(symbol: symbol, wanted: wanted, name: name)) }
      if wanted.kind == .spot, entries[market].place == nil { add(market, now: now, into: &batch) }
      if entries[market].fetched.map({ now - $0 >= Self.detailsAge }) ?? true {
        pacer.want(Subject.details(market).number)
      }
    }
    isListed = true
  }

  private func take(_ details: GeminiDetails, of index: Int, now: Timestamp, into batch: inout EventBatch) {
    let market = entries[index]
    entries[index].fetched = now
    guard details.base.uppercased() == market.wanted.base, details.quote.uppercased() == market.wanted.quote else {
      return end(
        index, "Gemini's \(market.name) is \(details.base)-\(details.quote), not \(market.symbol)", into: &batch)
    }
    guard details.contract != "inverse" else {
      return end(
        index, "\(market.name) is an inverse contract: its sizes have no exact value in \(market.wanted.base)",
        into: &batch)
    }
    guard details.status != "closed" else { return end(index, "\(market.name) is closed at Gemini", into: &batch) }
    entries[index].details = details
    entries[index].isEnded = false
    add(index, now: now, into: &batch)
    if market.isEnded, isConnected, let place = market.place {
      feeds[place].isRefused = false
      subscribe(place, now)
    }
  }

  /// The market is not to be carried, now or later.
  private func end(_ index: Int, _ reason: String, into batch: inout EventBatch) {
    entries[index].isEnded = true
    if let place = entries[index].place, !feeds[place].isRefused {
      if feeds[place].book.isLive { batch.events.append(.bookReset(InstrumentID(place), .venueReset)) }
      stop(place)
      if isConnected { send(#""method":"unsubscribe","params":\#(JSONText.array(streams(of: place)))"#) }
    }
    refuse(entries[index].symbol, reason)
  }

  /// The market is not to be carried on this connection.
  private func stop(_ place: Int) {
    feeds[place].isRefused = true
    feeds[place].book.disconnected()
    feeds[place].tickerDue = .distantFuture
  }

  /// Adds a market, or brings it up to date with its details.
  private func add(_ index: Int, now: Timestamp, into batch: inout EventBatch) {
    let market = entries[index]
    let place = add(
      venueSymbol: market.name, base: market.wanted.base, quote: market.wanted.quote, kind: market.wanted.kind,
      priceScale: market.details?.priceIncrement?.scale ?? 0, sizeScale: market.details?.sizeIncrement?.scale ?? 0,
      priceIncrement: market.details?.priceIncrement, sizeIncrement: market.details?.sizeIncrement, into: &batch)
    guard let place else { return refuse(market.symbol, "too many symbols on one connection") }
    guard market.place == nil else { return }
    guard place == feeds.count else {
      let other = entries[feeds[place].entry].symbol
      return refuse(market.symbol, "Gemini's \(market.name) is carried as \(other): leave one of them out")
    }
    entries[index].place = place
    feeds.append(Feed(entry: index))
    if isConnected {
      subscribe(place, now)
      flush(now)
    }
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    heardAt = now
    lastPing = now
    sendDue = now
    // Without it the first message of a book would be taken for the whole of it.
    guard url.contains("snapshot=-1") else {
      for market in entries.indices {
        end(
          market, "\(url) does not ask for whole books: leave the path out of the endpoint, or write \(venue.endpoint)",
          into: &batch)
      }
      isConnected = true
      return
    }
    isConnected = true
    for place in feeds.indices where !entries[feeds[place].entry].isEnded { subscribe(place, now) }
    flush(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Asked for again before the next connection: markets are listed and delisted.
    isListed = false
    pacer.removeAll()
    requests.removeAll()
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
        let stream = name(place) + Self.bookStream
        send(#""method":"unsubscribe","params":\#(JSONText.array([stream]))"#)
        subscribe(place, [stream])
        feeds[place].book.subscribed(now: now)
      }
      if now >= feeds[place].tickerDue {
        let market = feeds[place].entry
        pacer.want((feeds[place].wantsVolume ? Subject.volume(market) : .ticker(market)).number)
        feeds[place].wantsVolume.toggle()
        // Two requests each; at half of what REST may be asked, so that lists and details find room.
        let turn = Int64(feeds.count) * 2 * Microseconds.minute / Int64(Self.restPerMinute)
        feeds[place].tickerDue = now + max(Self.tickerInterval / 2, turn)
      }
    }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      ping = send(#""method":"ping""#)
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

  private func streams(of place: Int) -> [String] { Self.streams.map { name(place) + $0 } }

  private func subscribe(_ place: Int, _ now: Timestamp) {
    subscribe(place, streams(of: place))
    feeds[place].book.subscribed(now: now)
    // The first figures of all, one after the other.
    feeds[place].tickerDue = now + Int64(1 + place) * Microseconds.minute / Int64(Self.restPerMinute)
  }

  private func subscribe(_ place: Int, _ streams: [String]) {
    let id = send(#""method":"subscribe","params":\#(JSONText.array(streams))"#)
    requests[id] = Request(place: place, streams: streams)
  }

  @discardableResult
  private func send(_ text: String) -> Int {
    requestID += 1
    outbox.append(#"{"id":\#(requestID),\#(text)}"#)
    return requestID
  }

  private func flush(_ now: Timestamp) {
    guard !outbox.isEmpty, now >= sendDue else { return }
    sendDue = now + Self.requestInterval
    for text in outbox.prefix(Self.requestsAtOnce) { actions.append(.send(text)) }
    outbox.removeFirst(min(outbox.count, Self.requestsAtOnce))
  }

  // MARK: Replies

  /// `{"id":…,"status":200}`, or with `"error":{"code":…,"msg":…}`.
  func replied(_ reply: GeminiReply, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    if let ping, reply.id == ping {
      self.ping = nil
      batch.events.append(.heartbeat)
      return
    }
    let request = reply.id.flatMap { requests.removeValue(forKey: $0) }
    guard reply.status != 200 else { return }
    let reason = reply.message.isEmpty ? "status \(reply.status)" : reply.message
    guard let request else { throw FeedError(.refused, reason) }
    if reply.status != 400 || reply.code == -1003 {
      // Too much at once, or the venue's own trouble: the same again later.
      subscribe(request.place, request.streams)
      sendDue = now + Self.ratePause
      throw FeedError(.refused, reason)
    }
    // One bad stream refuses all; without a quote or trades there is still a book.
    let bad = request.streams.filter { reply.message.hasSuffix($0) }
    if !bad.isEmpty, !bad.contains(where: { $0.hasSuffix(Self.bookStream) }) {
      subscribe(request.place, request.streams.filter { !bad.contains($0) })
      return flush(now)
    }
    if feeds[request.place].book.isLive { throw FeedError(.refused, reason) }
    stop(request.place)
    refuse(entries[feeds[request.place].entry].symbol, reason)
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
