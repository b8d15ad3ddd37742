import Bytes
import MarketData

/// Coinbase Exchange: books by `level2_batch`, trades by `matches`, statistics by `ticker`, liveness by `heartbeat`,
/// without a key.
///
/// The products come by REST before the connection. The feed has no sequence number and no checksum: a book is as
/// good as the connection, and on any doubt it is subscribed again: a book that is crossed, an update whose time goes
/// back. The acknowledgement calls `level2_batch` `level2_50`, so names in it are not looked at; a channel that stays
/// silent is asked for by its other name.
package final class CoinbaseHandler: SymbolHandler {
  /// A snapshot of BTC-USD is about 1.4 MiB in some 40,000 levels; room for five of it.
  static let messageLimit = 8 << 20
  /// The channel by the name that is documented, and by the one that acknowledgements use.
  static let bookChannels = ["level2_batch", "level2_50"]

  static let otherChannels = ["matches", "ticker", "heartbeat"]

  package static let venue = Venue(
    name: "coinbase", title: "Coinbase", separator: "-", endpoint: "wss://ws-feed.exchange.coinbase.com",
    restEndpoint: "https://api.exchange.coinbase.com",
    // `heartbeat` is once a second for every product.
    cadence: .promised("heartbeat", every: Microseconds.second), messageLimit: messageLimit,
    // Recommended in its best practices for the feed.
    offersCompression: true, symbolLimit: 100,
    // Eight requests a second from one address.
    connectLimit: ConnectLimit(count: 8, interval: Microseconds.second),
    // The snapshot is the whole book: 40,000 levels of BTC-USD, both sides together.
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 50_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("level2_batch", .book, silence: .contradicted), .init("matches", .trades, silence: .linked),
        .init("ticker", .ticker), .init("heartbeat", .heartbeat, silence: .atLeast(every: Microseconds.second)),
      ],
      bookDepth: nil, bookCheck: "the venue numbers nothing; an update whose time goes back, a crossed or frozen book",
      requests: [.instruments, .volumes],
      limits: ["subscribed within 5 s of connecting"]),
    replay: replay,
    makeHandler: { CoinbaseHandler(configuration: $0) })

  struct Product {
    var book = StreamedBook()
    /// Which of `bookChannels` is subscribed.
    var channel = 0
    var isRefused = false
    /// `heartbeat` is once a second.
    var heartbeats = SilenceWatch(every: Microseconds.second)
    /// Whether its subscriptions have been answered on this connection, by the list of all or a heartbeat.
    var isAnswered = false
    /// Was refused before, or came after the others: subscribed by a message of its own, as a bad product refuses the
    /// whole message.
    var isSuspect = false
    var lastTrade: Int64 = 0
    /// `last_trade_id` of the heartbeat before.
    var heartbeatTrade: Int64 = 0
    /// The newest venue time of a book update, for one that says the year 0001.
    var bookTime: Timestamp?
    /// The newest venue time of an update since the snapshot: it never goes back.
    var updateTime: Timestamp?
  }

  var products: [Product] = []
  private var isConnected = false

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Products

  override var listPath: String? { "/products" }

  override func hasListed(now: Timestamp) { if isConnected { subscribeSuspects(now) } }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    carry(try readProducts(body), into: &batch)
    while products.count < instruments.count { products.append(Product(isSuspect: isConnected)) }
    return true
  }

  override func isLive(_ place: Int) -> Bool { products[place].book.isLive }

  override var volumeRequests: [String] { ["/products/stats"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readStatistics(body, into: &volumes)
  }

  // MARK: Connection

  /// The heartbeats are the products'.
  package override var expectsMarket: Bool { products.contains { $0.book.state != .unsubscribed } }

  /// Subscribes at once: without it Coinbase closes after 5 s.
  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    subscribeAll(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Increments and status change.
    listRequest.restart()
    for place in products.indices {
      products[place].book.disconnected()
      products[place].heartbeats.disconnected()
      products[place].isAnswered = false
      // What was refused is asked for again: a market that was halted may be open.
      if products[place].isRefused { products[place].isSuspect = true }
      products[place].isRefused = false
      products[place].heartbeatTrade = 0
      products[place].lastTrade = 0
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    let dead = products.indices.filter {
      products[$0].heartbeats.isDead(now: now, connectionHeard: marketHeard)
    }
    if !dead.isEmpty {
      // All of a product's channels are one subscription: what has taken its heartbeat has taken its book.
      for place in dead where products[place].book.resync(now: now) {
        batch.events.append(.bookReset(InstrumentID(place), .stale))
      }
      send("unsubscribe", dead, Self.otherChannels)
      send("subscribe", dead, Self.otherChannels)
    }
    for channel in Self.bookChannels.indices {
      let due = products.indices.filter {
        !products[$0].isRefused && products[$0].channel == channel && products[$0].book.isDue(now: now)
      }
      if !due.isEmpty { resubscribe(due, from: channel, now) }
    }
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { products[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, products.indices.contains(instrument.index), products[instrument.index].book.resync(now: now)
    else { return }
    tick(now: now, into: &batch)
  }

  private func subscribeAll(_ now: Timestamp) {
    let places = products.indices.filter { !products[$0].isRefused && !products[$0].isSuspect }
    subscribeSuspects(now)
    guard !places.isEmpty else { return }
    for channel in Self.bookChannels.indices {
      let group = places.filter { products[$0].channel == channel }
      guard !group.isEmpty else { continue }
      send("subscribe", group, [Self.bookChannels[channel]] + Self.otherChannels)
      for place in group { products[place].book.subscribed(now: now) }
    }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in products.indices where products[place].isRefused && symbols.contains(configuredName(place)) {
      products[place].isRefused = false
      products[place].isSuspect = true
    }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  private func subscribeSuspects(_ now: Timestamp) {
    for place in products.indices {
      let product = products[place]
      guard product.isSuspect, !product.isRefused, product.book.state == .unsubscribed else { continue }
      send("subscribe", [place], [Self.bookChannels[product.channel]] + Self.otherChannels)
      products[place].book.subscribed(now: now)
    }
  }

  /// A book that answered no subscription at all is asked for by the other name.
  private func resubscribe(_ places: [Int], from channel: Int, _ now: Timestamp) {
    send("unsubscribe", places, [Self.bookChannels[channel]])
    let silent = places.filter { products[$0].book.silentAttempts > 0 }
    let others = places.filter { products[$0].book.silentAttempts == 0 }
    let next = (channel + 1) % Self.bookChannels.count
    for place in silent { products[place].channel = next }
    // Where nothing has come at all, the rest of the subscription was not answered either.
    let unheard = silent.filter { !products[$0].isAnswered }
    let heard = silent.filter { products[$0].isAnswered }
    if !heard.isEmpty { send("subscribe", heard, [Self.bookChannels[next]]) }
    if !unheard.isEmpty {
      send("subscribe", unheard, [Self.bookChannels[next]] + Self.otherChannels)
      let attempts = unheard.map { products[$0].book.silentAttempts }.max() ?? 0
      let names = unheard.map { instruments[$0].venueSymbol }
      unanswered(attempts, "subscribe \(names.joined(separator: " "))", now: now)
    }
    if !others.isEmpty { send("subscribe", others, [Self.bookChannels[channel]]) }
    for place in places { products[place].book.subscribed(now: now) }
  }

  private func send(_ type: String, _ places: [Int], _ channels: [String]) {
    let ids = JSONText.array(places.map { instruments[$0].venueSymbol })
    actions.append(.send(#"{"type":"\#(type)","product_ids":\#(ids),"channels":\#(JSONText.array(channels))}"#))
  }

  // MARK: Refusals

  /// `{"type":"error",…}`. A bad product refuses the whole subscribe message, so the others are subscribed again
  /// without it.
  func failed(_ message: String, _ reason: String, now: Timestamp) throws(FeedError) {
    let words = reason.split(separator: " ")
    if reason.contains("is not a valid channel") || reason.contains("require authentication") {
      let refusedChannel = words.first.map(String.init) ?? ""
      // The other name of the book's channel, once; if that is refused too, the timeouts go on trying both, ever more
      // rarely.
      for place in products.indices where !products[place].book.isLive {
        if Self.bookChannels[products[place].channel] == refusedChannel || reason.contains("level2") {
          products[place].channel = (products[place].channel + 1) % Self.bookChannels.count
        }
      }
      throw FeedError(.refused, "\(message): \(reason)")
    }
    if let name = words.first.map(String.init) {
      var bytes = name
      let place = bytes.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
      if place >= 0, !products[place].isRefused {
        products[place].isRefused = true
        products[place].book.disconnected()
        products[place].heartbeats.disconnected()
        refuse(name, reason)
        if products[place].isSuspect { return }
        // What was live is untouched; what waits for its first snapshot was refused with it.
        let waiting = products.indices.filter {
          !products[$0].isRefused && !products[$0].isSuspect && !products[$0].book.isLive
        }
        for channel in Self.bookChannels.indices {
          let group = waiting.filter { products[$0].channel == channel }
          guard !group.isEmpty else { continue }
          send("subscribe", group, [Self.bookChannels[channel]] + Self.otherChannels)
          for place in group { products[place].book.subscribed(now: now) }
        }
        return
      }
    }
    throw FeedError(.refused, "\(message): \(reason)")
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    let isBook = Salvage.contains(message, "\"l2update\"") || Salvage.contains(message, "\"snapshot\"")
    // What does not say what it is, or whose, may have been any book's, and no number of the next one would tell.
    let isUntold = isBook ? !Salvage.contains(message, "\"product_id\"") : !Salvage.contains(message, "\"type\"")
    guard isBook || isUntold else { return }
    let places = isUntold ? Array(products.indices) : Salvage.symbols(message, key: "\"product_id\"", in: table)
    for place in places where products[place].book.resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), .malformed))
    }
    tick(now: now, into: &batch)
  }
}
