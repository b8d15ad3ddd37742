import Bytes
import MarketData

/// A client of the simulated KuCoin.
final class KuCoinSession: SimulatedSession {
  var subscriptions: [KuCoinSubscription] = []
  var lastRequest: Timestamp
  var lastPing = Timestamp.distantPast
  /// Moments of the client's messages within the last ten seconds.
  private var arrivals: [Timestamp] = []

  override init(id: Int, faults: FaultInjector) {
    lastRequest = faults.now
    super.init(id: id, faults: faults)
  }

  /// Counts a message from the client; true if it is one too many.
  func isFlooded() -> Bool {
    let now = faults.now
    arrivals.removeAll { now - $0 >= 10 * Microseconds.second }
    arrivals.append(now)
    return arrivals.count > KuCoinProtocol.messageLimit
  }
}

/// KuCoin's public spot socket of the unified API: `obu`, `trade`, `ticker`, the JSON ping; REST `symbols`.
///
/// JSON in binary frames. A book's snapshot comes some while after the acknowledgement, and then the changes of its 500 best levels a side.
/// Any symbol is acknowledged, and one that there is not stays silent. One symbol a request on `obu`.
final class KuCoinProtocol: VenueProtocol {
  static let depth = 500
  /// Client messages in ten seconds: the smaller of the documented numbers.
  static let messageLimit = 100
  /// The smallest number of topics of a connection that is in use.
  static let topicLimit = 200
  static let pingInterval: Int64 = 18_000
  /// Without a subscription and a word from the client, a socket is cut after this long.
  static let idleLimit = 60 * Microseconds.second
  /// The weight of REST requests in half a minute, at 4 each, candles at 3.
  static let restLimit = 2_000

  private struct Stream {
    var window = BookWindow(depth: KuCoinProtocol.depth)
    var last: Int64
    var messages = 0
    /// Removals of levels that have fallen out of the window, and are told a message late.
    var fallen: (bids: [PriceLevel], asks: [PriceLevel]) = ([], [])
    /// The message before: its first number and what it told.
    var told: (from: Int64, bids: [PriceLevel], asks: [PriceLevel])?
    var subscribers = Subscribers<KuCoinSession>()
  }

  private var books: [Stream]
  /// Subscribed, but without their snapshot yet.
  private var waiting: [(due: Timestamp, session: KuCoinSession, instrument: Int)] = []
  private var windows: [Int: [Subscribers<KuCoinSession>]]
  private var trades: [Subscribers<KuCoinSession>]
  private var tickers: [Subscribers<KuCoinSession>]
  private var ticks = 0
  private var restWindow: Int64 = 0
  private var restWeight = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.map { Stream(last: $0.updateID) }
    trades = Array(repeating: Subscribers(), count: market.instruments.count)
    tickers = trades
    windows = [1: trades, 5: trades, 50: trades]
    super.init(name: "kucoin", market: market, faults: faults)
  }

  override var sendsBinary: Bool { true }
  override var webSocketPath: String { "/" }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = KuCoinSession(id: id, faults: faults)
    session.send { out in
      out.append(#"{"sessionId":"e8e46556-ae1d-4871-be0b-4efeaa5f2f6a","message":"welcome","pingInterval":"#)
      out.append(integer: Self.pingInterval)
      out.append("}")
    }
    return session
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? KuCoinSession else { return }
    for subscription in session.subscriptions { remove(subscription, session) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    let due = waiting.filter { $0.due <= now }
    if !due.isEmpty {
      waiting.removeAll { $0.due <= now }
      for entry in due { begin(entry.instrument, entry.session) }
    }
    for index in market.instruments.indices {
      flush(index)
      if ticks % 2 == 0 { sendWindows(index) }
    }
    for case let session as KuCoinSession in sessions
    where session.subscriptions.isEmpty && now - session.lastRequest >= Self.idleLimit {
      session.abort()
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? KuCoinSession else { return }
    session.lastRequest = faults.now
    guard !session.isFlooded() else { return session.close(1008, "too many messages") }
    var request = KuCoinRequest()
    do throws(JSONError) {
      try request.read(text)
    } catch {
      // What is no JSON is not answered.
      return
    }
    if request.type == "ping" {
      guard faults.now - session.lastPing >= Microseconds.second else {
        return session.close(1008, "pings too frequent")
      }
      session.lastPing = faults.now
      return session.send { out in
        out.append(#"{"type":"pong","id":"#)
        out.append(json: request.id)
        out.append(#","ts":"#)
        out.append(integer: faults.now.rawValue * 1_000)
        out.append("}")
      }
    }
    carryOut(request, session)
  }

  private func reply(_ request: KuCoinRequest, _ session: KuCoinSession, reason: (key: String, text: String)? = nil) {
    session.send { out in
      out.append(#"{"id":"#)
      out.append(json: request.id)
      out.append(reason == nil ? #","result":true"# : #","result":false"#)
      if let reason {
        out.append(",\"\(reason.key)\":")
        out.append(json: reason.text)
      }
      out.append("}")
    }
  }

  private func carryOut(_ request: KuCoinRequest, _ session: KuCoinSession) {
    let action = request.action.lowercased()
    guard action == "subscribe" || action == "unsubscribe", let channel = request.parsedChannel else {
      return reply(request, session, reason: ("message", "invalid request data"))
    }
    guard request.tradeType == "SPOT" else {
      let text = #"topic Obu type = "public_\#(request.tradeType.lowercased())" not allowed in current environment"#
      return reply(request, session, reason: ("reason", text))
    }
    guard request.symbols.isEmpty || request.channel != "obu" else {
      return reply(request, session, reason: ("reason", "symbols are not supported for topic obu"))
    }
    let names = request.symbols + (request.symbol.isEmpty ? [] : [request.symbol])
    let isStart = action == "subscribe"
    guard !isStart || session.subscriptions.count + names.count <= Self.topicLimit else {
      return reply(request, session, reason: ("reason", "exceed max topic count limitation of \(Self.topicLimit)"))
    }
    reply(request, session)
    for name in names {
      guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }),
        !isRefused(index)
      else { continue }
      let subscription = KuCoinSubscription(channel: channel, instrument: index)
      let isThere = session.subscriptions.contains(subscription)
      if isStart, !isThere {
        session.subscriptions.append(subscription)
        add(subscription, session)
      } else if !isStart, isThere {
        session.subscriptions.removeAll { $0 == subscription }
        remove(subscription, session)
      }
    }
  }

  private func add(_ subscription: KuCoinSubscription, _ session: KuCoinSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .book:
      // 0.25 s for the first market, 0.1 s more for each of the next nine.
      let delay = 250 + 100 * Int64(index % 10)
      waiting.append((faults.now + delay * Microseconds.millisecond, session, index))
    case .window(let depth): windows[depth]![index].insert(session)
    case .trades: trades[index].insert(session)
    case .ticker: tickers[index].insert(session)
    }
  }

  private func remove(_ subscription: KuCoinSubscription, _ session: KuCoinSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .book:
      waiting.removeAll { $0.session === session && $0.instrument == index }
      books[index].subscribers.remove(session)
    case .window(let depth): windows[depth]![index].remove(session)
    case .trades: trades[index].remove(session)
    case .ticker: tickers[index].remove(session)
    }
  }

  /// Sends a newcomer its snapshot; those who are there get before it what they have still to be told.
  private func begin(_ index: Int, _ session: KuCoinSession) {
    guard !session.isEnded else { return }
    if books[index].subscribers.isEmpty {
      _ = books[index].window.move(to: market.instruments[index].book)
      books[index].fallen = ([], [])
    } else {
      flush(index)
    }
    let state = market.instruments[index]
    books[index].last = state.updateID
    books[index].told = nil
    books[index].subscribers.insert(session)
    session.send(.bookSnapshot, instrument: index) { out in
      KuCoinEvents.appendBook(
        state.instrument, "increment@10ms", "snapshot", state.updateID...state.updateID,
        state.book.top(.bid, Self.depth), state.book.top(.ask, Self.depth), faults.now, to: &out)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    let state = market.instruments[index]
    for trade in change.trades {
      trades[index].send(.trade, instrument: index) {
        KuCoinEvents.appendTrade(trade, state.instrument, faults.now, to: &$0)
      }
    }
    if change.isTopChanged {
      tickers[index].send(.ticker, instrument: index) { KuCoinEvents.appendTicker(state, faults.now, to: &$0) }
      send(index, depth: 1)
    }
  }

  private func flush(_ index: Int) {
    let state = market.instruments[index]
    guard !books[index].subscribers.isEmpty, state.updateID > books[index].last else { return }
    var (bids, asks) = books[index].window.move(to: state.book)
    if index % 2 == 0 {
      // What falls out of the window is told at times a message late: here always, of every other market.
      let late = books[index].fallen
      books[index].fallen = (Self.takeFallen(&bids, state.book, .bid), Self.takeFallen(&asks, state.book, .ask))
      bids += late.bids.filter { level in !bids.contains { $0.price == level.price } }
      asks += late.asks.filter { level in !asks.contains { $0.price == level.price } }
    }
    // What happens below the window is not told; the next message's numbers cover it.
    guard !bids.isEmpty || !asks.isEmpty else { return }
    books[index].messages += 1
    var first = books[index].last + 1
    let told = books[index].told
    books[index].told = (first, bids, asks)
    // That a message begins with numbers which were told before is documented as right, though nobody has seen it. It then tells
    // all that they were about.
    if let told, index % 2 == 1, books[index].messages % 16 == 0 {
      first = told.from
      bids += told.bids.filter { old in !bids.contains { $0.price == old.price } }
      asks += told.asks.filter { old in !asks.contains { $0.price == old.price } }
    }
    let numbers = first...state.updateID
    books[index].last = state.updateID
    books[index].subscribers.send(.book(isVisible: true), instrument: index) { out in
      KuCoinEvents.appendBook(
        state.instrument, "increment@10ms", "delta", numbers, bids, asks, faults.now, to: &out)
    }
  }

  /// Takes the removals of what is in the book still.
  private static func takeFallen(_ levels: inout [PriceLevel], _ book: SimulatedBook, _ side: BookSide) -> [PriceLevel]
  {
    let fallen = levels.filter { $0.size == 0 && book.size(side, at: $0.price) > 0 }
    levels.removeAll { level in fallen.contains { $0.price == level.price } }
    return fallen
  }

  private func sendWindows(_ index: Int) {
    for depth in [5, 50] { send(index, depth: depth) }
  }

  private func send(_ index: Int, depth: Int) {
    let state = market.instruments[index]
    windows[depth]![index].send(.quote, instrument: index) { out in
      KuCoinEvents.appendBook(
        state.instrument, "\(depth)", "snapshot", state.updateID...state.updateID, state.book.top(.bid, depth),
        state.book.top(.ask, depth), faults.now, to: &out)
    }
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let paths = ["/api/v2/symbols", "/api/v1/market/allTickers", Self.candlesPath]
    guard paths.contains(path) else {
      return SimulatedResponse(status: 404, body: #"{"code":"404000","msg":"Url Not Found"}"#)
    }
    let window = faults.now.rawValue / (30 * Microseconds.second)
    if window != restWindow {
      restWindow = window
      restWeight = 0
    }
    restWeight += path == Self.candlesPath ? 3 : 4
    guard restWeight <= Self.restLimit else { return Self.tooMany }
    if path == Self.candlesPath { return candles(SimulatedRequest(path: path, query: query)) }
    return SimulatedResponse(
      body: path == "/api/v2/symbols" ? KuCoinEvents.symbols(market) : KuCoinEvents.dayFigures(market, faults.now))
  }

  static let tooMany = SimulatedResponse(
    status: 429, fields: [("gw-ratelimit-remaining", "0"), ("gw-ratelimit-reset", "1489")],
    body: #"{"code":"429000","msg":"Too many requests in a short period of time, please retry later"}"#)
}
