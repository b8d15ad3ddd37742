import Bytes
import MarketData

/// OKX v5: spot, linear perpetuals (`SWAP`) and linear dated futures on one connection, without a key.
///
/// Instruments come by REST before the connection, then `books` (400 levels, a snapshot in the stream, then changes
/// every 100 ms), `bbo-tbt` as quotes (10 ms), `trades` and `tickers`. Books are chained: each update names the
/// number before it. The checksum has been 0 since June 2026 and is not looked at.
///
/// Sizes of contracts are in contracts: they are multiplied by `ctVal` × `ctMult` as they are read. Inverse
/// contracts, whose worth is fixed in dollars, are not carried.
package final class OKXHandler: SymbolHandler {
  /// Quiet time after which a ping is sent; OKX drops a connection on which nothing was said for 30 s.
  static let pingAfter = 20 * Microseconds.second
  /// Subscriptions of a connection in an hour, counted by the argument, which is the stricter reading of 480
  /// "operations". Beyond it a new connection is made, which begins a count of its own.
  static let operationLimit = 470
  /// Arguments in one request: 100 of them are about 5 KB of the 64 KB that are allowed.
  static let argumentsPerRequest = 100
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 5 * Microseconds.second
  static let channels = ["books", "bbo-tbt", "trades", "tickers"]

  package static let venue = Venue(
    name: "okx", title: "OKX", separator: "-", endpoint: "wss://ws.okx.com:8443/ws/v5/public",
    restEndpoint: "https://www.okx.com",
    // Pings go out after 20 s of silence and are answered.
    cadence: .canary("tickers", of: ["BTC-USDT"], every: Microseconds.second),
    // A snapshot of 400 levels a side is about 40 KB.
    messageLimit: 2 << 20,
    // Four arguments a symbol of `operationLimit`, with room for books that are subscribed again.
    symbolLimit: 100, kinds: [.spot, .perpetual, .future],
    // Three attempts a second from one address.
    connectLimit: ConnectLimit(count: 3, interval: Microseconds.second),
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 400, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("books", .book, silence: .linked, .atLeast(every: Microseconds.minute), .contradicted),
        .init("bbo-tbt", .quote), .init("trades", .trades), .init("tickers", .ticker),
      ],
      bookDepth: 400, bookCheck: "prevSeqId links each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["480 subscriptions an hour and connection", "64 KB a request"]),
    replay: replay,
    makeHandler: { OKXHandler(configuration: $0) })

  struct Feed {
    var book = StreamedBook()
    /// A book that does not change says so about once a minute.
    var updates = SilenceWatch(every: Microseconds.minute)
    /// `seqId` of the newest book message, and of the one before it.
    var last: Int64 = 0
    var previous: Int64 = 0
    var lastTrade: Int64 = 0
    var subscribed = Timestamp.distantPast
    var hasTraded = false
    var isRefused = false
  }

  /// Arguments of one request.
  struct Request: SymbolRequest, RepeatedRequest {
    var isEnd = false
    /// Arguments: a symbol's place × channels + the channel.
    var places: [Int]
    var attempts = 0
    var refusals = 0
  }

  var feeds: [Feed] = []
  /// How many fills each trade of the message being read stands for; kept for its memory.
  var fillCounts: [Int64] = []
  /// How many of `types` have been listed, and what they list.
  private var typesListed = 0
  private var listed: [ListedMarket] = []
  private var isConnected = false
  private var isLeaving = false
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  /// Three requests a second are allowed; those of a pair count as one here, four times a second, as they are few.
  private var outbox = RequestOutbox<Request>(atOnce: 2, every: 250 * Microseconds.millisecond, limit: 512)
  private var operations = 0
  private var hour = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Instruments

  /// One kind of instrument after the other.
  override var listPath: String? {
    let types = types
    return types.isEmpty ? nil : "/api/v5/public/instruments?instType=\(types[min(typesListed, types.count - 1)])"
  }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    // Symbols of no kind that is carried, or none at all: nothing is asked for, and they are refused.
    if types.isEmpty { carry([], into: &batch) }
    super.prepare(now: now, into: &batch)
  }

  /// The kinds of instrument that are wanted, by OKX's names, in a fixed order.
  private var types: [String] {
    let families = wantedFamilies
    let names: [(Instrument.Kind.Family, String)] = [(.spot, "SPOT"), (.perpetual, "SWAP"), (.future, "FUTURES")]
    return names.filter { families.contains($0.0) }.map(\.1)
  }

  override func hasListed(now: Timestamp) {
    if isConnected { subscribe(feeds.indices.filter { feeds[$0].book.state == .unsubscribed }, now) }
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    listed += try readMarkets(body)
    typesListed += 1
    guard typesListed >= types.count else { return false }
    carry(listed, into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed()) }
    forgetLists()
    return true
  }

  private func forgetLists() {
    typesListed = 0
    listed = []
  }

  override func isLive(_ place: Int) -> Bool { feeds[place].book.isLive }

  override var volumeRequests: [String] { types.map { "/api/v5/market/tickers?instType=\($0)" } }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    heardAt = now
    lastPing = now
    operations = 0
    hour = now
    subscribe(Array(feeds.indices), now)
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    #"{"id":"\#(id)","op":"subscribe","args":[{"channel":"tickers","instId":"\#(market)"}]}"#
  }

  private func subscribe(_ wanted: [Int], _ now: Timestamp) {
    let places = wanted.filter { !feeds[$0].isRefused }
    let arguments = places.flatMap { place in Self.channels.indices.map { place * Self.channels.count + $0 } }
    for start in stride(from: 0, to: arguments.count, by: Self.argumentsPerRequest) {
      let some = Array(arguments[start..<min(start + Self.argumentsPerRequest, arguments.count)])
      guard mayAsk(some.count, now) else { return }
      outbox.append(Request(places: some))
    }
    for place in places {
      feeds[place].book.subscribed(now: now)
      feeds[place].subscribed = now
    }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) { feeds[place].isRefused = false }
    if listRequest.isDone { forgetLists() }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    forgetLists()
    outbox.removeAll()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].updates.disconnected()
      // What was refused is asked for again: a market that was halted may be open.
      feeds[place].isRefused = false
      feeds[place].lastTrade = 0
      feeds[place].hasTraded = false
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    for place in feeds.indices where feeds[place].updates.isDead(now: now, connectionHeard: marketHeard) {
      if feeds[place].book.resync(now: now) { batch.events.append(.bookReset(InstrumentID(place), .stale)) }
    }
    let due = feeds.indices.filter { !feeds[$0].isRefused && feeds[$0].book.isDue(now: now) }
    if !due.isEmpty, mayAsk(2 * due.count, now) {
      let arguments = due.map { $0 * Self.channels.count }
      outbox.append(together: Request(isEnd: true, places: arguments), Request(places: arguments))
      for place in due { feeds[place].book.subscribed(now: now) }
    }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send("ping"))
    }
    repeatUnanswered(of: &outbox, now: now) {
      words($0)
    } isMoot: {
      isMoot(&$0, now)
    }
    flush(now)
  }

  /// Whether a request that was not answered need not be sent again.
  private func isMoot(_ request: inout Request, _ now: Timestamp) -> Bool {
    request.places.removeAll { argument in
      let feed = feeds[argument / Self.channels.count]
      if feed.isRefused { return true }
      guard argument % Self.channels.count == 0 else { return false }
      // A book asks again by itself, until its data comes.
      if !feed.book.isLive { unanswered(feed.book.silentAttempts, text(of: argument), now: now) }
      return true
    }
    return request.places.isEmpty || !mayAsk(request.places.count, now)
  }

  private func words(_ request: Request) -> String { request.places.map { text(of: $0) }.joined(separator: " ") }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.resync(now: now) else {
      return
    }
    tick(now: now, into: &batch)
  }

  private func text(of argument: Int) -> String {
    let name = instruments[argument / Self.channels.count].venueSymbol
    return #"{"channel":"\#(Self.channels[argument % Self.channels.count])","instId":"\#(name)"}"#
  }

  /// Counts so many arguments; false if they would be more than an hour may have, and another connection is made.
  private func mayAsk(_ count: Int, _ now: Timestamp) -> Bool {
    if now - hour >= Microseconds.hour {
      hour = now
      operations = 0
    }
    operations += count
    guard operations > Self.operationLimit else { return true }
    leave("the subscriptions of an hour are used up", within: 5 * Microseconds.minute)
    return false
  }

  private func flush(_ now: Timestamp) {
    if outbox.isEmpty { followCanary(now) }
    for var request in outbox.take(now: now) {
      request.places.removeAll { feeds[$0 / Self.channels.count].isRefused }
      if request.places.isEmpty { continue }
      requestID += 1
      let operation = request.isEnd ? "unsubscribe" : "subscribe"
      let arguments = request.places.map { text(of: $0) }.joined(separator: ",")
      actions.append(.send(#"{"id":"\#(requestID)","op":"\#(operation)","args":[\#(arguments)]}"#))
      if !request.isEnd { outbox.sent(request, as: requestID, now: now) }
    }
  }

  private func leave(_ reason: String, within: Int64) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: within))
  }

  // MARK: Replies

  /// `{"event":…}`: an acknowledgement of one argument, a refusal that names its argument in the text only, if at
  /// all, or a notice. What a refusal does not name is not acknowledged, and so sent again.
  func heard(
    _ event: String, code: String, message: String, id: Int?, argument: Int?, now: Timestamp
  ) throws(FeedError) {
    isAnswer = true
    switch event {
    case "subscribe":
      if let argument { _ = outbox.answered(id, place: argument) }
    case "error":
      let words = "code \(code): \(message)"
      // Requests too frequent, by the address and by the connection.
      if code == "50011" || code == "60014" { outbox.pause(until: now + Self.ratePause) }
      guard code == "60018", let argument = self.argument(namedIn: message) else { throw FeedError(.refused, words) }
      let place = argument / Self.channels.count
      let request = outbox.answered(nil, place: argument) ?? Request(places: [argument])
      guard !feeds[place].isRefused else { return }
      guard argument % Self.channels.count == 0, !feeds[place].book.isLive else {
        if argument % Self.channels.count != 0 { askLater(request, in: &outbox, now: now) }
        throw FeedError(.refused, words)
      }
      feeds[place].isRefused = true
      feeds[place].book.disconnected()
      feeds[place].updates.disconnected()
      refuse(configuredName(place), message)
    case "notice":
      // 64008: the connection will be closed for an upgrade in about a minute.
      if code == "64008" { leave("the venue announced a service upgrade", within: Microseconds.minute) }
    default: break
    }
  }

  /// What `channel:` and `instId:` say in a refusal; the book's where it is no channel that is subscribed.
  private func argument(namedIn message: String) -> Int? {
    func word(_ key: String) -> String? {
      message.firstRange(of: key).map { String(message[$0.upperBound...].prefix { !" ,\"".contains($0) }) }
    }
    guard var name = word("instId:") else { return nil }
    let place = name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
    let channel = word("channel:").flatMap { Self.channels.firstIndex(of: $0) } ?? 0
    return place >= 0 ? place * Self.channels.count + channel : nil
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    heardAt = now
    if Self.isPong(message) {
      isAnswer = true
      batch.events.append(.heartbeat)
      return
    }
    try readMessage(message, now: now, into: &batch)
  }

  /// The answer to `ping` is the bare word.
  private static func isPong(_ message: RawSpan) -> Bool {
    message.byteCount == 4 && message.withUnsafeBytes { $0.elementsEqual("pong".utf8) }
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"books\"") else { return }
    for place in Salvage.symbols(message, key: "\"instId\"", in: table) where feeds[place].book.resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
    }
    tick(now: now, into: &batch)
  }
}
