import Bytes
import MarketData

/// Hyperliquid: perpetuals (margined in USDC) and spot on one connection, without a key.
///
/// The lists of markets are asked for over the connection itself (`post` of `meta` and `spotMeta`), then `l2Book`,
/// `bbo` as quotes, `trades`, and `activeAssetCtx` as 24 h figures. Sizes are in base units. A name is upper case in
/// symbols: the market `kPEPE`, whose unit is a thousand tokens, is `KPEPE-USDC-PERP`. Perpetuals that others deploy
/// (`xyz:SP500`) have names that no symbol can carry.
///
/// **Books are whole.** Each `l2Book` message is the book of a block to its depth, replaces what was before, and is
/// sent again when nothing changed: five levels a side about every 0.54 s (`fast`; the slower stream of twenty levels
/// comes every 5.4 s only). So there are no gaps: a message that is lost costs half a second of freshness, and no
/// book can be wrong for longer. Nothing is numbered; a message whose time is before the newest one's is late and
/// left out.
///
/// **Silence.** The connection lives by pings. A book of which nothing came for 20 s is compared with one that is
/// asked for apart from the stream: if they are the same the market is quiet, else the stream has died and is
/// subscribed again.
///
/// **A name that the venue does not know ends the connection, without a word.** Only listed names are subscribed;
/// after an end that came right behind subscriptions, those that were not acknowledged are subscribed one by one, and
/// the one that ends it again is refused.
package final class HyperliquidHandler: SymbolHandler {
  enum Channel: Int, CaseIterable { case book, quote, trades, context }

  /// Quiet time after which a ping is sent; the venue closes when it has sent nothing for 60 s.
  static let pingAfter = 15 * Microseconds.second
  /// How long a list of markets may take before it is asked for again.
  static let listTimeout = 15 * Microseconds.second
  /// Messages a minute, of the 2,000 that may be sent from an address.
  static let messagesPerMinute = 1_500
  /// After this long without an acknowledgement a subscription is sent again.
  static let acknowledgeTimeout = 15 * Microseconds.second
  /// The end of a connection is laid to a subscription no older than this; it has been seen to follow within 0.1 s.
  static let blameTime = 3 * Microseconds.second
  /// How often a connection must end behind a symbol alone before it is refused, and how long it is not asked for
  /// then: another attempt may cost everybody the connection.
  static let strikeLimit = 3
  static let strikeRest = 6 * Microseconds.hour
  /// Silence of a book after which it is compared, how long that may take, and how long the stream has to catch up if
  /// they differ: a little more than the slowest cadence.
  static let probeAfter = 20 * Microseconds.second
  static let probeTimeout = 10 * Microseconds.second
  static let catchUp = 6 * Microseconds.second
  /// Messages with older and older times are left out for this long; then the venue's clock has been set back.
  static let lateLimit = 10 * Microseconds.second
  /// Trades of the newest millisecond whose ids are kept, to know them again.
  static let idLimit = 64

  package static let venue = Venue(
    name: "hyperliquid", title: "Hyperliquid", separator: "/", endpoint: "wss://api.hyperliquid.xyz/ws",
    restEndpoint: "https://api.hyperliquid.xyz",
    // Books are sent again twice a second, and pings are answered.
    cadence: .promised("l2Book", every: 540 * Microseconds.millisecond),
    // The list of spot markets and tokens is the largest: some 400 KB.
    messageLimit: 4 << 20,
    // 1,000 subscriptions from an address, four for a symbol.
    symbolLimit: 200, addressLimit: 250, kinds: [.spot, .perpetual],
    // From one address.
    connectLimit: ConnectLimit(count: 30, interval: Microseconds.minute),
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 20, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("l2Book", .book, silence: .atLeast(every: 540 * Microseconds.millisecond), .contradicted),
        .init("bbo", .quote), .init("trades", .trades), .init("activeAssetCtx", .ticker),
      ],
      bookDepth: 5, bookCheck: "every message is the whole book",
      requests: [],
      limits: ["1,000 subscriptions an address", "2,000 messages a minute to the venue"]),
    replay: replay,
    makeHandler: { HyperliquidHandler(configuration: $0) })

  struct Feed {
    var book = StreamedBook()
    /// The newest message of the book: the venue's time, when it came, and what it said.
    var time = Timestamp.distantPast
    var heardAt = Timestamp.distantPast
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    /// When the book was asked for, to be compared, and since when it has been known to differ.
    var probed: Timestamp?
    var differs: Timestamp?
    /// When trades were subscribed, and whether any have come since.
    var subscribed = Timestamp.distantPast
    var hasTraded = false
    /// The time of the newest trade, and what came with that time.
    var tradeTime = Timestamp.distantPast
    var tradeIDs: [UInt64] = []
    /// What these were at the subscription: older trades are known.
    var knownTime = Timestamp.distantPast
    var knownIDs: [UInt64] = []
    var lastPrice: Int64?
    /// Whether the venue has acknowledged the name on this connection.
    var isKnown = false
    /// Ends of a connection that came right behind this symbol alone.
    var strikes = 0
    /// Subscribed alone, because a connection ended behind it and others.
    var isSuspect = false
    /// Not asked for before this time, on any connection, because several ended behind it.
    var shunnedUntil = Timestamp.distantPast
    /// Refused in words, on this connection.
    var isRefused = false
    /// Whether the newest lists have it.
    var isListed = true
    var isCarried: Bool { isListed && !isRefused && shunnedUntil == .distantPast }
  }

  /// What is to be sent, or was sent and is not acknowledged.
  struct Subscription {
    var place: Int
    var channel: Channel
    var isEnd = false
    var attempts = 0
    var sent = Timestamp.distantPast
  }

  var feeds: [Feed] = []
  var isConnected = false
  var perpetuals: [HyperliquidMarket]?
  var spots: [HyperliquidMarket]?
  var hasList = false
  var listDue = Timestamp.distantFuture
  var listAttempts = 0
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  /// Four subscriptions of a symbol, and two for its book when that is subscribed again.
  var outbox = RequestOutbox<Subscription>(atOnce: 100, every: 200 * Microseconds.millisecond, limit: 2_048)
  var probes: [Int] = []
  var unacknowledged: [Subscription] = []
  /// Belongs to the address and outlives the connection.
  var budget: MinuteBudget

  package init(configuration: FeedConfiguration) {
    budget = MinuteBudget(limit: Self.messagesPerMinute / configuration.connections)
    super.init(venue: Self.venue, configuration: configuration)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    heardAt = now
    lastPing = now
    hasList = false
    perpetuals = nil
    spots = nil
    listAttempts = 0
    askForLists(now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    if isConnected { layBlame(now) }
    isConnected = false
    listDue = .distantFuture
    outbox.removeAll()
    probes.removeAll()
    unacknowledged.removeAll()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      feeds[place].time = .distantPast
      feeds[place].probed = nil
      feeds[place].differs = nil
      feeds[place].hasTraded = false
      feeds[place].isKnown = false
      feeds[place].isRefused = false
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else { return }
    if now >= listDue {
      unanswered(listAttempts, "the lists of markets", now: now)
      askForLists(now, into: &batch)
    }
    watch(now, into: &batch)
    for place in feeds.indices where feeds[place].isCarried && feeds[place].book.isDue(now: now) {
      feeds[place].book.queued(now: now)
      outbox.append(
        together: Subscription(place: place, channel: .book, isEnd: true), Subscription(place: place, channel: .book))
    }
    sendAgain(now)
    nextSuspect(now)
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send(#"{"method":"ping"}"#))
    }
    flush(now)
  }

  /// Books are sent again as long as there are any. Without the lists there are none, and the lists are the venue's
  /// to send.
  package override var expectsMarket: Bool { !hasList || feeds.contains { $0.isCarried } }

  override func isLive(_ place: Int) -> Bool { feeds[place].book.isLive }

  override var carriesHalted: Bool { false }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  /// The next message replaces the whole book: it is waited for, and only if it does not come is the book subscribed
  /// again.
  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.isLive else { return }
    feeds[instrument.index].book.subscribed(now: now)
  }

  // MARK: Symbols that were refused

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else { return }
    for place in feeds.indices where symbols.contains(configuredName(place)) {
      feeds[place].isRefused = false
      guard feeds[place].shunnedUntil > .distantPast, now >= feeds[place].shunnedUntil else { continue }
      // Alone, and one end is enough.
      feeds[place].shunnedUntil = .distantPast
      feeds[place].isSuspect = true
      feeds[place].strikes = Self.strikeLimit - 1
    }
    guard hasList else { return }
    hasList = false
    perpetuals = nil
    spots = nil
    askForLists(now, into: &batch)
  }

  // MARK: Replies

  /// The venue knows the name; what is subscribed of it goes on.
  func acknowledged(_ place: Int, _ channel: Channel?, now: Timestamp) {
    if let channel, let index = unacknowledged.firstIndex(where: { $0.place == place && $0.channel == channel }) {
      unacknowledged.remove(at: index)
    }
    guard !feeds[place].isKnown else { return }
    feeds[place].isKnown = true
    feeds[place].strikes = 0
    guard feeds[place].isSuspect else { return }
    feeds[place].isSuspect = false
    for channel in [Channel.quote, .trades, .context] {
      outbox.append(Subscription(place: place, channel: channel))
    }
    flush(now)
  }

  /// A request was refused, and the connection goes on. Which one it was is in the text, or it is the oldest that
  /// waits for its answer.
  func refusedRequest(_ message: String, place: Int?, channel: Channel?, now: Timestamp) throws(FeedError) {
    if message.hasPrefix("Already subscribed"), let place { return acknowledged(place, channel, now: now) }
    if message.hasPrefix("Already unsubscribed") { return }
    if message.hasPrefix("Cannot subscribe"), let first = unacknowledged.first {
      unacknowledged.removeFirst()
      if first.channel == .book, !feeds[first.place].isKnown { return refuse(first.place, message) }
      if first.channel != .book {
        // What is beside the book, and refused, is asked for again later.
        var again = first
        again.attempts = 0
        outbox.append(again, due: now + RequestDeadline.refusalWait(1))
      }
    }
    throw FeedError(.refused, message)
  }

  private func refuse(_ place: Int, _ reason: String) {
    guard !feeds[place].isRefused else { return }
    feeds[place].isRefused = true
    feeds[place].book.disconnected()
    refuse(configuredName(place), reason)
  }

  // MARK: Books

  /// A book that was asked for apart from the stream, to be compared with what the stream has said.
  func compared(_ place: Int, bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>, now: Timestamp) {
    guard feeds[place].probed != nil else { return }
    feeds[place].probed = nil
    let isSame = Self.agree(feeds[place].bids, bids) && Self.agree(feeds[place].asks, asks)
    if isSame { feeds[place].heardAt = now } else { feeds[place].differs = now }
  }

  /// Whether the best levels that both have are the same; one may be deeper.
  private static func agree(_ a: [PriceLevel], _ b: ArraySlice<PriceLevel>) -> Bool {
    a.isEmpty == b.isEmpty && zip(a, b).allSatisfy { $0 == $1 }
  }

  /// Looks for books whose stream has died while the connection lives.
  private func watch(_ now: Timestamp, into batch: inout EventBatch) {
    guard now - heardAt < Self.probeTimeout / 2 else { return }
    for place in feeds.indices where feeds[place].book.isLive {
      if let since = feeds[place].differs {
        if now - since >= Self.catchUp { lose(place, now: now, into: &batch) }
      } else if let since = feeds[place].probed {
        if now - since >= Self.probeTimeout { lose(place, now: now, into: &batch) }
      } else if now - feeds[place].heardAt >= Self.probeAfter {
        feeds[place].probed = now
        probes.append(place)
      }
    }
  }

  private func lose(_ place: Int, now: Timestamp, into batch: inout EventBatch) {
    feeds[place].probed = nil
    feeds[place].differs = nil
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), .stale))
  }

  override func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    // No message overflowed at the wider scale, or there is nothing to compare.
    for index in feeds[place].bids.indices {
      feeds[place].bids[index].price &*= priceBy
      feeds[place].bids[index].size &*= sizeBy
    }
    for index in feeds[place].asks.indices {
      feeds[place].asks[index].price &*= priceBy
      feeds[place].asks[index].size &*= sizeBy
    }
    feeds[place].lastPrice = feeds[place].lastPrice.map { $0 &* priceBy }
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    heardAt = now
    // It has greeted in plain text.
    if Self.isGreeting(message) {
      isAnswer = true
      batch.events.append(.heartbeat)
      return
    }
    try readMessage(message, now: now, into: &batch)
  }

  private static let greeting: StaticString = "Websocket connection established."

  private static func isGreeting(_ message: RawSpan) -> Bool {
    message.byteCount == greeting.utf8CodeUnitCount
      && message.withUnsafeBytes {
        $0.elementsEqual(UnsafeBufferPointer(start: greeting.utf8Start, count: greeting.utf8CodeUnitCount))
      }
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard Salvage.contains(message, "\"l2Book\"") else { return }
    for place in Salvage.symbols(message, key: "\"coin\"", in: table) where feeds[place].book.isLive {
      feeds[place].book.subscribed(now: now)
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
    }
  }
}
