import Bytes
import MarketData

/// Hyperliquid: perpetuals (margined in USDC) and spot on one connection, without a key.
///
/// The lists of markets are asked for over the connection itself (`post` of `meta` and `spotMeta`), then `l2Book`, `bbo` as quotes,
/// `trades`, and `activeAssetCtx` as 24 h figures. Sizes are in base units. A name is upper case in symbols: the market `kPEPE`, whose unit
/// is a thousand tokens, is `KPEPE-USDC-PERP`. Perpetuals that others deploy (`xyz:SP500`) have names that no symbol can carry.
///
/// **Books are whole.** Each `l2Book` message is the book of a block to its depth, replaces what was before, and is sent again when nothing
/// changed: five levels a side about every 0.54 s (`fast`; the slower stream of twenty levels comes every 5.4 s only). So there are no gaps:
/// a message that is lost costs half a second of freshness, and no book can be wrong for longer. Nothing is numbered; a message whose time
/// is before the newest one's is late and left out.
///
/// **Silence.** The connection lives by pings. A book of which nothing came for 20 s is compared with one that is asked for apart from
/// the stream: if they are the same the market is quiet, else the stream has died and is subscribed again.
///
/// **A name that the venue does not know ends the connection, without a word.** Only listed names are subscribed; after an end that came
/// right behind subscriptions, those that were not acknowledged are subscribed one by one, and the one that ends it again is refused.
package final class HyperliquidHandler: SymbolHandler {
  enum Channel: Int, CaseIterable { case book, quote, trades, context }

  /// Quiet time after which a ping is sent; the venue closes when it has sent nothing for 60 s.
  static let pingAfter = 15 * Microseconds.second
  /// How long a list of markets may take before it is asked for again.
  static let listTimeout = 15 * Microseconds.second
  /// 2,000 messages a minute may be sent from an address: one in 50 ms is 1,200, and 300 at once.
  static let messageCost = 50 * Microseconds.millisecond
  static let creditLimit = 300 * messageCost
  /// After this long without an acknowledgement a subscription is sent again, so often.
  static let acknowledgeTimeout = 15 * Microseconds.second
  static let attemptLimit = 3
  /// The end of a connection is laid to a subscription no older than this; it has been seen to follow within 0.1 s.
  static let blameTime = 3 * Microseconds.second
  /// How often a connection must end behind a symbol alone before it is refused.
  static let strikeLimit = 3
  /// Silence of a book after which it is compared, how long that may take, and how long the stream has to catch up if they differ: a little
  /// more than the slowest cadence.
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
    staleAfter: 20 * Microseconds.second,
    // The list of spot markets and tokens is the largest: some 400 KB.
    messageLimit: 4 << 20,
    // 1,000 subscriptions from an address, four for a symbol.
    symbolLimit: 200, kinds: [.spot, .perpetual],
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 20, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("l2Book", .book, silence: .atLeast(every: 540 * Microseconds.millisecond), .contradicted),
        .init("bbo", .quote), .init("trades", .trades), .init("activeAssetCtx", .ticker),
      ],
      bookDepth: 5, bookCheck: "every message is the whole book",
      connectionLife: "pings after 15 s of silence are answered", requests: [],
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
    var isRefused = false
  }

  /// What is to be sent, or was sent and is not acknowledged.
  private struct Subscription {
    var place: Int
    var channel: Channel
    var isLeaving = false
    var attempts = 0
    var sent = Timestamp.distantPast
  }

  var feeds: [Feed] = []
  private var isConnected = false
  private var perpetuals: [HyperliquidMarket]?
  private var spots: [HyperliquidMarket]?
  private var hasList = false
  private var listDue = Timestamp.distantFuture
  private var listAttempts = 0
  private var requestID = 0
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast
  private var outbox: [Subscription] = []
  private var probes: [Int] = []
  private var unacknowledged: [Subscription] = []
  /// µs of `messageCost` that may be spent; it belongs to the address and outlives the connection.
  private var credit = creditLimit
  private var credited = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

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
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else { return }
    if now >= listDue { askForLists(now, into: &batch) }
    watch(now, into: &batch)
    for place in feeds.indices where !feeds[place].isRefused && feeds[place].book.isDue(now: now) {
      // Until it is sent, which may take a moment, it is not due again.
      feeds[place].book.subscribed(now: now)
      outbox.append(Subscription(place: place, channel: .book, isLeaving: true))
      outbox.append(Subscription(place: place, channel: .book))
    }
    sendAgain(now)
    nextSuspect(now)
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      actions.append(.send(#"{"method":"ping"}"#))
    }
    flush(now)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  /// The next message replaces the whole book: it is waited for, and only if it does not come is the book subscribed again.
  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.isLive else { return }
    feeds[instrument.index].book.subscribed(now: now)
  }

  // MARK: Lists

  /// With the 24 h figures of all markets where their volumes are wanted.
  private func askForLists(_ now: Timestamp, into batch: inout EventBatch) {
    listDue = now + Self.listTimeout
    let families = wantedFamilies
    let hasContexts =
      marketList.wantsVolumes && (listAttempts < MarketList.attemptLimit || marketList.isRanked)
    listAttempts += 1
    if !families.contains(.perpetual) { perpetuals = perpetuals ?? [] }
    if !families.contains(.spot) { spots = spots ?? [] }
    if perpetuals == nil { post(hasContexts ? #"{"type":"metaAndAssetCtxs"}"# : #"{"type":"meta"}"#) }
    if spots == nil { post(hasContexts ? #"{"type":"spotMetaAndAssetCtxs"}"# : #"{"type":"spotMeta"}"#) }
    // Symbols of no kind that is carried, or none at all: nothing is asked for, and they are refused.
    takeLists(now, into: &batch)
  }

  private func post(_ payload: String) {
    requestID += 1
    actions.append(.send(#"{"method":"post","id":\#(requestID),"request":{"type":"info","payload":\#(payload)}}"#))
  }

  func received(perpetuals list: [HyperliquidMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasList else { return }
    perpetuals = list
    takeLists(now, into: &batch)
  }

  func received(spots list: [HyperliquidMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasList else { return }
    spots = list
    takeLists(now, into: &batch)
  }

  /// When all lists are there: finds the configured symbols and subscribes them.
  private func takeLists(_ now: Timestamp, into batch: inout EventBatch) {
    guard !hasList, let perpetuals, let spots else { return }
    hasList = true
    listDue = .distantFuture
    let list = perpetuals + spots
    self.list(
      list.map {
        ListedMarket(
          venueSymbol: $0.name, symbol: $0.symbol, sizeIncrement: Decimal64(mantissa: 1, scale: $0.sizeScale),
          state: $0.isDelisted ? .halted : .trading, quoteVolume: $0.quoteVolume)
      })
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      // Names that differ in case only: the one that is spelled so.
      let named = list.first { $0.symbol == wanted && $0.isExact }
      guard let found = named ?? list.first(where: { $0.symbol == wanted }) else {
        let question = NearNames.question(symbol, among: list.lazy.map(\.symbol.text))
        refuse(symbol, "Hyperliquid has no market \(symbol)\(question)")
        continue
      }
      guard !found.isDelisted else {
        refuse(symbol, "\(found.name) is delisted at Hyperliquid")
        continue
      }
      let place = add(
        venueSymbol: found.name, base: wanted.base, quote: wanted.quote, kind: wanted.kind,
        priceScale: found.priceScale, sizeScale: found.sizeScale,
        sizeIncrement: Decimal64(mantissa: 1, scale: found.sizeScale), into: &batch)
      guard let place else {
        refuse(symbol, "too many symbols on one connection")
        continue
      }
      if place == feeds.count { feeds.append(Feed()) }
    }
    self.perpetuals = []
    self.spots = []
    guard isConnected else { return }
    let places = feeds.indices.filter { !feeds[$0].isRefused && !feeds[$0].isSuspect }
    // All books first: they prove the names, and are what is waited for.
    for channel in Channel.allCases { outbox += places.map { Subscription(place: $0, channel: channel) } }
    nextSuspect(now)
    flush(now)
  }

  // MARK: Subscriptions

  /// One suspect at a time, when nothing else is under way: those that have ended fewest connections first.
  private func nextSuspect(_ now: Timestamp) {
    guard hasList, outbox.isEmpty, unacknowledged.allSatisfy({ now - $0.sent >= Self.blameTime }) else { return }
    let suspects = feeds.indices.filter { place in
      feeds[place].isSuspect && !feeds[place].isRefused && !feeds[place].isKnown
        && !unacknowledged.contains { $0.place == place }
    }
    guard let place = suspects.min(by: { feeds[$0].strikes < feeds[$1].strikes }) else { return }
    outbox.append(Subscription(place: place, channel: .book))
  }

  /// The connection is gone. If that came right behind subscriptions of names that the venue has not acknowledged, one of them may have
  /// ended it.
  private func layBlame(_ now: Timestamp) {
    var blamed: [Int] = []
    for sent in unacknowledged
    where !sent.isLeaving && now - sent.sent < Self.blameTime && !feeds[sent.place].isKnown
      && !blamed.contains(sent.place)
    {
      blamed.append(sent.place)
    }
    for place in blamed { feeds[place].isSuspect = true }
    guard blamed.count == 1, let place = blamed.first else { return }
    feeds[place].strikes += 1
    guard feeds[place].strikes >= Self.strikeLimit else { return }
    refuse(
      place,
      "Hyperliquid ended the connection \(Self.strikeLimit) times right behind the subscription of \(instruments[place].venueSymbol)"
    )
  }

  private func sendAgain(_ now: Timestamp) {
    guard unacknowledged.contains(where: { now - $0.sent >= Self.acknowledgeTimeout }) else { return }
    for sent in unacknowledged where now - sent.sent >= Self.acknowledgeTimeout {
      // Books look after themselves.
      guard !sent.isLeaving, sent.channel != .book, sent.attempts < Self.attemptLimit else { continue }
      outbox.append(sent)
    }
    unacknowledged.removeAll { now - $0.sent >= Self.acknowledgeTimeout }
  }

  private func flush(_ now: Timestamp) {
    credit = min(Self.creditLimit, credit + min(max(0, now - credited), Self.creditLimit))
    credited = now
    var sent = 0
    while sent < outbox.count, credit >= Self.messageCost {
      send(outbox[sent], now)
      sent += 1
    }
    outbox.removeFirst(sent)
    sent = 0
    while sent < probes.count, credit >= Self.messageCost {
      credit -= Self.messageCost
      let name = JSONText.quoted(instruments[probes[sent]].venueSymbol)
      post(#"{"type":"l2Book","coin":\#(name)}"#)
      sent += 1
    }
    probes.removeFirst(sent)
  }

  private func send(_ subscription: Subscription, _ now: Timestamp) {
    let place = subscription.place
    guard !feeds[place].isRefused else { return }
    credit -= Self.messageCost
    let method = subscription.isLeaving ? "unsubscribe" : "subscribe"
    actions.append(
      .send(
        #"{"method":"\#(method)","subscription":\#(Self.text(subscription.channel, instruments[place].venueSymbol))}"#))
    guard !subscription.isLeaving else { return }
    var sent = subscription
    sent.sent = now
    sent.attempts += 1
    unacknowledged.append(sent)
    switch subscription.channel {
    case .book: feeds[place].book.subscribed(now: now)
    case .trades:
      feeds[place].subscribed = now
      feeds[place].hasTraded = false
      feeds[place].knownTime = feeds[place].tradeTime
      feeds[place].knownIDs = feeds[place].tradeIDs
    case .quote, .context: break
    }
  }

  private static func text(_ channel: Channel, _ name: String) -> String {
    let coin = JSONText.quoted(name)
    switch channel {
    case .book: return #"{"type":"l2Book","coin":\#(coin),"fast":true}"#
    case .quote: return #"{"type":"bbo","coin":\#(coin)}"#
    case .trades: return #"{"type":"trades","coin":\#(coin)}"#
    case .context: return #"{"type":"activeAssetCtx","coin":\#(coin)}"#
    }
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

  /// A request was refused, and the connection goes on. Which one it was is in the text, or it is the oldest that waits for its answer.
  func refusedRequest(_ message: String, place: Int?, channel: Channel?, now: Timestamp) throws(FeedError) {
    if message.hasPrefix("Already subscribed"), let place { return acknowledged(place, channel, now: now) }
    if message.hasPrefix("Already unsubscribed") { return }
    if message.hasPrefix("Cannot subscribe"), let first = unacknowledged.first {
      unacknowledged.removeFirst()
      if first.channel == .book, !feeds[first.place].isKnown { return refuse(first.place, message) }
    }
    throw FeedError(.refused, message)
  }

  private func refuse(_ place: Int, _ reason: String) {
    guard !feeds[place].isRefused else { return }
    feeds[place].isRefused = true
    feeds[place].book.disconnected()
    let instrument = instruments[place]
    refuse(FeedSymbol(base: instrument.base, quote: instrument.quote, kind: instrument.kind).text, reason)
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

/// A market of a list, as far as it is used.
struct HyperliquidMarket {
  /// `BTC`, `kPEPE`, `PURR/USDC`, `@107`
  var name: String
  var symbol: FeedSymbol
  /// Digits after the point that prices have at most: 6 less those of sizes, 8 on spot. A price has at most five significant digits besides,
  /// unless it is whole: its step grows with it, and there is no increment to tell.
  var priceScale: UInt8
  var sizeScale: UInt8
  var isDelisted = false
  /// What was traded in the last 24 h, where the list says so.
  var quoteVolume: Decimal64?
  /// The place in the list, by which 24 h figures are found.
  var index = 0
  /// Whether the symbol is spelled as the name is.
  var isExact = true
}
