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
    var messages = 0
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

  override class var special: Set<Fault.Kind> { [.plannedShutdown, .staleSnapshot] }

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
      GateEvents.head("spot.system", faults.now, to: &out)
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
        tickers[index].send(.ticker, instrument: index) {
          GateEvents.appendTicker(market.instruments[index], faults.now, to: &$0)
        }
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
        GateEvents.head("spot.pong", faults.now, to: &out)
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
      GateEvents.head(request.channel, faults.now, to: &out)
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
      session.send(.bookSnapshot, instrument: index) { out in
        GateEvents.appendStream(
          market.instruments[index], depth, last: books[place].last, nil, faults.now, to: &out)
      }
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
      session.send(.ticker, instrument: index) {
        GateEvents.appendTicker(market.instruments[index], faults.now, to: &$0)
      }
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
      trades[index].send(.trade, instrument: index) {
        GateEvents.appendTrade(trade, market.instruments[index].instrument, faults.now, to: &$0)
      }
    }
    if change.isTopChanged {
      quotes[index].send(.quote, instrument: index) {
        GateEvents.appendQuote(market.instruments[index], faults.now, to: &$0)
      }
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
    books[place].messages += 1
    // The whole book may come whenever the venue likes: here of every other market, instead of a change.
    let isWhole = index % 2 == 0 && books[place].messages % 32 == 0
    books[place].subscribers.send(isWhole ? .bookSnapshot : .book(isVisible: true), instrument: index) { out in
      GateEvents.appendStream(
        state, depth, last: state.updateID, isWhole ? nil : (first, bids, asks), faults.now, to: &out)
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
      GateEvents.appendUpdate(
        state, first: gathered.first, bids: gathered.levels.sortedBids, asks: gathered.levels.sortedAsks, faults.now,
        to: &out)
    }
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let window = faults.now.rawValue / (10 * Microseconds.second)
    if window != restWindow {
      restWindow = window
      restRequests.removeAll()
    }
    switch path {
    case "/api/v4/spot/currency_pairs", "/api/v4/spot/order_book", "/api/v4/spot/tickers", Self.candlesPath: break
    // Nothing is traded on margin here.
    case "/api/v4/margin/currency_pairs": return SimulatedResponse(body: "[]")
    default: return SimulatedResponse(status: 404, body: #"{"label":"INVALID_PARAM_VALUE","message":"not found"}"#)
    }
    restRequests[path, default: 0] += 1
    var response: SimulatedResponse
    if restRequests[path, default: 0] > Self.restLimit {
      response = Self.tooMany
    } else if path == Self.candlesPath {
      response = candles(SimulatedRequest(path: path, query: query))
    } else {
      response =
        path.hasSuffix("order_book")
        ? orderBook(query)
        : SimulatedResponse(
          body: path.hasSuffix("tickers") ? GateEvents.dayFigures(market) : GateEvents.currencyPairs(market))
    }
    response.fields.append(("X-Gate-RateLimit-Limit", String(Self.restLimit)))
    return response
  }

  static let tooMany = SimulatedResponse(
    status: 429, body: #"{"label":"TOO_MANY_REQUESTS","message":"Request Rate limit Exceeded"}"#)

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
    var response = SimulatedResponse(
      body: GateEvents.orderBook(
        truth, market.instruments[index].instrument, limit, hasID: value("with_id") == "true", faults.now))
    response.truth = truth
    return response
  }
}
