import Bytes
import MarketData

/// Bitstamp v2: spot, without a key. Whole books and trades; quotes come from the book, and 24 h figures are the
/// gateway's own, as the feed has none of either.
///
/// The list of markets comes by REST before the connection. A book is `diff_order_book`, which has no snapshot,
/// joined to one that is asked for by REST. Updates have a time and nothing else: **an update that is lost shows in
/// nothing.** What can be done is done:
///
/// - A snapshot is used only if it is from after what was not kept: REST answers come from a cache and may be some
///   seconds old.
/// - A time that goes back is a message that came late, and takes the book out of sync.
/// - A trade changes the book. One that no update follows means that the book's channel is dead, not quiet.
/// - Every book is renewed by a snapshot from time to time, without leaving sync.
///
/// Perpetuals are on the same connection, but nobody has shown what unit their amounts are in; they are not carried.
package final class BitstampHandler: SymbolHandler {
  enum Channel: Int, CaseIterable {
    case book, trades

    var prefix: StaticString {
      switch self {
      case .book: "diff_order_book_"
      case .trades: "live_trades_"
      }
    }
  }

  /// Quiet time after which a heartbeat is asked for.
  static let pingAfter = 10 * Microseconds.second
  /// How long a subscription may be unanswered before it is sent again, at first.
  static let answerTimeout = 15 * Microseconds.second
  /// From the first update to the request of a snapshot. Answers have been seen to be up to 2.2 s old, and one from
  /// before that update is of no use.
  static let snapshotDelay = 2 * Microseconds.second
  /// A book that does not change still wants a snapshot, this long after its subscription.
  static let quietBook = 5 * Microseconds.second
  /// How often in a row a snapshot of a quiet book is put back for being older than the subscription, by the
  /// gateway's clock; and of another for being older than its updates, before their times are no longer believed.
  static let quietAttempts = 3
  static let staleAttempts = 6
  /// A live book is renewed after a minute, and then each time after ten.
  static let firstRenewal = Microseconds.minute
  static let renewal = 10 * Microseconds.minute
  /// A trade that no update of the book has followed for so long.
  static let unfollowedTrade = 30 * Microseconds.second
  /// How long a connection may last after the venue asked for another: "a few seconds".
  static let reconnectNotice = 5 * Microseconds.second
  /// Room for a whole book: 7,400 levels have been 206 KB.
  static let bodyLimit = 16 << 20
  /// The list by its present address, and by the one that it had before.
  package static let listPaths = ["/api/v2/markets/", "/api/v2/trading-pairs-info/"]

  package static let venue = Venue(
    name: "bitstamp", title: "Bitstamp", separator: "/", endpoint: "wss://ws.bitstamp.net",
    restEndpoint: "https://www.bitstamp.net",
    // Heartbeats are asked for after 10 s of silence and are answered.
    cadence: .canary("diff_order_book", of: ["btcusd"], every: Microseconds.second), messageLimit: 4 << 20,
    // 1,024 channels a connection, two a symbol.
    symbolLimit: 500, connectionLifetime: 90 * Microseconds.day,
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 20_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("diff_order_book", .book, silence: .contradicted), .init("live_trades", .trades),
      ],
      bookDepth: nil,
      bookCheck: "the venue numbers nothing; times link updates to a REST snapshot, which is renewed every 10 min",
      requests: [.instruments, .snapshots, .volumes],
      limits: ["1,024 channels a connection", "5 REST requests a second"]),
    replay: replay,
    makeHandler: { BitstampHandler(configuration: $0) })

  /// A channel of a symbol on this connection.
  struct Subscription {
    /// When it was sent and not answered; nil once it was, or while it waits to be sent.
    var asked: Timestamp?
    var patience = BitstampHandler.answerTimeout
    /// How often in a row it was not answered, or refused, on this connection.
    var attempts = 0
    var refusals = 0
    var backoff = Backoff(first: 2 * BitstampHandler.answerTimeout, limit: 2 * Microseconds.minute)
  }

  struct Feed {
    var bridge = SnapshotBridge(rule: .bitstamp)
    /// By channel.
    var subscriptions = [Subscription(), Subscription()]
    /// When the book's channel was acknowledged, or first spoke.
    var begun: Timestamp?
    /// The newest venue time of an update, µs.
    var newest: Int64 = 0
    /// A snapshot must not be older, µs: what happened until then has not been kept. Nil as long as that is not known.
    var floor: Int64?
    /// Snapshots in a row that were of no use.
    var attempts = 0
    var renewDue = Timestamp.distantFuture
    /// A trade that is newer than the newest update: its venue time, µs, and when it came.
    var unfollowed: (time: Int64, since: Timestamp)?
    var isListed = true
    var isRefused = false
    var isSubscribed = false
    var isCarried: Bool { isListed && !isRefused }
  }

  var feeds: [Feed] = []
  var renewing: BitstampRenewal?
  var pacer: RequestPacer
  private var listAddress = 0
  private var isConnected = false
  private var isLeaving = false
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  /// 20 at once have been taken. Of a symbol there is one request for each channel, and two for its book when that is
  /// subscribed again.
  private var outbox = RequestOutbox<(place: Int, channel: Channel, text: String)>(
    atOnce: 10, every: 100 * Microseconds.millisecond, limit: 4_096)

  package init(configuration: FeedConfiguration) {
    pacer = RequestPacer(
      weightPerMinute: max(1, 300 / configuration.connections), requestWeight: 1, concurrency: 4)
    super.init(venue: Self.venue, configuration: configuration)
  }

  // MARK: Instruments

  override var listPath: String? { Self.listPaths[listAddress] }

  override func answered(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    guard let place = pacer.answered(request) else { return }
    takeSnapshot(place, status: status, body: body, now: now, into: &batch)
    pump(now)
  }

  override func hasListed(now: Timestamp) { if isConnected { subscribeMissing() } }

  /// Not there, or not what it was: by its other address. A failing server is no reason for that.
  override func listFailed(status: Int) {
    if [200, 404, 410].contains(status) { listAddress = 1 - listAddress }
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    let carried = carry(try Self.readMarkets(body), into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed()) }
    // A subscription to a market that is gone would be acknowledged, and silent for ever.
    for place in feeds.indices { feeds[place].isListed = carried.contains(place) }
    return true
  }

  override func isLive(_ place: Int) -> Bool { feeds[place].bridge.isLive }

  override func readSnapshot(
    _ body: RawSpan, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    try readOrderBook(body, place, into: &batch)
  }

  override var volumeRequests: [String] { ["/api/v2/ticker/"] }

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
    subscribeMissing()
    flush(now)
  }

  override func canaryRequest(for market: String, id: Int, now: Timestamp) -> String {
    #"{"event":"bts:subscribe","data":{"channel":"\#(Channel.book.prefix)\#(market)"}}"#
  }

  override func canaryMark(of market: String) -> String { "_\(market)\"" }

  /// What is carried and has not been subscribed on this connection.
  private func subscribeMissing() {
    for channel in Channel.allCases {
      for place in feeds.indices where feeds[place].isCarried && !feeds[place].isSubscribed {
        subscribe(place, channel)
      }
    }
    for place in feeds.indices where feeds[place].isCarried { feeds[place].isSubscribed = true }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) { feeds[place].isRefused = false }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    listRequest.restart()
    outbox.removeAll()
    pacer.removeAll()
    renewing = nil
    for place in feeds.indices {
      var feed = Feed()
      // What was refused is asked for again.
      feed.isListed = feeds[place].isListed
      feeds[place] = feed
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send(#"{"event":"bts:heartbeat"}"#))
    }
    pacer.expire(now: now)
    for place in feeds.indices where feeds[place].isCarried { tend(place, now, into: &batch) }
    flush(now)
    pump(now)
  }

  private func tend(_ place: Int, _ now: Timestamp, into batch: inout EventBatch) {
    for channel in Channel.allCases {
      let subscription = feeds[place].subscriptions[channel.rawValue]
      guard let asked = subscription.asked, now - asked >= subscription.patience else { continue }
      feeds[place].subscriptions[channel.rawValue].patience =
        feeds[place].subscriptions[channel.rawValue].backoff.next()
      feeds[place].subscriptions[channel.rawValue].attempts += 1
      unanswered(subscription.attempts + 1, "\(channel.prefix)\(instruments[place].venueSymbol)", now: now)
      subscribe(place, channel)
    }
    guard feeds[place].bridge.isLive else {
      if let begun = feeds[place].begun, now - begun >= Self.quietBook { pacer.want(place) }
      return
    }
    if let unfollowed = feeds[place].unfollowed, now - unfollowed.since >= Self.unfollowedTrade {
      beginAnew(place, now: now)
      lose(place, .stale, wasLive: true, now: now, into: &batch)
      feeds[place].subscriptions[Channel.book.rawValue].asked = nil
      outbox.append(
        together: (place, .book, text("unsubscribe", place, .book)), (place, .book, text("subscribe", place, .book)))
    } else if renewing == nil, now >= feeds[place].renewDue {
      renewing = BitstampRenewal(place: place, floor: feeds[place].newest)
      pacer.want(place)
    }
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { pacer.trouble(of: place) }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard isConnected, feeds.indices.contains(place), feeds[place].bridge.isLive else { return }
    restart(place, wasLive: true, now: now)
    pump(now)
  }

  // MARK: Subscriptions

  private func text(_ event: String, _ place: Int, _ channel: Channel) -> String {
    let name = JSONText.quoted("\(channel.prefix)\(instruments[place].venueSymbol)")
    return #"{"event":"bts:\#(event)","data":{"channel":\#(name)}}"#
  }

  private func subscribe(_ place: Int, _ channel: Channel) {
    feeds[place].subscriptions[channel.rawValue].asked = nil
    outbox.append((place, channel, text("subscribe", place, channel)))
  }

  private func flush(_ now: Timestamp) {
    if outbox.isEmpty { followCanary(now) }
    for request in outbox.take(now: now) where feeds[request.place].isCarried {
      actions.append(.send(request.text))
      feeds[request.place].subscriptions[request.channel.rawValue].asked = now
    }
  }

  /// A channel was acknowledged, or speaks.
  func answered(_ place: Int, _ channel: Channel, now: Timestamp) {
    if feeds[place].subscriptions[channel.rawValue].asked != nil {
      feeds[place].subscriptions[channel.rawValue] = Subscription()
    }
    if channel == .book, feeds[place].begun == nil { feeds[place].begun = now }
  }

  func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: Self.reconnectNotice))
  }

  /// A subscription was refused. The venue does not always say which: then it is not answered, and sent again.
  func failed(_ place: Int?, _ channel: Channel?, _ message: String, now: Timestamp) throws(FeedError) {
    guard let place, let channel else { throw FeedError(.refused, message) }
    if channel != .book {
      feeds[place].subscriptions[channel.rawValue].asked = nil
      feeds[place].subscriptions[channel.rawValue].refusals += 1
      let wait = RequestDeadline.refusalWait(feeds[place].subscriptions[channel.rawValue].refusals)
      outbox.append((place, channel, text("subscribe", place, channel)), due: now + wait)
    }
    guard channel == .book, !feeds[place].bridge.isLive else { throw FeedError(.refused, message) }
    dismiss(place, message)
  }

  func dismiss(_ place: Int, _ reason: String) {
    feeds[place].isRefused = true
    feeds[place].bridge.reset()
    refuse(configuredName(place), reason)
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard feeds.indices.contains(place) else { return }
    feeds[place].bridge.rescale(priceBy: priceBy, sizeBy: sizeBy)
    if var renewal = renewing.take() {
      if renewal.place == place { renewal.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy) }
      renewing = renewal
    }
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
    heardAt = now
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    heardAt = now
    guard Salvage.contains(message, "\"bids\"") || Salvage.contains(message, "diff_order_book_") else {
      // What is not even said to be something else may have been an update, and nothing would tell that one is missing.
      if !Salvage.contains(message, "\"event\"") { renewAll(now: now) }
      return
    }
    guard let place = bookPlace(message) else { return renewAll(now: now) }
    let wasLive = feeds[place].bridge.isLive
    beginAnew(place, now: now)
    lose(place, .malformed, wasLive: wasLive, now: now, into: &batch)
    pump(now)
  }
}
