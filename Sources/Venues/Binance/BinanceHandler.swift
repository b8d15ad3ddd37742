import Bytes
import MarketData

/// Binance spot and USD-M futures: `depth@100ms` joined to REST snapshots, `trade`, `bookTicker`, and on spot `ticker`, on the
/// combined endpoint, without a key. A venue with two connections, as spot and futures have hosts of their own.
///
/// Snapshots are asked for with `limit=1000` (weight 50): a thousand levels a side reach further than clients are shown, and cost a
/// fifth of the weight and of the bytes of 5,000. A level beyond it is unknown until it changes. Where there are so many symbols that
/// their snapshots would take longer than `startMinutes` of the weight limit, they are of 500 or 100 levels.
package final class BinanceHandler: SymbolHandler {
  /// How much of the weight limit the snapshots of all symbols may take at the start, in minutes of it.
  static let startMinutes = 2
  /// Room for 1,000 levels a side: about 80 KB.
  static let bodyLimit = 1 << 20
  /// Stream names in one SUBSCRIBE, and the time between two: five messages a second are allowed, pings and pongs counted.
  static let namesPerRequest = 200
  static let requestInterval = 300 * Microseconds.millisecond
  /// A symbol of which nothing came for this long after subscribing, no snapshot either, is told: the acknowledgement does not prove that it exists.
  static let silenceLimit = Microseconds.minute
  /// A book that never changes still wants a snapshot, this long after its subscription was acknowledged.
  static let quietBook = 5 * Microseconds.second
  /// Binance closes every connection after 24 h.
  static let lifetime = 24 * Microseconds.hour
  /// The pause that a refusal for too many messages costs.
  static let ratePause = 5 * Microseconds.second
  /// How long after `serverShutdown` the connection may last: ten minutes were promised once, and nothing is now.
  static let shutdownNotice = 10 * Microseconds.minute

  struct Feed {
    var bridge: SnapshotBridge
    var subscribed = Timestamp.distantFuture
    /// When the subscription was acknowledged. Without that, or an update, no snapshot is asked for: it would say nothing of what comes.
    var acknowledged: Timestamp?
    var isRefused = false
    var heard = false
    var reportedSilent = false
    var lastTrade: Int64 = 0
    /// Whether `trade` came; `aggTrade`, which only recordings carry, then says nothing new.
    var hasTrades = false
  }

  /// The beginning of all streams of some symbols.
  struct Request: SymbolRequest, RepeatedRequest {
    var places: [Int]
    var attempts = 0
    var refusals = 0
  }

  let market: BinanceMarket
  var feeds: [Feed] = []
  private var pacer: RequestPacer
  /// Levels of the snapshots that are asked for.
  private var snapshotLevels: Int
  private var asksWholeList = false
  private var connectedAt: Timestamp?
  private var outbox = RequestOutbox<Request>(atOnce: 1, every: requestInterval, limit: 512)
  private var isLeaving = false

  init(_ market: BinanceMarket, configuration: FeedConfiguration) {
    self.market = market
    pacer = RequestPacer(
      weightPerMinute: market.weightPerMinute / configuration.connections, requestWeight: market.snapshots[0].weight,
      concurrency: 8)
    snapshotLevels = market.snapshots[0].levels
    super.init(venue: market.part == "spot" ? Self.spot : Self.usdm, configuration: configuration)
  }

  // MARK: Instruments

  override var listPath: String? {
    let names = marketList.named.compactMap(FeedSymbol.init).map { Self.percentEncoded($0.base + $0.quote) }
    // A list of one name too many is refused whole, and a URL has its limit too: then the whole list is asked for.
    guard market.selectsSymbols, !asksWholeList, !wantsWholeList, !names.isEmpty, names.count <= 100 else {
      return market.infoPath
    }
    return market.infoPath + "?symbols=%5B" + names.map { "%22\($0)%22" }.joined(separator: ",") + "%5D"
  }

  /// Room for the whole list of instruments (some 16 MB for 3,000 symbols), asked for if the short one is refused.
  override var listLimit: Int { 32 << 20 }

  /// Symbols may hold letters beyond ASCII (RFC 3986 section 2.1).
  static func percentEncoded(_ text: String) -> String {
    var out = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        out.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        out += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return out
  }

  override func answered(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  override func hasListed(now: Timestamp) {
    if connectedAt != nil { subscribe(feeds.indices.filter { feeds[$0].subscribed == .distantFuture }, now) }
  }

  /// A name that the venue does not know fails the whole request: by the list of all.
  override func listFailed(status: Int) { if status == 400 { asksWholeList = true } }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    let list = try readMarkets(body)
    // Half of what the venue says an address may use; other programs share the address.
    if let weight = list.weightPerMinute {
      pacer.weightPerMinute = max(weight / 2 / configuration.connections, market.snapshots[0].weight)
    }
    carry(list.markets, into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed(bridge: SnapshotBridge(rule: market.rule))) }
    chooseDepth()
    asksWholeList = false
    return true
  }

  override func isLive(_ place: Int) -> Bool { feeds[place].bridge.isLive }

  /// Chooses how deep the snapshots are for so many symbols.
  private func chooseDepth() {
    let snapshot = market.snapshots.first { $0.weight * feeds.count <= Self.startMinutes * pacer.weightPerMinute }
    guard let chosen = snapshot ?? market.snapshots.last else { return }
    snapshotLevels = chosen.levels
    pacer.requestWeight = chosen.weight
  }

  override var volumeRequests: [String] { [market.volumePath] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    connectedAt = now
    isLeaving = false
    subscribe(Array(feeds.indices), now)
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    let name = JSONText.quoted("\(market.lowercased())@\(venue.cadence.channel)")
    return #"{"method":"SUBSCRIBE","params":[\#(name)],"id":\#(id)}"#
  }

  private func subscribe(_ places: [Int], _ now: Timestamp) {
    let count = Self.namesPerRequest / market.streams.count
    for start in stride(from: 0, to: places.count, by: count) {
      outbox.append(Request(places: Array(places[start..<min(start + count, places.count)])))
    }
    for place in places {
      feeds[place].subscribed = now
      feeds[place].acknowledged = nil
    }
  }

  // MARK: Replies

  /// `{"result":null,"id":…}`
  func acknowledged(_ id: Int, now: Timestamp) {
    guard let request = outbox.answered(id) else { return }
    for place in request.places { feeds[place].acknowledged = now }
  }

  /// A request was refused as a whole. Which symbol it was about, if any, shows when the halves are asked for.
  func refusedRequest(_ id: Int?, code: Int64, message: String, now: Timestamp) throws(FeedError) {
    let words = "request refused: code \(code), \(message)"
    guard let request = id.flatMap({ outbox.answered($0) }) else { throw FeedError(.refused, words) }
    // Too many messages: none of the symbols is to blame.
    if message.lowercased().contains("too many requests") {
      outbox.pause(until: now + Self.ratePause)
      outbox.putBack(request)
      throw FeedError(.refused, words)
    }
    if request.places.count > 1 {
      outbox.putBackHalves(of: request)
      throw FeedError(.refused, words)
    }
    for place in request.places {
      // What comes is as good as an acknowledgement.
      guard !feeds[place].bridge.isLive else { throw FeedError(.refused, words) }
      feeds[place].isRefused = true
      feeds[place].bridge.reset()
      refuse(configuredName(place), "code \(code), \(message)")
    }
  }

  override var asksAgain: Bool { true }

  /// What stayed silent is subscribed again, too: a name that is none is acknowledged, and one that has become one is not heard of by itself.
  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices
    where (feeds[place].reportedSilent || feeds[place].isRefused) && symbols.contains(configuredName(place)) {
      feeds[place].reportedSilent = false
      feeds[place].isRefused = false
      feeds[place].subscribed = .distantFuture
    }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    connectedAt = nil
    listRequest.restart()
    outbox.removeAll()
    pacer.removeAll()
    for place in feeds.indices {
      feeds[place].bridge.reset()
      feeds[place].acknowledged = nil
      feeds[place].isRefused = false
      feeds[place].heard = false
      feeds[place].reportedSilent = false
      feeds[place].lastTrade = 0
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard connectedAt != nil else { return }
    repeatUnanswered(of: &outbox, now: now) { request in
      "SUBSCRIBE of \(request.places.count == 1 ? configuredName(request.places[0]) : "\(request.places.count) symbols")"
    } isMoot: { request in
      // What comes is as good as an acknowledgement.
      request.places.removeAll { feeds[$0].acknowledged != nil }
      return request.places.isEmpty
    }
    flush(now)
    for place in feeds.indices where !feeds[place].isRefused {
      if !feeds[place].bridge.isLive, let acknowledged = feeds[place].acknowledged,
        now - acknowledged >= Self.quietBook
      {
        pacer.want(place)
      }
      // A market that is quiet has its snapshot by then.
      if !feeds[place].heard, !feeds[place].bridge.isLive, !feeds[place].reportedSilent,
        now - feeds[place].subscribed >= Self.silenceLimit
      {
        feeds[place].reportedSilent = true
        refuse(
          configuredName(place), "nothing came for it in \(Self.silenceLimit / Microseconds.second) s of subscription")
      } else if feeds[place].heard, feeds[place].reportedSilent {
        feeds[place].reportedSilent = false
        actions.append(.symbolAccepted(symbol: configuredName(place)))
      }
    }
    pacer.expire(now: now)
    pump(now)
  }

  private func flush(_ now: Timestamp) {
    if outbox.isEmpty { followCanary(now) }
    for request in outbox.take(now: now) {
      requestID += 1
      let names = request.places.flatMap { place in
        market.streams.map { instruments[place].venueSymbol.lowercased() + "@" + $0 }
      }
      actions.append(
        .send(#"{"method":"SUBSCRIBE","params":\#(JSONText.array(names)),"id":\#(requestID)}"#))
      outbox.sent(request, as: requestID, now: now)
    }
  }

  func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: Self.shutdownNotice))
  }

  // MARK: Snapshots

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard connectedAt != nil, feeds.indices.contains(place), feeds[place].bridge.isLive else { return }
    feeds[place].bridge.reset()
    lost(place, now: now)
  }

  /// A book that was live is out of sync.
  func lost(_ place: Int, now: Timestamp) {
    guard connectedAt != nil else { return }
    pacer.lost(place, now: now)
    pump(now)
  }

  /// A book that has not been live wants a snapshot.
  func wantSnapshot(_ place: Int, now: Timestamp) {
    guard connectedAt != nil else { return }
    pacer.want(place)
    pump(now)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { pacer.trouble(of: place) }

  private func pump(_ now: Timestamp) {
    while let (place, request) = pacer.next(now: now) {
      if feeds[place].bridge.isLive || feeds[place].isRefused {
        _ = pacer.answered(request)
        continue
      }
      let symbol = Self.percentEncoded(instruments[place].venueSymbol)
      actions.append(
        .get(
          request: request, path: "\(market.depthPath)?symbol=\(symbol)&limit=\(snapshotLevels)",
          bodyLimit: Self.bodyLimit))
    }
  }

  private func takeSnapshot(_ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard !feeds[place].bridge.isLive else { return pacer.succeeded(place) }
    guard status == 200 else { return pacer.failed(place, status: status, retryAfter: retryAfter, now: now) }
    var mark = BatchMark(batch)
    guard let id = snapshot(body, place, from: &mark, into: &batch) else {
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    guard !feeds[place].bridge.isStale(id) else {
      // Older than the first update that was kept: another one, and what is kept stays.
      mark.rewind(&batch)
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    if join(&feeds[place].bridge, place, at: id, from: mark, time: now, into: &batch) {
      pacer.succeeded(place)
    } else {
      pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
  }

  override func readSnapshot(
    _ body: RawSpan, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    try readOrderBook(body, place, into: &batch)
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard feeds.indices.contains(place) else { return }
    feeds[place].bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    if try readFixed(message, now: now, into: &batch) { return }
    try readAny(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"depthUpdate\"") else { return }
    for place in Salvage.symbols(message, key: "\"s\"", in: table) where feeds[place].bridge.isLive {
      feeds[place].bridge.reset()
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
      lost(place, now: now)
    }
  }
}
