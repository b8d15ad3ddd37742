import Bytes
import MarketData

/// Coinbase Advanced Trade: books by `level2`, trades by `market_trades`, statistics by `ticker`, liveness by
/// `heartbeats`, without a key.
///
/// The products come by REST before the connection. `sequence_num` counts every message of a connection, whatever its
/// channel, so a hole cannot be laid to a product: it costs all books of the connection a new subscription. There is
/// no checksum.
///
/// Books in USDC are those in USD: data comes under the name that the list gives as `alias`, which is what is
/// subscribed. Of two names of one book only the first is carried.
///
/// Replies say neither which request nor which product they are about, so there is one request under way at a time,
/// and one that is refused without a name is taken in halves until the product that spoils it is alone.
package final class CoinbaseAdvancedHandler: SymbolHandler {
  /// Room for three of the largest snapshot seen: 5.2 MB in 43,974 levels.
  static let messageLimit = 16 << 20
  /// Books on one connection; of more the venue refuses all.
  static let bookLimit = 30
  /// Books in one subscription: their snapshots may be 50 MB.
  static let booksPerRequest = 10
  /// After this long without a reply the next request is sent.
  static let replyTimeout = 3 * Microseconds.second
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 5 * Microseconds.second
  /// How long a connection on which the venue counts too many books may go on with those that it has.
  static let renewalTime = Microseconds.minute

  package static let venue = Venue(
    name: "coinbase-advanced", title: "Coinbase Advanced Trade", separator: "-",
    endpoint: "wss://advanced-trade-ws.coinbase.com", restEndpoint: "https://api.coinbase.com",
    // `heartbeats` is once a second.
    cadence: .promised("heartbeats", every: Microseconds.second), messageLimit: messageLimit, symbolLimit: bookLimit,
    // Eight in a second may be made, and each begins with one of the eight messages that an address may send in it.
    connectLimit: ConnectLimit(count: 4, interval: Microseconds.second),
    // The snapshot is the whole book.
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 50_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("heartbeats", .heartbeat, silence: .linked), .init("level2", .book, silence: .linked, .contradicted),
        .init("market_trades", .trades, silence: .linked), .init("ticker", .ticker, silence: .linked),
      ],
      bookDepth: nil, bookCheck: "sequence_num counts every message of a connection",
      requests: [.instruments],
      limits: ["30 books a connection", "8 messages a second to the venue"]),
    replay: replay,
    makeHandler: { CoinbaseAdvancedHandler(configuration: $0) })

  struct Product {
    var book = StreamedBook()
    /// Whether the newest list has it.
    var isListed = true
    var isRefused = false
    /// Between the end of its book's subscription and the new one: a snapshot that comes then is of the one that has
    /// ended.
    var isLeft = false
    /// The newest venue time of its book, for a message that has none.
    var bookTime: Timestamp?
    var isCarried: Bool { isListed && !isRefused }
  }

  enum Channel: String {
    case heartbeats
    case book = "level2"
    case trades = "market_trades"
    case ticker
  }

  struct Request: SymbolRequest, RepeatedRequest {
    var isSubscription = true
    var channel: Channel
    var places: [Int]
    var attempts = 0
    var refusals = 0
  }

  var products: [Product] = []
  /// `sequence_num` of the newest message; nil before the first of a connection.
  var sequence: Int64?
  /// `heartbeat_counter` of the newest heartbeat.
  var heartbeat: Int64?
  /// Whether a book was taken out of sync that `tick` has not looked at yet.
  private(set) var isAnyDue = false
  /// Book messages of the text that is being read, until it is known that all of it can be.
  var pending: [PendingBook] = []

  private var isConnected = false
  private var isLeaving = false
  /// Of each product one request for each channel, and the end of a book's subscription before a new one; in halves
  /// where they are refused.
  private var outbox: RequestOutbox<Request>
  private var underWay: (request: Request, since: Timestamp)?

  package init(configuration: FeedConfiguration) {
    // Five messages a second, of the eight that an address may send.
    outbox = RequestOutbox(
      atOnce: 1, every: 200 * Microseconds.millisecond * Int64(configuration.connections), limit: 256)
    super.init(venue: Self.venue, configuration: configuration)
  }

  // MARK: Products

  override var listPath: String? { "/api/v3/brokerage/market/products?product_type=SPOT" }

  override func hasListed(now: Timestamp) {
    guard isConnected else { return }
    subscribeMissing(now)
    pump(now)
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    // A book that has two names is listed once, under the name that its data has.
    let carried = carry(try readProducts(body), listing: { $0.venueSymbol == $0.symbol.text }, into: &batch)
    while products.count < instruments.count { products.append(Product()) }
    for place in products.indices { products[place].isListed = carried.contains(place) }
    return true
  }

  override func isLive(_ place: Int) -> Bool { products[place].book.isLive }

  override func refusal(of market: ListedMarket, for symbol: String) -> String? {
    var name = market.venueSymbol
    let place = name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
    guard place >= 0, configuredName(place) != symbol else { return nil }
    return "\(symbol) is the same book as \(configuredName(place)), which is carried: leave one of them out"
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in products.indices where symbols.contains(configuredName(place)) { products[place].isRefused = false }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  // MARK: Connection

  /// Subscribes at once: without it Coinbase closes after 5 s.
  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    outbox.append(Request(channel: .heartbeats, places: []))
    subscribeMissing(now)
    pump(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Increments and status change.
    listRequest.restart()
    sequence = nil
    heartbeat = nil
    outbox.removeAll()
    underWay = nil
    for place in products.indices {
      products[place].book.disconnected()
      products[place].isRefused = false
      products[place].isLeft = false
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    isAnyDue = false
    let due = products.indices.filter { products[$0].isCarried && products[$0].book.isDue(now: now) }
    if !due.isEmpty {
      outbox.append(Request(isSubscription: false, channel: .book, places: due))
      subscribeBooks(due, now)
    }
    pump(now)
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { products[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, products.indices.contains(instrument.index), products[instrument.index].book.resync(now: now)
    else { return }
    tick(now: now, into: &batch)
  }

  /// Takes a live book out of sync; it is subscribed again by the next `tick`.
  private func reset(_ place: Int, _ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    guard products[place].book.resync(now: now) else { return }
    isAnyDue = true
    if reason == .gap { seen[place].gaps += 1 }
    batch.events.append(.bookReset(InstrumentID(place), reason))
  }

  // MARK: Requests

  /// What is carried and has not been asked for on this connection.
  private func subscribeMissing(_ now: Timestamp) {
    let places = products.indices.filter { products[$0].isCarried && products[$0].book.state == .unsubscribed }
    guard !places.isEmpty else { return }
    outbox.append(Request(channel: .trades, places: places), Request(channel: .ticker, places: places))
    subscribeBooks(places, now)
  }

  private func subscribeBooks(_ places: [Int], _ now: Timestamp) {
    for start in stride(from: 0, to: places.count, by: Self.booksPerRequest) {
      let group = Array(places[start..<min(start + Self.booksPerRequest, places.count)])
      for place in group { products[place].book.queued(now: now) }
      outbox.append(Request(channel: .book, places: group))
    }
  }

  /// Sends the next request if none is under way.
  private func pump(_ now: Timestamp) {
    if let underWay, now - underWay.since >= Self.replyTimeout {
      self.underWay = nil
      repeatUnanswered(underWay.request, now)
    }
    guard underWay == nil, var request = outbox.take(now: now).first else { return }
    // A book whose snapshot has come after all is left as it is.
    request.places.removeAll {
      !products[$0].isCarried || (request.channel == .book && !products[$0].book.isQueued)
    }
    guard request.channel == .heartbeats || !request.places.isEmpty else { return }
    if request.channel == .book {
      for place in request.places {
        products[place].isLeft = !request.isSubscription
        if request.isSubscription { products[place].book.subscribed(now: now) }
      }
    }
    actions.append(.send(text(request)))
    underWay = (request, now)
  }

  /// No reply came: the same again, books excepted, which ask again by themselves until their data comes.
  private func repeatUnanswered(_ request: Request, _ now: Timestamp) {
    var request = request
    guard request.isSubscription else { return }
    if request.channel == .book {
      let silent = request.places.filter { products[$0].isCarried && !products[$0].book.isLive }
      if let attempts = silent.map({ products[$0].book.silentAttempts }).max() {
        unanswered(attempts, "\(request.channel.rawValue) of \(silent.count) products", now: now)
      }
      return
    }
    request.attempts += 1
    unanswered(request.attempts, "\(request.channel.rawValue) of \(request.places.count) products", now: now)
    if request.attempts < RequestDeadline.attempts {
      outbox.append(request)
    } else {
      outbox.append(request, due: now + RequestDeadline.hopeless)
    }
  }

  private func text(_ request: Request) -> String {
    let type = request.isSubscription ? "subscribe" : "unsubscribe"
    guard request.channel != .heartbeats else { return #"{"type":"\#(type)","channel":"heartbeats"}"# }
    let ids = JSONText.array(request.places.map { instruments[$0].venueSymbol })
    return #"{"type":"\#(type)","product_ids":\#(ids),"channel":"\#(request.channel.rawValue)"}"#
  }

  /// The request under way was carried out.
  func acknowledged(now: Timestamp) {
    underWay = nil
    pump(now)
  }

  /// `{"type":"error","message":…}` is about the request under way.
  func failed(_ message: String, now: Timestamp) throws(FeedError) {
    guard let request = underWay?.request, request.isSubscription, request.channel != .heartbeats else {
      acknowledged(now: now)
      throw FeedError(.refused, message)
    }
    underWay = nil
    let words = message.lowercased()
    if words.contains("too many l2 streams") {
      // A new connection begins the count anew.
      if !isLeaving { actions.append(.renew(reason: message, within: Self.renewalTime)) }
      isLeaving = true
      throw FeedError(.refused, message)
    }
    if request.channel == .book { for place in request.places { products[place].book.queued(now: now) } }
    if words.contains("too many") || words.contains("rate limit") {
      outbox.putBack(request)
      outbox.pause(until: now + Self.ratePause)
      throw FeedError(.refused, message)
    }
    var named = request.places.filter { Self.names(message, instruments[$0].venueSymbol) }
    // A text that only repeats what was asked for says nothing.
    if named.count == request.places.count { named = [] }
    if request.places.count == 1 { named = request.places }
    if named.isEmpty {
      outbox.putBackHalves(of: request)
    } else {
      let live = named.filter { products[$0].book.isLive }
      if request.channel != .book, !live.isEmpty {
        // A book that is live was not refused.
        var later = request
        later.places = live
        askLater(later, in: &outbox, now: now)
      }
      for place in named where !products[place].book.isLive {
        products[place].isRefused = true
        products[place].book.disconnected()
        refuse(configuredName(place), message)
      }
      var rest = request
      rest.places.removeAll { named.contains($0) }
      if !rest.places.isEmpty { outbox.putBack(rest) }
    }
    pump(now)
  }

  /// Whether `name` stands in `text` by itself: `BTC-USD` does not stand in `BTC-USDC`.
  private static func names(_ text: String, _ name: String) -> Bool {
    text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.contains { $0 == name }
  }

  // MARK: The connection's numbers

  /// Takes the number of a message; false if it is the last one again. A hole takes all books out of sync: which of
  /// them it concerns is not known. So does a number that goes back, be it late or the numbering begun anew.
  func follow(_ number: Int64?, now: Timestamp, into batch: inout EventBatch) -> Bool {
    guard let number else { return true }
    let last = sequence
    sequence = number
    guard let last else { return true }
    if number == last { return false }
    if number != last &+ 1 { lost(now: now, into: &batch) }
    return true
  }

  func lost(now: Timestamp, into batch: inout EventBatch) {
    for place in products.indices { reset(place, .gap, now: now, into: &batch) }
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
  }

  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard !Salvage.contains(message, "\"error\"") else { return }
    // The message had a number of its own, and the next one follows it.
    if let number = Salvage.number(message, key: "\"sequence_num\"") {
      _ = follow(number, now: now, into: &batch)
    } else if let sequence {
      self.sequence = sequence &+ 1
    }
    // What says nothing of its channel may have been of a book.
    if Salvage.contains(message, "\"l2_data\"") || !Salvage.contains(message, "\"channel\"") {
      let places = Salvage.symbols(message, key: "\"product_id\"", in: table)
      for place in places.isEmpty ? Array(products.indices) : places {
        reset(place, .malformed, now: now, into: &batch)
      }
    }
    tick(now: now, into: &batch)
  }
}

/// A book message whose levels stand in the batch.
struct PendingBook {
  var place: Int
  var isSnapshot: Bool
  var bids: Range<Int>
  var asks: Range<Int>
}
