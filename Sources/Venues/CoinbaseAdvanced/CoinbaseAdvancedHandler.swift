import Bytes
import MarketData

/// Coinbase Advanced Trade: books by `level2`, trades by `market_trades`, statistics by `ticker`, liveness by `heartbeats`, without a
/// key.
///
/// The products come by REST before the connection. `sequence_num` counts every message of a connection, whatever its channel, so a
/// hole cannot be laid to a product: it costs all books of the connection a new subscription. There is no checksum.
///
/// Books in USDC are those in USD: data comes under the name that the list gives as `alias`, which is what is subscribed. Of two names of
/// one book only the first is carried.
///
/// Replies say neither which request nor which product they are about, so there is one request under way at a time, and one that is
/// refused without a name is taken in halves until the product that spoils it is alone.
package final class CoinbaseAdvancedHandler: SymbolHandler {
  /// Room for three of the largest snapshot seen: 5.2 MB in 43,974 levels.
  static let messageLimit = 16 << 20
  /// Room for the list of products: about 1.2 KB for each of some 800.
  static let productsLimit = 16 << 20
  static let productsPath = "/api/v3/brokerage/market/products?product_type=SPOT"
  /// Books on one connection; of more the venue refuses all.
  static let bookLimit = 30
  /// Books in one subscription: their snapshots may be 50 MB.
  static let booksPerRequest = 10
  /// Five messages a second, of the eight that an address may send.
  static let requestInterval = 200 * Microseconds.millisecond
  /// After this long without a reply the next request is sent.
  static let replyTimeout = 3 * Microseconds.second
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 5 * Microseconds.second

  package static let venue = Venue(
    name: "coinbase-advanced", title: "Coinbase Advanced Trade", separator: "-",
    endpoint: "wss://advanced-trade-ws.coinbase.com", restEndpoint: "https://api.coinbase.com",
    // `heartbeats` is once a second.
    staleAfter: 10 * Microseconds.second, messageLimit: messageLimit, symbolLimit: bookLimit,
    // The snapshot is the whole book.
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 50_000, checksum: nil),
    profile: VenueProfile(
      channels: [
        .init("heartbeats", .heartbeat, silence: .linked), .init("level2", .book, silence: .linked, .contradicted),
        .init("market_trades", .trades, silence: .linked), .init("ticker", .ticker, silence: .linked),
      ],
      bookDepth: nil, bookCheck: "sequence_num counts every message of a connection",
      connectionLife: "a heartbeat each second", requests: [.instruments],
      limits: ["30 books a connection", "8 messages a second to the venue"]),
    makeHandler: { CoinbaseAdvancedHandler(configuration: $0) })

  struct Product {
    /// As it was configured.
    let symbol: String
    var book = StreamedBook()
    /// Whether the newest list has it.
    var isListed = true
    var isRefused = false
    /// Whether a subscription to its book waits to be sent.
    var isQueued = false
    /// When what was refused is asked for again, ever more rarely.
    var retryDue = Timestamp.distantFuture
    var retry = Backoff(first: Microseconds.minute, limit: 10 * Microseconds.minute)
    /// The newest venue time of its book, for a message that has none.
    var bookTime: Timestamp?
  }

  enum Channel: String {
    case heartbeats
    case book = "level2"
    case trades = "market_trades"
    case ticker
  }

  struct Request {
    var isSubscription: Bool
    var channel: Channel
    var places: [Int]
    var sent = Timestamp.distantPast
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

  private var hasProducts = false
  private var productsRequest: Int?
  private var productsDue = Timestamp.distantPast
  private var productsBackoff = Backoff(first: Microseconds.second, limit: 30 * Microseconds.second)
  private var requestID = 0
  private var isConnected = false
  /// Requests to be sent: of each product one for each channel, and the end of a book's subscription before a new one.
  private var queue: [Request] = []
  private var underWay: Request?
  private var sendDue = Timestamp.distantPast

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Products

  package override var isPrepared: Bool { hasProducts }

  package override func prepare(now: Timestamp, into batch: inout EventBatch) {
    guard !hasProducts, productsRequest == nil, now >= productsDue else { return }
    requestID += 1
    productsRequest = requestID
    productsDue = now + RequestPacer.answerTimeout
    actions.append(.get(request: requestID, path: Self.productsPath, bodyLimit: Self.productsLimit))
  }

  package override func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    guard request == productsRequest else { return }
    productsRequest = nil
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "GET products: status \(status)") }
      let list = try readProducts(body)
      take(list, into: &batch)
      hasProducts = true
      productsBackoff.reset()
      productsDue = now
    } catch {
      rejectAnswer(error)
      productsDue = now + (status == 429 ? Microseconds.minute : productsBackoff.next())
    }
  }

  private func take(_ list: [CoinbaseAdvancedProduct], into batch: inout EventBatch) {
    for place in products.indices { products[place].isListed = false }
    // A book that has two names is listed once, under the name that its data has.
    self.list(
      list.filter { $0.alias.isEmpty && !$0.base.isEmpty && !$0.quote.isEmpty }.map {
        ListedMarket(
          venueSymbol: $0.id, symbol: FeedSymbol(base: $0.base, quote: $0.quote), priceIncrement: $0.priceIncrement,
          sizeIncrement: $0.sizeIncrement, state: $0.isTrading ? .trading : .halted, quoteVolume: $0.quoteVolume)
      })
    for symbol in symbols {
      guard let wanted = wanted(symbol) else { continue }
      guard let product = list.first(where: { $0.id == symbol }) else {
        let question = NearNames.question(symbol, among: list.lazy.map(\.id))
        refuse(symbol, "Coinbase Advanced Trade has no product \(symbol)\(question)")
        continue
      }
      var name = product.alias.isEmpty ? product.id : product.alias
      let known = name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
      if known >= 0, products[known].symbol != symbol {
        refuse(
          symbol, "\(symbol) is the same book as \(products[known].symbol), which is carried: leave one of them out")
        continue
      }
      let place = add(
        venueSymbol: name, base: wanted.base, quote: wanted.quote, priceScale: product.priceScale,
        sizeScale: product.sizeScale, priceIncrement: product.priceIncrement, sizeIncrement: product.sizeIncrement,
        into: &batch)
      guard let place else {
        refuse(symbol, "too many symbols on one connection")
        continue
      }
      if place == products.count { products.append(Product(symbol: symbol)) }
      products[place].isListed = true
    }
  }

  // MARK: Connection

  /// Subscribes at once: without it Coinbase closes after 5 s.
  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    sendDue = now
    queue.append(Request(isSubscription: true, channel: .heartbeats, places: []))
    subscribe(products.indices.filter { products[$0].isListed })
    pump(now)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    // Products are asked for again before the next connection: increments and status change.
    hasProducts = false
    // A request that was under way has been dropped with the connection.
    if productsRequest != nil { productsDue = now }
    productsRequest = nil
    sequence = nil
    heartbeat = nil
    queue.removeAll()
    underWay = nil
    for place in products.indices {
      products[place].book.disconnected()
      products[place].isQueued = false
      products[place].isRefused = false
      products[place].retryDue = .distantFuture
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    guard isConnected else {
      if productsRequest != nil, now >= productsDue { productsRequest = nil }
      prepare(now: now, into: &batch)
      return
    }
    isAnyDue = false
    let due = products.indices.filter { !products[$0].isQueued && products[$0].book.isDue(now: now) }
    if !due.isEmpty {
      queue.append(Request(isSubscription: false, channel: .book, places: due))
      subscribeBooks(due)
    }
    let again = products.indices.filter { now >= products[$0].retryDue }
    if !again.isEmpty {
      for place in again {
        products[place].isRefused = false
        products[place].retryDue = .distantFuture
      }
      subscribe(again)
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

  private func subscribe(_ places: [Int]) {
    guard !places.isEmpty else { return }
    queue.append(Request(isSubscription: true, channel: .trades, places: places))
    queue.append(Request(isSubscription: true, channel: .ticker, places: places))
    subscribeBooks(places)
  }

  private func subscribeBooks(_ places: [Int]) {
    for start in stride(from: 0, to: places.count, by: Self.booksPerRequest) {
      let group = Array(places[start..<min(start + Self.booksPerRequest, places.count)])
      for place in group { products[place].isQueued = true }
      queue.append(Request(isSubscription: true, channel: .book, places: group))
    }
  }

  /// Sends the next request if none is under way.
  private func pump(_ now: Timestamp) {
    if let request = underWay, now - request.sent >= Self.replyTimeout { underWay = nil }
    while underWay == nil, now >= sendDue, !queue.isEmpty {
      var request = queue.removeFirst()
      if request.channel == .book, request.isSubscription {
        for place in request.places { products[place].isQueued = false }
      }
      request.places.removeAll { products[$0].isRefused }
      guard request.channel == .heartbeats || !request.places.isEmpty else { continue }
      if request.channel == .book, request.isSubscription {
        for place in request.places { products[place].book.subscribed(now: now) }
      }
      actions.append(.send(text(request)))
      request.sent = now
      underWay = request
      sendDue = now + Self.requestInterval
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
    guard let request = underWay, request.isSubscription, request.channel != .heartbeats else {
      acknowledged(now: now)
      throw FeedError(.refused, message)
    }
    underWay = nil
    let words = message.lowercased()
    if words.contains("too many l2 streams") {
      // A new connection begins the count anew.
      actions.append(.reconnect(reason: message))
      throw FeedError(.refused, message)
    }
    if words.contains("too many") || words.contains("rate limit") {
      putBack([request])
      sendDue = now + Self.ratePause
      throw FeedError(.refused, message)
    }
    var named = request.places.filter { Self.names(message, instruments[$0].venueSymbol) }
    // A text that only repeats what was asked for says nothing.
    if named.count == request.places.count, named.count > 1 { named = [] }
    if request.places.count == 1 { named = request.places }
    if named.isEmpty {
      let middle = request.places.count / 2
      var (first, second) = (request, request)
      first.places = Array(request.places[..<middle])
      second.places = Array(request.places[middle...])
      putBack([first, second])
    } else {
      for place in named {
        products[place].isRefused = true
        products[place].book.disconnected()
        products[place].retryDue = now + products[place].retry.next()
        refuse(products[place].symbol, message)
      }
      var rest = request
      rest.places.removeAll { named.contains($0) }
      putBack([rest])
    }
    pump(now)
  }

  private func putBack(_ requests: [Request]) {
    for request in requests where request.channel == .book {
      for place in request.places { products[place].isQueued = true }
    }
    queue.insert(contentsOf: requests, at: 0)
  }

  /// Whether `name` stands in `text` by itself: `BTC-USD` does not stand in `BTC-USDC`.
  private static func names(_ text: String, _ name: String) -> Bool {
    text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.contains { $0 == name }
  }

  // MARK: The connection's numbers

  /// Takes the number of a message; false if it is the last one again. A hole takes all books out of sync: which of them it
  /// concerns is not known. So does a number that goes back, be it late or the numbering begun anew.
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

/// A product of the list, as far as it is used.
struct CoinbaseAdvancedProduct {
  var id = ""
  var base = ""
  var quote = ""
  /// The product whose book this one shares; empty if it has its own.
  var alias = ""
  /// Whether no flag keeps orders from being matched.
  var isTrading = true
  /// What was traded in the last 24 h, in the quote currency.
  var quoteVolume: Decimal64?
  var priceScale: UInt8 = 0
  var sizeScale: UInt8 = 0
  var priceIncrement: Decimal64?
  var sizeIncrement: Decimal64?
}
