import Bytes
import MarketData

/// A client of the simulated Bybit.
final class BybitSession: SimulatedSession {
  /// Spot, or linear contracts.
  let isSpot: Bool
  var topics: [BybitTopic] = []
  /// Of all topics, as they were written.
  var topicCharacters = 0

  init(id: Int, faults: FaultInjector, isSpot: Bool) {
    self.isSpot = isSpot
    super.init(id: id, faults: faults)
  }
}

/// `orderbook.200.BTCUSDT`, taken apart.
struct BybitTopic: Hashable {
  enum Channel: Hashable {
    case book(depth: Int)
    case trade
    case ticker
  }
  let channel: Channel
  let instrument: Int
}

/// Bybit v5's public sockets: `/v5/public/spot` and `/v5/public/linear`, `orderbook` of 1, 50, 200 and 1000 levels, `publicTrade`,
/// `tickers`, ping; REST `instruments-info`.
///
/// One bad topic refuses the whole request it is in. Books begin with a snapshot, `u` rises by one with every message of a book,
/// and levels that fall out of the window come as removals.
final class BybitProtocol: VenueProtocol {
  /// Characters of all topics of a connection.
  static let characterLimit = 21_000
  /// Topics in one request on spot.
  static let spotLimit = 10
  /// An unchanged `orderbook.1` is sent again after this long.
  static let repeatAfter = 3 * Microseconds.second

  /// A book of one depth, as its subscribers know it.
  struct Stream {
    var window: BookWindow
    var number: Int64
    var sent = Timestamp.distantPast
    var subscribers = Subscribers<BybitSession>()
  }

  static let depths = [1, 50, 200, 1000]
  /// By instrument × depths.
  var books: [Stream]
  private var trades: [Subscribers<BybitSession>]
  private var tickers: [Subscribers<BybitSession>]
  private var ticks = 0
  /// Of candles: 600 in five seconds, beyond which an address is shut out.
  var candleBudget = RequestBudget(600, perSecond: 120, penalty: 10 * Microseconds.minute)

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = market.instruments.flatMap { state in
      Self.depths.map { Stream(window: BookWindow(depth: $0), number: state.updateID % 1_000_000) }
    }
    trades = Array(repeating: Subscribers(), count: count)
    tickers = Array(repeating: Subscribers(), count: count)
    super.init(name: "bybit", market: market, faults: faults)
  }

  override var webSocketPath: String { "/v5/public/spot" }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/v5/public/spot" || path == "/v5/public/linear" else {
      throw SimulatedRefusal(status: 404, reason: "Not Found")
    }
    return BybitSession(id: id, faults: faults, isSpot: path.hasSuffix("spot"))
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BybitSession else { return }
    for topic in session.topics { remove(topic, session) }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BybitSession else { return }
    var request = BybitRequest()
    do throws(JSONError) {
      try request.read(text)
    } catch {
      return reply(request, session, success: false, "error:invalid json")
    }
    switch request.operation {
    case "ping": reply(request, session, success: true, "pong")
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      for name in request.topics {
        guard let topic = topic(name, session), session.topics.contains(topic) else { continue }
        session.topics.removeAll { $0 == topic }
        session.topicCharacters -= name.utf8.count
        remove(topic, session)
      }
      reply(request, session, success: true, session.isSpot ? "unsubscribe" : "")
    default: reply(request, session, success: false, "error:invalid op")
    }
  }

  private func reply(_ request: BybitRequest, _ session: BybitSession, success: Bool, _ message: String) {
    session.send { out in
      out.append(success ? #"{"success":true,"ret_msg":"# : #"{"success":false,"ret_msg":"#)
      out.append(json: message)
      out.append(#","conn_id":"2324d924-aa4d-45b0-a858-7b8be29ab52b","req_id":"#)
      out.append(json: request.id)
      out.append(#","op":"#)
      out.append(json: request.operation)
      out.append("}")
    }
  }

  private func subscribe(_ request: BybitRequest, _ session: BybitSession) {
    func refuse(_ message: String) { reply(request, session, success: false, message) }
    if session.isSpot, request.topics.count > Self.spotLimit { return refuse("args size >10") }
    var wanted: [BybitTopic] = []
    var characters = session.topicCharacters
    for name in request.topics {
      guard let topic = topic(name, session), !isRefused(topic.instrument) else {
        return refuse("error:handler not found,topic:\(name)")
      }
      guard !session.topics.contains(topic), !wanted.contains(topic) else {
        return refuse("error:already subscribed,topic:\(name)")
      }
      characters += name.utf8.count
      guard characters <= Self.characterLimit else { return refuse("args size exceeds \(Self.characterLimit)") }
      wanted.append(topic)
    }
    session.topicCharacters = characters
    reply(request, session, success: true, session.isSpot ? "subscribe" : "")
    for topic in wanted { add(topic, session) }
  }

  /// Nil if there is no such topic or symbol in the session's family of markets.
  private func topic(_ name: String, _ session: BybitSession) -> BybitTopic? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard let symbol = parts.last,
      let index = market.instruments.firstIndex(where: {
        $0.instrument.venueSymbol == symbol && ($0.instrument.kind == .spot) == session.isSpot
      })
    else { return nil }
    switch (parts.count, parts[0]) {
    case (3, "orderbook"):
      guard let depth = Int(parts[1]), Self.depths.contains(depth) else { return nil }
      return BybitTopic(channel: .book(depth: depth), instrument: index)
    case (2, "publicTrade"): return BybitTopic(channel: .trade, instrument: index)
    case (2, "tickers"): return BybitTopic(channel: .ticker, instrument: index)
    default: return nil
    }
  }

  func stream(_ instrument: Int, _ depth: Int) -> Int {
    instrument * Self.depths.count + Self.depths.firstIndex(of: depth)!
  }

  private func add(_ topic: BybitTopic, _ session: BybitSession) {
    session.topics.append(topic)
    switch topic.channel {
    case .book(let depth):
      let stream = stream(topic.instrument, depth)
      // Those who are there get what is gathered; the newcomer's snapshot has it already, and its number.
      if books[stream].subscribers.isEmpty {
        _ = books[stream].window.move(to: market.instruments[topic.instrument].book)
      } else {
        flush(topic.instrument, depth)
      }
      books[stream].subscribers.insert(session)
      let payload = SharedBytes.encoding { appendWhole(topic.instrument, depth, to: &$0) }
      session.send(payload, depth == 1 ? .quote : .bookSnapshot, instrument: topic.instrument)
    case .trade: trades[topic.instrument].insert(session)
    case .ticker:
      tickers[topic.instrument].insert(session)
      session.send(.ticker, instrument: topic.instrument) { appendTicker(topic.instrument, isWhole: true, to: &$0) }
    }
  }

  private func remove(_ topic: BybitTopic, _ session: BybitSession) {
    switch topic.channel {
    case .book(let depth): books[stream(topic.instrument, depth)].subscribers.remove(session)
    case .trade: trades[topic.instrument].remove(session)
    case .ticker: tickers[topic.instrument].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.trades.isEmpty {
      trades[index].send(.trade, instrument: index) { appendTrades(change.trades, index, to: &$0) }
    }
    if change.isTopChanged { sendQuote(index) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices {
      flush(index, 50)
      if ticks % 2 == 0 { flush(index, 200) }
      if ticks % 4 == 0 { flush(index, 1000) }
      let quote = stream(index, 1)
      if !books[quote].subscribers.isEmpty, now - books[quote].sent >= Self.repeatAfter {
        sendQuote(index, again: true)
      }
      if ticks % 20 == 0 {
        let isSpot = market.instruments[index].instrument.kind == .spot
        tickers[index].send(.ticker, instrument: index) { appendTicker(index, isWhole: isSpot, to: &$0) }
      }
    }
  }

  private func sendQuote(_ index: Int, again: Bool = false) {
    let stream = stream(index, 1)
    if !again { books[stream].number += 1 }
    books[stream].sent = faults.now
    books[stream].subscribers.send(.quote, instrument: index) { appendWhole(index, 1, to: &$0) }
  }

  private func flush(_ index: Int, _ depth: Int) {
    let stream = stream(index, depth)
    guard !books[stream].subscribers.isEmpty else { return }
    let (bids, asks) = books[stream].window.move(to: market.instruments[index].book)
    guard !bids.isEmpty || !asks.isEmpty else { return }
    books[stream].number += 1
    books[stream].subscribers.send(.book(isVisible: true), instrument: index) { out in
      append(index, depth, "delta", bids, asks, to: &out)
    }
  }
}
