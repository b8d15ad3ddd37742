import Bytes
import MarketData

/// A client of the simulated Bybit.
final class BybitSession: SimulatedSession {
  /// Spot, or linear contracts.
  var isSpot = true
  /// Of all topics, as they were written.
  var topicCharacters = 0
}

enum BybitChannel: Hashable {
  case book(depth: Int)
  case trade
  case ticker
  case liquidations
}

/// Bybit v5's public sockets: `/v5/public/spot` and `/v5/public/linear`, `orderbook` of 1, 50, 200 and 1000 levels,
/// `publicTrade`, `tickers`, ping; REST `instruments-info`.
///
/// One bad topic refuses the whole request it is in. Books begin with a snapshot, `u` rises by one with every message
/// of a book, and levels that fall out of the window come as removals.
final class BybitProtocol: DeskProtocol<BybitSession, BybitChannel> {
  /// Characters of all topics of a connection.
  static let characterLimit = 21_000
  /// Topics in one request on spot.
  static let spotLimit = 10
  /// An unchanged `orderbook.1` is sent again after this long.
  static let repeatAfter = 3 * Microseconds.second

  /// A book of one depth, as its subscribers know it.
  private struct Book {
    var window: BookWindow
    var number: Int64
    var sent = Timestamp.distantPast
  }

  static let depths = [1, 50, 200, 1000]
  /// By instrument × depths.
  private var books: [Book]
  /// Of candles: 600 in five seconds, beyond which an address is shut out.
  var candleBudget = RequestBudget(600, perSecond: 120, penalty: 10 * Microseconds.minute)

  override init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.flatMap { state in
      Self.depths.map { Book(window: BookWindow(depth: $0), number: state.updateID % 1_000_000) }
    }
    super.init(market: market, faults: faults)
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "bybit", paths: ["/v5/public/spot", "/v5/public/linear"])
  }

  override func welcome(_ session: BybitSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    session.isSpot = request.path.hasSuffix("spot")
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: BybitSession) {
    guard let request = try? ClientMessage(text) else {
      return reply(nil, session, success: false, "error:invalid json")
    }
    switch request["op"].text {
    case "ping": reply(request, session, success: true, "pong")
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      for name in request["args"].texts {
        if let stream = stream(name, session), leave(stream, session) { session.topicCharacters -= name.utf8.count }
      }
      reply(request, session, success: true, session.isSpot ? "unsubscribe" : "")
    default: reply(request, session, success: false, "error:invalid op")
    }
  }

  /// An id is documented as text; clients send numbers, too, and get them back as text.
  private func reply(_ request: ClientMessage?, _ session: BybitSession, success: Bool, _ message: String) {
    let id = request.map { $0["req_id"].isNumber ? $0["req_id"].raw : $0["req_id"].text } ?? ""
    session.say(
      #"""
      {"success":\#(success ? "true" : "false"),"ret_msg":\#(json: message),\#
      "conn_id":"2324d924-aa4d-45b0-a858-7b8be29ab52b","req_id":\#(json: id),"op":\#(json: request?["op"].text ?? "")}
      """#)
  }

  private func subscribe(_ request: ClientMessage, _ session: BybitSession) {
    func refuse(_ message: String) { reply(request, session, success: false, message) }
    let names = request["args"].texts
    if session.isSpot, names.count > Self.spotLimit { return refuse("args size >10") }
    var wanted: [Stream] = []
    var characters = session.topicCharacters
    for name in names {
      guard let stream = stream(name, session), !isRefused(stream.instrument, stream.channel) else {
        return refuse("error:handler not found,topic:\(name)")
      }
      guard !desk.has(session, stream), !wanted.contains(stream) else {
        return refuse("error:already subscribed,topic:\(name)")
      }
      characters += name.utf8.count
      guard characters <= Self.characterLimit else { return refuse("args size exceeds \(Self.characterLimit)") }
      wanted.append(stream)
    }
    session.topicCharacters = characters
    reply(request, session, success: true, session.isSpot ? "subscribe" : "")
    for stream in wanted { join(stream, session) }
  }

  /// `orderbook.200.BTCUSDT`; nil if there is no such topic or symbol in the session's family of markets.
  private func stream(_ name: String, _ session: BybitSession) -> Stream? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard let index = index(of: parts[parts.count - 1], isSpot: session.isSpot) else { return nil }
    switch (parts.count, parts[0]) {
    case (3, "orderbook"):
      guard let depth = Int(parts[1]), Self.depths.contains(depth) else { return nil }
      return Stream(.book(depth: depth), index)
    case (2, "publicTrade"): return Stream(.trade, index)
    case (2, "tickers"): return Stream(.ticker, index)
    case (2, "allLiquidation") where !session.isSpot: return Stream(.liquidations, index)
    default: return nil
    }
  }

  private func bookSlot(_ index: Int, _ depth: Int) -> Int {
    index * Self.depths.count + Self.depths.firstIndex(of: depth)!
  }

  override func begin(_ stream: Stream, _ session: BybitSession) {
    let index = stream.instrument
    switch stream.channel {
    case .book(let depth):
      // Those who are there get what is gathered; the newcomer's snapshot has it already, and its number.
      if desk.isEmpty(stream.channel, index) {
        _ = books[bookSlot(index, depth)].window.move(to: state(index).book)
      } else {
        flush(index, depth)
      }
      session.send(depth == 1 ? .quote : .bookSnapshot, instrument: index, whole(index, depth))
    case .trade, .liquidations: break
    case .ticker: session.send(.ticker, instrument: index, ticker(index, isWhole: true))
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.trades.isEmpty { send(.trade, index, .trade, trades(change.trades, index)) }
    let closed = change.trades.filter(SimulatedDerivative.isLiquidation)
    if !closed.isEmpty { send(.liquidations, index, .trade, liquidations(closed, index)) }
    if change.isTopChanged { sendQuote(index) }
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    flush(index, 50)
    if ticks % 2 == 0 { flush(index, 200) }
    if ticks % 4 == 0 { flush(index, 1000) }
    if !desk.isEmpty(.book(depth: 1), index), now - books[bookSlot(index, 1)].sent >= Self.repeatAfter {
      sendQuote(index, again: true)
    }
    if ticks % 20 == 0 {
      send(.ticker, index, .ticker, ticker(index, isWhole: state(index).instrument.isSpot))
    }
  }

  private func sendQuote(_ index: Int, again: Bool = false) {
    let slot = bookSlot(index, 1)
    if !again { books[slot].number += 1 }
    books[slot].sent = now
    send(.book(depth: 1), index, .quote, whole(index, 1))
  }

  private func flush(_ index: Int, _ depth: Int) {
    let slot = bookSlot(index, depth)
    guard !desk.isEmpty(.book(depth: depth), index) else { return }
    let sides = books[slot].window.move(to: state(index).book)
    guard !sides.isEmpty else { return }
    books[slot].number += 1
    send(
      .book(depth: depth), index, .book(isVisible: true),
      book(index, depth, "delta", sides, number: books[slot].number))
  }

  private func whole(_ index: Int, _ depth: Int) -> JSONText {
    book(index, depth, "snapshot", state(index).book.top(depth), number: books[bookSlot(index, depth)].number)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
