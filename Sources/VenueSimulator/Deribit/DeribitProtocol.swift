import Bytes
import MarketData

/// A client of the simulated Deribit.
final class DeribitSession: SimulatedSession {
  /// In the order of subscription.
  var channels: [DeribitChannel] = []
  /// µs between heartbeats; nil until the client sets it.
  var heartbeat: Int64?
  var nextHeartbeat = Timestamp.distantFuture
  /// By when the client must have answered the test request.
  var answerDue: Timestamp?
  /// Of 30,000; 10,000 come back in a second.
  var credits: Int64 = 30_000
  var credited: Timestamp

  required init(id: Int, faults: FaultInjector) {
    credited = faults.now
    super.init(id: id, faults: faults)
  }

  /// Pays for a request; false if there is not enough left.
  func pay(_ cost: Int64) -> Bool {
    credits = min(30_000, credits + (faults.now - credited) / 100)
    credited = faults.now
    guard credits >= cost else { return false }
    credits -= cost
    return true
  }
}

/// Deribit v2's JSON-RPC socket: `book`, `trades`, `quote`, `ticker`, `platform_state`, heartbeats; REST `get_instruments`.
///
/// Numbers are bare, in the shorter of the plain and the exponent form. A subscription answers with the channels that there are and does not
/// mention the others. Changes of a book name the number before theirs; the numbers are of a counter that all books share.
final class DeribitProtocol: VenueProtocol {
  static let subscribeCost: Int64 = 3_000
  static let requestCost: Int64 = 500
  /// A test request that is not answered ends the connection.
  static let answerLimit = 10 * Microseconds.second
  /// A connection without heartbeat and subscriptions ends.
  static let idleLimit = 60 * Microseconds.second

  private struct Stream {
    var changes = LevelBatch()
    var number: Int64 = 0
    var subscribers = Subscribers<DeribitSession>()
  }

  /// By instrument.
  private var books: [Stream]
  private var quotes: [Subscribers<DeribitSession>]
  /// The shared counter of changes.
  private var counter: Int64 = 193_809_000_000
  private var trades: [[SimulatedTrade]]
  private var all: [DeribitSession] = []
  private var ticks = 0
  /// Of chart data: 500 credits each.
  var candleBudget = RequestBudget(100, perSecond: 20)

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = Array(repeating: Stream(), count: count)
    quotes = Array(repeating: Subscribers(), count: count)
    trades = Array(repeating: [], count: count)
    super.init(name: "deribit", market: market, faults: faults)
    for index in books.indices { books[index].number = nextNumber() }
  }

  override var webSocketPath: String { "/ws/api/v2" }

  override class var special: Set<Fault.Kind> { [.plannedShutdown] }

  private func nextNumber() -> Int64 {
    counter += 1 + Int64(ticks % 7)
    return counter
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/ws/api/v2" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = DeribitSession(id: id, faults: faults)
    all.append(session)
    return session
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? DeribitSession else { return }
    all.removeAll { $0 === session }
    for index in books.indices {
      books[index].subscribers.remove(session)
      quotes[index].remove(session)
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    guard let session = session as? DeribitSession, session.channels.contains(where: { $0.kind == .platform }) else {
      return
    }
    session.send { out in
      DeribitEvents.head("platform_state", to: &out)
      out.append(#"{"maintenance":true}}}"#)
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices where ticks % 2 == 0 {
      flush(index)
      flushTrades(index)
    }
    for case let session as DeribitSession in sessions { tend(session, now) }
  }

  /// Ticker, heartbeats and the end of who does not answer.
  private func tend(_ session: DeribitSession, _ now: Timestamp) {
    for channel in session.channels where channel.kind == .ticker && ticks % (channel.isSlow ? 20 : 2) == 0 {
      session.send(.ticker, instrument: channel.instrument) { appendTicker(channel, to: &$0) }
    }
    if let due = session.answerDue, now >= due { return session.close(4000, "heartbeat close") }
    if let interval = session.heartbeat, now >= session.nextHeartbeat {
      session.nextHeartbeat = now + interval
      session.send(.heartbeat) {
        $0.append(#"{"params":{"type":"heartbeat"},"method":"heartbeat","jsonrpc":"2.0"}"#)
      }
      guard session.answerDue == nil else { return }
      session.answerDue = now + Self.answerLimit
      session.send(.heartbeat) {
        $0.append(#"{"params":{"type":"test_request"},"method":"heartbeat","jsonrpc":"2.0"}"#)
      }
    }
    if session.heartbeat == nil, session.channels.isEmpty, now - session.opened >= Self.idleLimit { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? DeribitSession else { return }
    let request: DeribitRequest
    do throws(JSONError) {
      request = try DeribitRequest(text)
    } catch {
      return fail(nil, 11050, "bad_request", session)
    }
    let isSubscription = request.method.hasSuffix("subscribe")
    guard session.pay(isSubscription ? Self.subscribeCost : Self.requestCost) else {
      fail(request.id, 10028, "too_many_requests", session)
      return session.close(1008, "too many requests")
    }
    switch request.method {
    case "public/set_heartbeat":
      guard let interval = request.interval, interval >= 10 else {
        return fail(request.id, -32602, "Invalid params", session)
      }
      session.heartbeat = interval * Microseconds.second
      session.nextHeartbeat = faults.now + interval * Microseconds.second
      answer(request.id, session) { $0.append(#""ok""#) }
    case "public/test":
      session.answerDue = nil
      answer(request.id, session) { $0.append(#"{"version":"1.2.26"}"#) }
    case "public/subscribe": subscribe(request, session)
    case "public/unsubscribe": unsubscribe(request, session)
    default: fail(request.id, -32601, "Method not found", session)
    }
  }

  private func fail(_ id: String?, _ code: Int64, _ message: StaticString, _ session: DeribitSession) {
    session.send { out in
      out.append(#"{"jsonrpc":"2.0","#)
      if let id {
        out.append(#""id":"#)
        out.append(id)
        out.append(",")
      }
      out.append(#""error":{"code":"#)
      out.append(integer: code)
      out.append(#","message":""#)
      out.append(message)
      out.append(#""}}"#)
    }
  }

  private func answer(_ id: String?, _ session: DeribitSession, _ result: (inout ByteBuffer) -> Void) {
    session.send { out in
      out.append(#"{"jsonrpc":"2.0","id":"#)
      out.append(id ?? "null")
      out.append(#","result":"#)
      result(&out)
      out.append(#","usIn":"#)
      out.append(integer: faults.now.rawValue)
      out.append(#","usOut":"#)
      out.append(integer: faults.now.rawValue)
      out.append(#","usDiff":0,"testnet":false}"#)
    }
  }

  /// Nil for what there is not.
  private func channel(_ name: String) -> DeribitChannel? {
    if name == "platform_state" {
      return DeribitChannel(kind: .platform, instrument: -1, name: name, isSlow: false)
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 2, let kind = DeribitChannel.Kind(rawValue: parts[0]),
      let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == parts[1] }),
      !isRefused(index)
    else { return nil }
    if kind == .quote {
      return parts.count == 2 ? DeribitChannel(kind: kind, instrument: index, name: name, isSlow: false) : nil
    }
    // Books are had every 100 ms only.
    guard parts.count == 3, parts[2] == "100ms" || (parts[2] == "agg2" && kind != .book) else { return nil }
    return DeribitChannel(kind: kind, instrument: index, name: name, isSlow: parts[2] == "agg2")
  }

  private func subscribe(_ request: DeribitRequest, _ session: DeribitSession) {
    if request.channels.contains(where: { $0.hasSuffix(".raw") }) {
      return fail(request.id, 13778, "raw_subscriptions_not_available_for_unauthorized", session)
    }
    let wanted = request.channels.compactMap(channel)
    // In another order than that of the request.
    answer(request.id, session) { DeribitEvents.list(wanted.reversed().map(\.name), to: &$0) }
    for channel in wanted where !session.channels.contains(where: { $0.name == channel.name }) {
      session.channels.append(channel)
      begin(channel, session)
    }
  }

  private func begin(_ channel: DeribitChannel, _ session: DeribitSession) {
    let index = channel.instrument
    switch channel.kind {
    case .book:
      // What is gathered belongs to those who were there before.
      flush(index)
      books[index].subscribers.insert(session)
      session.send(.bookSnapshot, instrument: index) { out in
        let state = market.instruments[index]
        DeribitEvents.appendBook(
          state.instrument, books[index].number, previous: nil, state.book.top(.bid, .max), state.book.top(.ask, .max),
          faults.now, to: &out)
      }
    case .quote:
      quotes[index].insert(session)
      session.send(.quote, instrument: index) { out in
        DeribitEvents.appendQuote(market.instruments[index], faults.now, to: &out)
      }
    case .ticker: session.send(.ticker, instrument: index) { appendTicker(channel, to: &$0) }
    case .trades, .platform: break
    }
  }

  private func unsubscribe(_ request: DeribitRequest, _ session: DeribitSession) {
    let left = request.channels.compactMap { name in session.channels.first { $0.name == name } }
    for channel in left {
      session.channels.removeAll { $0.name == channel.name }
      if channel.kind == .book { books[channel.instrument].subscribers.remove(session) }
      if channel.kind == .quote { quotes[channel.instrument].remove(session) }
    }
    answer(request.id, session) { DeribitEvents.list(left.map(\.name), to: &$0) }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !books[index].subscribers.isEmpty { books[index].changes.add(change) }
    trades[index] += change.trades
    if change.isTopChanged {
      quotes[index].send(.quote, instrument: index) { out in
        DeribitEvents.appendQuote(market.instruments[index], faults.now, to: &out)
      }
    }
  }

  private func flush(_ index: Int) {
    guard !books[index].changes.isEmpty else { return }
    let bids = books[index].changes.sortedBids
    let asks = books[index].changes.sortedAsks
    books[index].changes.removeAll()
    let previous = books[index].number
    books[index].number = nextNumber()
    books[index].subscribers.send(.book(isVisible: true), instrument: index) { out in
      DeribitEvents.appendBook(
        market.instruments[index].instrument, books[index].number, previous: previous, bids, asks, faults.now, to: &out)
    }
  }

  private func appendTicker(_ channel: DeribitChannel, to out: inout ByteBuffer) {
    DeribitEvents.appendTicker(channel.name, market.instruments[channel.instrument], faults.now, to: &out)
  }

  /// All trades of 100 ms in one message, the oldest first.
  private func flushTrades(_ index: Int) {
    guard !trades[index].isEmpty else { return }
    for session in all {
      for channel in session.channels where channel.kind == .trades && channel.instrument == index {
        session.send(.trade, instrument: index) { out in
          DeribitEvents.appendTrades(channel.name, trades[index], market.instruments[index].instrument, to: &out)
        }
      }
    }
    trades[index].removeAll(keepingCapacity: true)
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    let isSummary = path == "/api/v2/public/get_book_summary_by_currency"
    guard isSummary || path == "/api/v2/public/get_instruments" else {
      return SimulatedResponse(
        status: 404, body: #"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}"#)
    }
    // Lists of instruments are of all currencies unless one is named; summaries are of one.
    let named = query.first { $0.name == "currency" }?.value
    guard let currency = named ?? (isSummary ? nil : "any"), !currency.isEmpty else {
      return SimulatedResponse(
        status: 400, body: #"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}"#)
    }
    let kind = query.first { $0.name == "kind" }?.value ?? "future"
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"jsonrpc":"2.0","result":["#)
    if kind == "future" {
      let listed = market.instruments.filter { currency == "any" || $0.instrument.quote == currency }
      for (index, state) in listed.enumerated() {
        if index > 0 { out.append(",") }
        if isSummary {
          DeribitEvents.appendSummary(state, to: &out)
        } else {
          DeribitEvents.append(state.instrument, to: &out)
        }
      }
    }
    out.append(#"],"usIn":0,"usOut":0,"usDiff":0,"testnet":false}"#)
    return SimulatedResponse(body: out.description)
  }
}
