import Bytes
import MarketData

/// A client of the simulated Gate.
final class GateSession: SimulatedSession {
  var subscriptions: [GateSubscription] = []
  var lastRequest: Timestamp

  override init(id: Int, faults: FaultInjector) {
    lastRequest = faults.now
    super.init(id: id, faults: faults)
  }
}

/// One stream.
struct GateSubscription: Hashable {
  enum Channel: Hashable {
    /// `spot.obu` of 50 or 400 levels.
    case stream(depth: Int)
    /// `spot.order_book_update`, every 20 or 100 ms.
    case updates(isFast: Bool)
    case trades
    case quotes
    case tickers
  }
  let channel: Channel
  let instrument: Int
}

/// Gate's spot socket, `/ws/v4/`: `spot.obu`, `spot.order_book_update`, `spot.trades`, `spot.book_ticker`, `spot.tickers`, the application
/// ping; REST `currency_pairs` and `order_book`.
///
/// Numbers are strings without trailing zeros, of trades with ten digits. Books count every level that changes; `spot.obu` also says
/// so where nothing of what it shows has. A name that there is not is refused, except by `spot.obu`, which acknowledges it and stays silent.
final class GateProtocol: VenueProtocol {
  /// Without a subscription and a word from the client, a socket is cut after this long.
  static let idleLimit = 30 * Microseconds.second
  /// How far a request's time may be off, s.
  static let timeTolerance: Int64 = 60
  /// Levels a side of a REST snapshot; more are answered with an empty book.
  static let snapshotLimit = 1_000
  /// REST requests of one endpoint in ten seconds.
  static let restLimit = 200

  private static let depths = [50, 400]

  /// A book of one depth, as its subscribers know it.
  private struct Stream {
    var window: BookWindow
    var last: Int64
    var subscribers = Subscribers<GateSession>()
  }

  /// Changes gathered for `spot.order_book_update`, and the first number that they cover.
  private struct Gathered {
    var levels = LevelBatch()
    var first: Int64
    var subscribers = Subscribers<GateSession>()
  }

  /// By instrument × depths.
  private var books: [Stream]
  /// By instrument × (slow, fast).
  private var updates: [Gathered]
  private var trades: [Subscribers<GateSession>]
  private var quotes: [Subscribers<GateSession>]
  private var tickers: [Subscribers<GateSession>]
  private var kept: [Int: SimulatedTruth] = [:]
  private var ticks = 0
  private var restWindow: Int64 = 0
  private var restRequests: [String: Int] = [:]

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = market.instruments.flatMap { state in
      Self.depths.map { Stream(window: BookWindow(depth: $0), last: state.updateID) }
    }
    updates = market.instruments.flatMap { [Gathered(first: $0.updateID + 1), Gathered(first: $0.updateID + 1)] }
    trades = Array(repeating: Subscribers(), count: count)
    quotes = trades
    tickers = trades
    super.init(name: "gate", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws/v4/" }

  override class func objection(to kind: Fault.Kind) -> String? {
    kind == .checksum ? "its messages have no checksum" : nil
  }

  override func keepSnapshots(of instrument: Int?) {
    for index in market.instruments.indices where instrument ?? index == index {
      kept[index] = market.truth(index, isSnapshot: true)
    }
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    // Without the last slash the venue has no such page.
    guard path == "/ws/v4/" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return GateSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? GateSession else { return }
    for subscription in session.subscriptions { remove(subscription, session) }
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.send { out in
      head("spot.system", to: &out)
      out.append(
        #","event":"update","result":{"type":"upgrade","msg":"The connection will soon be closed. Please reconnect"}}"#)
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices {
      flush(index, 50)
      flushUpdates(index, isFast: true)
      if ticks % 2 == 0 {
        flush(index, 400)
        flushUpdates(index, isFast: false)
      }
      if ticks % 20 == 0 {
        tickers[index].send(.ticker, instrument: index) { appendTicker(index, to: &$0) }
      }
    }
    for case let session as GateSession in sessions
    where session.subscriptions.isEmpty && now - session.lastRequest >= Self.idleLimit {
      session.abort()
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? GateSession else { return }
    session.lastRequest = faults.now
    var request = GateRequest()
    do throws(JSONError) {
      try request.read(text)
    } catch {
      return reply(request, session, error: (1, "request message need json scheme"))
    }
    if request.channel == "spot.ping" {
      return session.send { out in
        head("spot.pong", to: &out)
        out.append(#","event":"","error":null,"result":null}"#)
      }
    }
    guard abs(request.time - faults.now.rawValue / Microseconds.second) <= Self.timeTolerance else {
      return reply(request, session, error: (2, "request time is too far from the server's"))
    }
    guard request.event == "subscribe" || request.event == "unsubscribe" else {
      return reply(request, session, error: (2, "Invalid argument provided"))
    }
    carryOut(request, session)
  }

  private func reply(_ request: GateRequest, _ session: GateSession, error: (code: Int64, message: String)? = nil) {
    session.send { out in
      head(request.channel, to: &out)
      if let id = request.id {
        out.append(#","id":"#)
        out.append(integer: id)
      }
      out.append(#","conn_id":"28838ac31473dcbb","trace_id":"789a534faf3c51651b7764b0ac63b4a8","event":"#)
      out.append(json: request.event)
      out.append(#","payload":["#)
      for (index, text) in request.payload.enumerated() {
        if index > 0 { out.append(",") }
        out.append(json: text)
      }
      out.append("]")
      if let error {
        out.append(#","error":{"code":"#)
        out.append(integer: error.code)
        out.append(#","message":"#)
        out.append(json: error.message)
        out.append(#"},"result":{"status":"fail"}}"#)
      } else {
        out.append(#","result":{"status":"success"}}"#)
      }
    }
  }

  private func head(_ channel: String, to out: inout ByteBuffer) {
    out.append(#"{"time":"#)
    out.append(integer: faults.now.rawValue / Microseconds.second)
    out.append(#","time_ms":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","channel":"#)
    out.append(json: channel)
  }

  private func carryOut(_ request: GateRequest, _ session: GateSession) {
    let wanted: [GateSubscription]
    switch request.channel {
    case "spot.obu":
      wanted = request.payload.compactMap(stream)
      if request.event == "subscribe",
        let twice = zip(wanted, request.payload).first(where: { session.subscriptions.contains($0.0) })
      {
        return reply(request, session, error: (2, "Alert sub \(twice.1)"))
      }
    case "spot.order_book_update":
      guard request.payload.count == 2, ["20ms", "100ms"].contains(request.payload[1]) else {
        return reply(request, session, error: (2, "Invalid argument provided"))
      }
      guard let index = find(request.payload[0]) else { return refuse(request.payload[0], request, session) }
      wanted = [GateSubscription(channel: .updates(isFast: request.payload[1] == "20ms"), instrument: index)]
    case "spot.trades", "spot.book_ticker", "spot.tickers":
      if let unknown = request.payload.first(where: { find($0) == nil }) { return refuse(unknown, request, session) }
      let channel: GateSubscription.Channel =
        request.channel == "spot.trades" ? .trades : request.channel == "spot.tickers" ? .tickers : .quotes
      wanted = request.payload.compactMap { find($0).map { GateSubscription(channel: channel, instrument: $0) } }
    default: return reply(request, session, error: (2, "Unknown channel \(request.channel)"))
    }
    reply(request, session)
    for subscription in wanted {
      let isThere = session.subscriptions.contains(subscription)
      if request.event == "subscribe" {
        guard !isThere else { continue }
        session.subscriptions.append(subscription)
        add(subscription, session)
      } else if isThere {
        session.subscriptions.removeAll { $0 == subscription }
        remove(subscription, session)
      }
    }
  }

  private func refuse(_ name: String, _ request: GateRequest, _ session: GateSession) {
    reply(request, session, error: (2, "unknown currency pair \(name)"))
  }

  /// Nil for what is not listed, or is to be refused.
  private func find(_ name: String) -> Int? {
    market.instruments.firstIndex { $0.instrument.venueSymbol == name }.flatMap { isRefused($0) ? nil : $0 }
  }

  /// `ob.BTC_USDT.400`; nil if there is none such, which nobody is told.
  private func stream(_ name: String) -> GateSubscription? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "ob", let depth = Int(parts[2]), Self.depths.contains(depth),
      let index = find(String(parts[1]))
    else { return nil }
    return GateSubscription(channel: .stream(depth: depth), instrument: index)
  }

  private func place(_ instrument: Int, _ depth: Int) -> Int {
    instrument * Self.depths.count + Self.depths.firstIndex(of: depth)!
  }

  private func add(_ subscription: GateSubscription, _ session: GateSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .stream(let depth):
      let place = place(index, depth)
      // Those who are there get what is gathered; the newcomer's snapshot has it already.
      if books[place].subscribers.isEmpty {
        _ = books[place].window.move(to: market.instruments[index].book)
        books[place].last = market.instruments[index].updateID
      } else {
        flush(index, depth)
      }
      books[place].subscribers.insert(session)
      session.send(.bookSnapshot, instrument: index) { appendStream(index, depth, nil, to: &$0) }
    case .updates(let isFast):
      let place = index * 2 + (isFast ? 1 : 0)
      if updates[place].subscribers.isEmpty {
        updates[place].levels.removeAll()
        updates[place].first = market.instruments[index].updateID + 1
      } else {
        flushUpdates(index, isFast: isFast)
      }
      updates[place].subscribers.insert(session)
    case .trades: trades[index].insert(session)
    case .quotes: quotes[index].insert(session)
    case .tickers:
      tickers[index].insert(session)
      session.send(.ticker, instrument: index) { appendTicker(index, to: &$0) }
    }
  }

  private func remove(_ subscription: GateSubscription, _ session: GateSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .stream(let depth): books[place(index, depth)].subscribers.remove(session)
    case .updates(let isFast): updates[index * 2 + (isFast ? 1 : 0)].subscribers.remove(session)
    case .trades: trades[index].remove(session)
    case .quotes: quotes[index].remove(session)
    case .tickers: tickers[index].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for place in [index * 2, index * 2 + 1] where !updates[place].subscribers.isEmpty {
      updates[place].levels.add(change)
    }
    for trade in change.trades {
      trades[index].send(.trade, instrument: index) { appendTrade(trade, index, to: &$0) }
    }
    if change.isTopChanged {
      quotes[index].send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    }
  }

  private func flush(_ index: Int, _ depth: Int) {
    let place = place(index, depth)
    let state = market.instruments[index]
    guard !books[place].subscribers.isEmpty, state.updateID > books[place].last else { return }
    var (bids, asks) = books[place].window.move(to: state.book)
    if index % 2 == 1 {
      // Whether spot tells of levels that fall out of the window is not known: here every other market does.
      bids.removeAll { $0.size == 0 && state.book.size(.bid, at: $0.price) > 0 }
      asks.removeAll { $0.size == 0 && state.book.size(.ask, at: $0.price) > 0 }
    }
    let first = books[place].last + 1
    books[place].last = state.updateID
    books[place].subscribers.send(.book(isVisible: true), instrument: index) { out in
      appendStream(index, depth, (first, bids, asks), to: &out)
    }
  }

  private func flushUpdates(_ index: Int, isFast: Bool) {
    let place = index * 2 + (isFast ? 1 : 0)
    guard !updates[place].subscribers.isEmpty, !updates[place].levels.isEmpty else { return }
    let state = market.instruments[index]
    let gathered = updates[place]
    updates[place].levels.removeAll()
    updates[place].first = state.updateID + 1
    gathered.subscribers.send(.book(isVisible: true), instrument: index) { out in
      head("spot.order_book_update", to: &out)
      out.append(#","event":"update","result":{"t":"#)
      out.append(integer: faults.now.rawValue / 1_000)
      out.append(#","e":"depthUpdate","E":"#)
      out.append(integer: faults.now.rawValue / Microseconds.second)
      out.append(#","s":""#)
      out.append(state.instrument.venueSymbol)
      out.append(#"","U":"#)
      out.append(integer: gathered.first)
      out.append(#","u":"#)
      out.append(integer: state.updateID)
      out.append(#","b":"#)
      out.append(shortestPairs: gathered.levels.sortedBids, state.instrument)
      out.append(#","a":"#)
      out.append(shortestPairs: gathered.levels.sortedAsks, state.instrument)
      out.append("}}")
    }
  }

  /// The whole window, or what changed since `first`: without sides where nothing did.
  private func appendStream(
    _ index: Int, _ depth: Int, _ change: (first: Int64, bids: [PriceLevel], asks: [PriceLevel])?,
    to out: inout ByteBuffer
  ) {
    let state = market.instruments[index]
    out.append(#"{"channel":"spot.obu","result":{"t":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    if change == nil { out.append(#","full":true"#) }
    out.append(#","s":"ob."#)
    out.append(state.instrument.venueSymbol)
    out.append(".")
    out.append(integer: Int64(depth))
    if let change {
      out.append(#"","U":"#)
      out.append(integer: change.first)
      out.append(#","u":"#)
    } else {
      out.append(#"","u":"#)
    }
    out.append(integer: books[place(index, depth)].last)
    let bids = change?.bids ?? state.book.top(.bid, depth)
    let asks = change?.asks ?? state.book.top(.ask, depth)
    if change == nil || !bids.isEmpty || !asks.isEmpty {
      out.append(#","b":"#)
      out.append(shortestPairs: bids, state.instrument)
      out.append(#","a":"#)
      out.append(shortestPairs: asks, state.instrument)
    }
    out.append(#"},"time_ms":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","event":"update"}"#)
  }

  private func appendTrade(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    head("spot.trades", to: &out)
    out.append(#","event":"update","result":{"id":"#)
    out.append(integer: trade.id)
    out.append(#","create_time":"#)
    out.append(integer: trade.time.rawValue / Microseconds.second)
    out.append(#","create_time_ms":"#)
    out.append(quoted: trade.time.rawValue, scale: 3)
    out.append(trade.side == .buy ? #","side":"buy","currency_pair":""# : #","side":"sell","currency_pair":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","amount":"#)
    out.append(quoted: trade.size * Int64(DecimalText.power(10 - instrument.sizeScale)), scale: 10)
    out.append(#","price":"#)
    out.append(quoted: trade.price * Int64(DecimalText.power(10 - instrument.priceScale)), scale: 10)
    out.append(#","range":""#)
    out.append(integer: trade.id)
    out.append("-")
    out.append(integer: trade.id)
    out.append(#""}}"#)
  }

  private func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head("spot.book_ticker", to: &out)
    out.append(#","event":"update","result":{"t":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","u":"#)
    out.append(integer: state.updateID)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","b":"#)
    out.append(shortest: state.book.bestBid?.price ?? 0, scale: price)
    out.append(#","B":"#)
    out.append(shortest: state.book.bestBid?.size ?? 0, scale: size)
    out.append(#","a":"#)
    out.append(shortest: state.book.bestAsk?.price ?? 0, scale: price)
    out.append(#","A":"#)
    out.append(shortest: state.book.bestAsk?.size ?? 0, scale: size)
    out.append("}}")
  }

  private func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    head("spot.tickers", to: &out)
    out.append(#","event":"update","result":"#)
    appendFigures(index, to: &out)
    out.append("}")
  }

  private func appendFigures(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(shortest: value, scale: scale)
    }
    out.append(#"{"currency_pair":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","last":"#, state.day.last, price)
    field(#","lowest_ask":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","highest_bid":"#, state.book.bestBid?.price ?? 0, price)
    let change = Int64(Int128(state.day.last - state.day.open) * 1_000_000 / Int128(state.day.open))
    field(#","change_percentage":"#, change, 4)
    field(#","base_volume":"#, state.day.volume, size)
    out.append(#","quote_volume":"#)
    out.append(quoteVolumeOf: state)
    field(#","high_24h":"#, state.day.high, price)
    field(#","low_24h":"#, state.day.low, price)
    out.append("}")
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let window = faults.now.rawValue / (10 * Microseconds.second)
    if window != restWindow {
      restWindow = window
      restRequests.removeAll()
    }
    switch path {
    case "/api/v4/spot/currency_pairs", "/api/v4/spot/order_book", "/api/v4/spot/tickers": break
    // Nothing is traded on margin here.
    case "/api/v4/margin/currency_pairs": return SimulatedResponse(body: "[]")
    default: return SimulatedResponse(status: 404, body: #"{"label":"INVALID_PARAM_VALUE","message":"not found"}"#)
    }
    restRequests[path, default: 0] += 1
    var response: SimulatedResponse
    if restRequests[path, default: 0] > Self.restLimit {
      response = SimulatedResponse(
        status: 429, body: #"{"label":"TOO_MANY_REQUESTS","message":"Request Rate limit Exceeded"}"#)
    } else {
      response =
        path.hasSuffix("order_book") ? orderBook(query) : path.hasSuffix("tickers") ? dayFigures() : currencyPairs()
    }
    response.fields.append(("X-Gate-RateLimit-Limit", String(Self.restLimit)))
    return response
  }

  private func orderBook(_ query: [(name: String, value: String)]) -> SimulatedResponse {
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    guard let name = value("currency_pair"),
      let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name })
    else {
      return SimulatedResponse(
        status: 400, body: #"{"label":"INVALID_CURRENCY_PAIR","message":"Invalid currency pair"}"#)
    }
    let limit = value("limit").flatMap { Int($0) } ?? 10
    guard limit > 0, limit <= Self.snapshotLimit else { return SimulatedResponse(body: #"{"asks":[],"bids":[]}"#) }
    let truth = kept.removeValue(forKey: index) ?? market.truth(index, isSnapshot: true)
    let instrument = market.instruments[index].instrument
    var out = ByteBuffer(capacity: 64 << 10)
    out.append("{")
    if value("with_id") == "true" {
      out.append(#""id":"#)
      out.append(integer: truth.updateID)
      out.append(",")
    }
    out.append(#""current":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","update":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","asks":"#)
    out.append(shortestPairs: truth.book.top(.ask, limit), instrument)
    out.append(#","bids":"#)
    out.append(shortestPairs: truth.book.top(.bid, limit), instrument)
    out.append("}")
    var response = SimulatedResponse(body: out.description)
    response.truth = truth
    return response
  }

  private func dayFigures() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    for index in market.instruments.indices {
      if index > 0 { out.append(",") }
      appendFigures(index, to: &out)
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  private func currencyPairs() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    for (index, state) in market.instruments.enumerated() {
      if index > 0 { out.append(",") }
      let instrument = state.instrument
      out.append(#"{"id":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","base":""#)
      out.append(instrument.base)
      out.append(#"","base_name":""#)
      out.append(instrument.base)
      out.append(#"","quote":""#)
      out.append(instrument.quote)
      out.append(#"","quote_name":"Tether","fee":"0.2","min_base_amount":"#)
      out.append(shortest: instrument.minimumSize, scale: instrument.sizeScale)
      out.append(#","min_quote_amount":"3","amount_precision":"#)
      out.append(integer: Int64(instrument.sizeScale))
      out.append(#","precision":"#)
      out.append(integer: Int64(instrument.priceScale))
      out.append(#","trade_status":"tradable","sell_start":0,"buy_start":0,"type":"normal","st_tag":false}"#)
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}

/// A client's request.
struct GateRequest {
  /// Names in one request; further ones are ignored.
  static let payloadLimit = 1_000

  var time: Int64 = 0
  var id: Int64?
  var channel = ""
  var event = ""
  var payload: [String] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "time") {
        time = try json.int64()
      } else if json.equals(key, "id"), json.peek() == .number {
        id = try json.int64()
      } else if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "event") {
        event = try json.decoded(try json.string())
      } else if json.equals(key, "payload"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let name = try json.decoded(try json.string())
          if payload.count < Self.payloadLimit { payload.append(name) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
