import Bytes
import MarketData

/// Deribit v2 (JSON-RPC): linear perpetuals and dated futures, settled in USDC or USDT, on one connection without a
/// key.
///
/// Instruments come by REST before the connection, then `book.….100ms` (the whole book in the stream, then changes),
/// `quote`, `trades.….100ms` and `ticker.….agg2`. Books are chained: each change names the number before it. The
/// numbers are those of a counter that all books share, so a chain is all that is tested.
///
/// **Sizes.** The amount of a linear contract is in its base currency already and is taken as it is, whatever
/// `contract_size` says. That of an inverse contract (`BTC-PERPETUAL`, settled in its base currency) is in US
/// dollars, which have no exact value in base units: those are refused. Options cannot be written as symbols, and
/// spot is left out: its pairs are matched at another exchange.
///
/// **Silence.** Still books send nothing for minutes. The connection lives by Deribit's own heartbeat, whose test
/// requests are answered at once. A book whose `quote` moves while it stays as it is has died alone: it is subscribed
/// again.
package final class DeribitHandler: SymbolHandler {
  /// Seconds between heartbeats, the shortest that Deribit takes. Without it a quiet connection ends after a minute.
  static let heartbeatSeconds = 10
  /// Symbols in one request: with four channels each it stays below the 500 that are recommended.
  static let symbolsPerRequest = 100
  /// How long a book may stay as it is after its quote has moved. Feeds without a key have been seen 1.6 s late.
  static let quoteLead = 15 * Microseconds.second

  package static let venue = Venue(
    name: "deribit", title: "Deribit", separator: "_", endpoint: "wss://www.deribit.com/ws/api/v2",
    restEndpoint: "https://www.deribit.com",
    // A heartbeat comes every 10 s.
    cadence: .promised("heartbeat", every: Int64(heartbeatSeconds) * Microseconds.second),
    // Books are sent whole: some thousand levels of 25 bytes a side.
    messageLimit: 4 << 20, offersCompression: true,
    symbolLimit: 200, kinds: [.perpetual, .future],
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: nil, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("book.100ms", .book, silence: .linked, .contradicted), .init("quote", .quote),
        .init("trades.100ms", .trades), .init("ticker.agg2", .ticker),
      ],
      bookDepth: nil, bookCheck: "prev_change_id links each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["500 channels a connection", "3,000 of 30,000 credits a subscription, 10,000 come back a second"]),
    replay: replay,
    makeHandler: { DeribitHandler(configuration: $0) })

  struct Feed {
    var book = StreamedBook()
    /// `change_id` of the newest book message, and of the one before it.
    var last: Int64 = 0
    var previous: Int64 = 0
    var quote: Quote?
    /// Since when the quote has moved without its book.
    var leading: Timestamp?
    var subscribed = Timestamp.distantPast
    var hasTraded = false
    /// Whether the newest list has it.
    var isListed = true
    var isRefused = false
    var isCarried: Bool { isListed && !isRefused }
  }

  /// A request about books, or about all that there is of some symbols.
  struct Request: SymbolRequest, RepeatedRequest {
    enum Kind {
      case everything, book, leave
      /// Everything but the book.
      case others
    }
    var kind: Kind
    var places: [Int]
    var attempts = 0
    var refusals = 0
  }

  var feeds: [Feed] = []
  private var isConnected = false
  private var outbox: RequestOutbox<Request>
  private var rateBackoff = Backoff(first: 2 * Microseconds.second, limit: Microseconds.minute)
  private var inMaintenance = false
  /// Whether the connection was made while maintenance had been announced: its first acknowledgement ends it.
  private var endsMaintenance = false
  private var followsPlatform = false
  private var heardAt = Timestamp.distantPast

  package init(configuration: FeedConfiguration) {
    // Subscribing costs 3,000 of an address's 30,000 credits, of which 10,000 come back in a second. Two requests go
    // out in that time.
    outbox = RequestOutbox(
      atOnce: 2, every: Microseconds.second * Int64(configuration.connections), limit: 64)
    super.init(venue: Self.venue, configuration: configuration)
  }

  // MARK: Instruments

  override var listPath: String? { "/api/v2/public/get_instruments?currency=any&kind=future&expired=false" }

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

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) { feeds[place].isRefused = false }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  /// Of the currencies that linear contracts are settled in.
  override var volumeRequests: [String] {
    ["USDC", "USDT"].map { "/api/v2/public/get_book_summary_by_currency?currency=\($0)&kind=future" }
  }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readSummaries(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    endsMaintenance = inMaintenance
    followsPlatform = false
    heardAt = now
    requestID += 1
    actions.append(
      .send(
        #"{"jsonrpc":"2.0","id":\#(requestID),"method":"public/set_heartbeat","params":{"interval":\#(Self.heartbeatSeconds)}}"#
      ))
    subscribeMissing(now)
    flush(now)
  }

  /// What is carried and has not been asked for on this connection.
  private func subscribeMissing(_ now: Timestamp) {
    let places = feeds.indices.filter { feeds[$0].isCarried && feeds[$0].book.state == .unsubscribed }
    for some in groups(of: places) { outbox.append(Request(kind: .everything, places: some)) }
    for place in places { feeds[place].book.queued(now: now) }
  }

  private func groups(of places: [Int]) -> [[Int]] {
    stride(from: 0, to: places.count, by: Self.symbolsPerRequest).map {
      Array(places[$0..<min($0 + Self.symbolsPerRequest, places.count)])
    }
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    outbox.removeAll()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].quote = nil
      feeds[place].leading = nil
      feeds[place].hasTraded = false
      feeds[place].isRefused = false
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    for place in feeds.indices {
      // By what was heard, not by the clock: while nothing comes at all, nothing shows that a book has died alone.
      guard let since = feeds[place].leading, heardAt - since >= Self.quoteLead else { continue }
      feeds[place].leading = nil
      lose(place, .stale, now: now, into: &batch)
    }
    repeatUnanswered(of: &outbox, now: now) { request in
      "\(request.kind) of \(request.places.map { name($0) }.joined(separator: " "))"
    } isMoot: {
      isMoot(&$0, now)
    }
    flush(now)
  }

  private func name(_ place: Int) -> String { instruments[place].venueSymbol }

  /// Whether a request that was not answered need not be sent again. A book asks again by itself, until its data comes.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    switch request.kind {
    case .leave: return true
    case .book, .everything:
      let silent = request.places.filter { feeds[$0].isCarried && !feeds[$0].book.isLive }
      if let attempts = silent.map({ feeds[$0].book.silentAttempts }).max() {
        unanswered(attempts, "books of \(silent.map { name($0) }.joined(separator: " "))", now: now)
      }
      guard request.kind == .everything else { return true }
      request.kind = .others
    case .others: break
    }
    request.places.removeAll { !feeds[$0].isCarried }
    return request.places.isEmpty
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.resync(now: now) else {
      return
    }
    flush(now)
  }

  /// Takes a live book out of sync and has it subscribed again.
  func lose(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), reason))
    flush(now)
  }

  /// The books whose time has come, all in one pair of requests. A channel that is subscribed already sends no second
  /// snapshot: it is left first.
  private func subscribeAgain(_ now: Timestamp) {
    let places = feeds.indices.filter { feeds[$0].isCarried && feeds[$0].book.isDue(now: now) }
    for some in groups(of: places) {
      outbox.append(together: Request(kind: .leave, places: some), Request(kind: .book, places: some))
    }
    for place in places { feeds[place].book.queued(now: now) }
  }

  private func flush(_ now: Timestamp) {
    guard outbox.isOpen(at: now) else { return }
    if outbox.isEmpty { subscribeAgain(now) }
    for request in outbox.take(now: now) { send(request, now) }
  }

  private func send(_ request: Request, _ now: Timestamp) {
    var request = request
    // A book whose snapshot has come after all is left as it is.
    request.places.removeAll { !feeds[$0].isCarried || (request.kind != .others && !feeds[$0].book.isQueued) }
    guard !request.places.isEmpty else { return }
    requestID += 1
    outbox.sent(request, as: requestID, now: now)
    var channels = request.places.flatMap { names(of: $0, request.kind) }
    if request.kind == .everything, !followsPlatform {
      followsPlatform = true
      channels.append("platform_state")
    }
    let method = request.kind == .leave ? "unsubscribe" : "subscribe"
    actions.append(
      .send(
        #"{"jsonrpc":"2.0","id":\#(requestID),"method":"public/\#(method)","params":{"channels":\#(JSONText.array(channels))}}"#
      ))
    guard request.kind == .book || request.kind == .everything else { return }
    for place in request.places {
      feeds[place].book.subscribed(now: now)
      if request.kind == .everything { feeds[place].subscribed = now }
    }
  }

  private func names(of place: Int, _ kind: Request.Kind) -> [String] {
    let name = instruments[place].venueSymbol
    let book = "book.\(name).100ms"
    let others = ["quote.\(name)", "trades.\(name).100ms", "ticker.\(name).agg2"]
    switch kind {
    case .everything: return [book] + others
    case .others: return others
    case .book, .leave: return [book]
    }
  }

  // MARK: Replies

  /// A request was carried out, for the channels that the answer lists. What is missing there does not exist: nothing
  /// else says so.
  func acknowledged(_ id: Int, books: Set<Int>, now: Timestamp) {
    guard let request = outbox.answered(id) else { return }
    rateBackoff.reset()
    guard request.kind == .book || request.kind == .everything else { return }
    if endsMaintenance {
      endsMaintenance = false
      maintenance(false)
    }
    for place in request.places where !books.contains(place) && feeds[place].isCarried && !feeds[place].book.isLive {
      refuse(place, "Deribit did not subscribe \(names(of: place, .book)[0]): it is not listed, or has expired")
    }
  }

  /// A request was refused as a whole. Which symbol it was about, if any, shows when the halves are asked for.
  func refusedRequest(_ id: Int?, code: Int64, message: String, now: Timestamp) throws(FeedError) {
    guard let request = id.flatMap({ outbox.answered($0) }) else {
      throw FeedError(.refused, "code \(code): \(message)")
    }
    let isTooMuch = code == 10028
    if isTooMuch { outbox.pause(until: now + rateBackoff.next()) }
    if request.kind == .others {
      askLater(request, in: &outbox, now: now)
      throw FeedError(.refused, "\(request.kind): code \(code): \(message)")
    }
    // A book of which nothing comes is left and subscribed again by itself.
    guard request.kind != .leave, !isTooMuch || request.kind == .everything else {
      throw FeedError(.refused, "\(request.kind): code \(code): \(message)")
    }
    let places = request.places.filter { feeds[$0].isCarried && !feeds[$0].book.isLive }
    if !isTooMuch, places.count == 1 { return refuse(places[0], "code \(code): \(message)") }
    for place in places { feeds[place].book.queued(now: now) }
    if isTooMuch {
      outbox.putBack(request)
    } else if places.count > 1 {
      outbox.putBackHalves(of: Request(kind: request.kind, places: places))
    }
  }

  private func refuse(_ place: Int, _ reason: String) {
    feeds[place].isRefused = true
    feeds[place].book.disconnected()
    refuse(configuredName(place), reason)
  }

  /// A test request must be answered within 10 s: it does not wait for its turn.
  func answerTest() {
    requestID += 1
    actions.append(.send(#"{"jsonrpc":"2.0","id":\#(requestID),"method":"public/test","params":{}}"#))
  }

  func maintenance(_ isOn: Bool) {
    guard isOn != inMaintenance else { return }
    inMaintenance = isOn
    actions.append(.maintenance(isOn))
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    heardAt = now
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"book.") else { return }
    for place in Salvage.symbols(message, key: "\"instrument_name\"", in: table) {
      lose(place, .malformed, now: now, into: &batch)
    }
  }
}
