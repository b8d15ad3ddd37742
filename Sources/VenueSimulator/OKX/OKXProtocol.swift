import Bytes
import MarketData

/// A client of the simulated OKX.
final class OKXSession: SimulatedSession {
  /// Arguments of subscriptions.
  lazy var operations = RequestCount(480, per: Microseconds.hour, from: opened)
}

enum OKXChannel: String {
  case books
  case bestOffer = "bbo-tbt"
  case trades
  case tickers
  case liquidations = "liquidation-orders"
}

/// OKX v5's public socket: `books` (400 levels, 100 ms), `bbo-tbt`, `trades`, `tickers`, the text `ping`; REST
/// `instruments`.
///
/// Numbers are strings without trailing zeros, sizes of contracts are in contracts. Updates of a book name the number
/// before theirs; a book without a change for a minute says so. One bad argument refuses itself alone.
final class OKXProtocol: DeskProtocol<OKXSession, OKXChannel> {
  static let depth = 400
  /// Silence on both sides after which the connection is closed.
  static let idleLimit = 30 * Microseconds.second
  /// A book that has not changed for this long says so.
  static let quietAfter = 60 * Microseconds.second

  private struct Book {
    var window = BookWindow(depth: OKXProtocol.depth)
    var number: Int64
    var sent: Timestamp
  }

  private var books: [Book]
  /// Of candles, the newest and older ones.
  var candleBudget = RequestBudget(40, perSecond: 20)
  var historyBudget = RequestBudget(20, perSecond: 10)

  override init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.map { Book(number: $0.sequence, sent: faults.now) }
    super.init(market: market, faults: faults)
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(
      name: "okx", spelling: .shortest, paths: ["/ws/v5/public"], special: [.plannedShutdown, .trades])
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.say(
      #"""
      {"event":"notice","code":"64008",\#
      "msg":"The connection will soon be closed for a service upgrade. Please reconnect.","connId":"a4d3ae55"}
      """#)
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    if ticks % 2 == 0 { flush(index) }
    if now - books[index].sent >= Self.quietAfter { sendQuiet(index) }
    if ticks % 20 == 0 { send(.tickers, index, .ticker, ticker(index)) }
  }

  override func tend(_ session: OKXSession, _ now: Timestamp) {
    if now - max(session.lastHeard, session.lastSent) >= Self.idleLimit {
      session.close(4004, "No data received in 30s")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: OKXSession) {
    if text.withUnsafeBytes({ $0.elementsEqual("ping".utf8) }) { return session.say("pong") }
    guard let request = try? ClientMessage(text) else { return fail("60012", "Illegal request", session) }
    let operation = request["op"].text
    guard operation == "subscribe" || operation == "unsubscribe" else {
      return fail("60012", "Illegal request: {\"op\": \"\(operation)\"}", session)
    }
    let arguments = request["args"].list
    guard session.operations.take(arguments.count, at: now) else {
      fail("60014", "Requests too frequent", session)
      return session.close(1008, "too many subscriptions in an hour")
    }
    for argument in arguments { carryOut(operation, request["id"].text, argument, session) }
  }

  private func fail(_ code: StaticString, _ message: String, _ session: OKXSession) {
    session.say(#"{"event":"error","code":"\#(code)","msg":\#(json: message),"connId":"a4d3ae55"}"#)
  }

  private func carryOut(_ operation: String, _ id: String, _ argument: ClientMessage, _ session: OKXSession) {
    let (channel, name) = (argument["channel"].text, argument["instId"].text)
    if channel == OKXChannel.liquidations.rawValue {
      return carryOutLiquidations(operation, id, argument["instType"].text, session)
    }
    guard let kind = OKXChannel(rawValue: channel), let index = index(of: name),
      !isRefused(index, kind) || operation == "unsubscribe"
    else {
      let reason =
        "Wrong URL or channel:\(channel),instId:\(name) doesn't exist. "
        + "Please use the correct URL, channel and parameters referring to API document."
      return fail("60018", reason, session)
    }
    session.say(
      #"""
      {"id":\#(json: id),"event":"\#(operation)","arg":{"channel":"\#(channel)","instId":"\#(name)"},\#
      "connId":"a4d3ae55"}
      """#)
    let stream = Stream(kind, index)
    if operation == "unsubscribe" {
      leave(stream, session)
    } else if !desk.has(session, stream) {
      join(stream, session)
    }
  }

  /// One subscription has all contracts of a kind.
  private func carryOutLiquidations(_ operation: String, _ id: String, _ type: String, _ session: OKXSession) {
    let all = indices.filter { !state($0).instrument.isSpot && Self.type(state($0).instrument) == type }
    guard !all.isEmpty, all.allSatisfy({ !isRefused($0, .liquidations) }) || operation == "unsubscribe" else {
      return fail("60018", "Wrong URL or channel:liquidation-orders,instType:\(type) doesn't exist.", session)
    }
    session.say(
      #"""
      {"id":\#(json: id),"event":"\#(operation)","arg":{"channel":"liquidation-orders","instType":"\#(type)"},\#
      "connId":"a4d3ae55"}
      """#)
    for index in all {
      let stream = Stream(.liquidations, index)
      if operation == "unsubscribe" {
        leave(stream, session)
      } else if !desk.has(session, stream) {
        join(stream, session)
      }
    }
  }

  override func begin(_ stream: Stream, _ session: OKXSession) {
    let index = stream.instrument
    switch stream.channel {
    case .books:
      let book = state(index).book
      // Those who are there get what is gathered; the newcomer's snapshot has it already.
      if desk.isEmpty(.books, index) { _ = books[index].window.move(to: book) } else { flush(index) }
      session.send(
        .bookSnapshot, instrument: index,
        self.book(index, "snapshot", book.top(Self.depth), number: books[index].number, previous: -1))
    case .bestOffer: session.send(.quote, instrument: index, quote(index))
    case .trades:
      // The last trade before, not marked.
      if let last = state(index).recentTrades.last { session.send(.trade, instrument: index, trade(last, index)) }
    case .tickers: session.send(.ticker, instrument: index, ticker(index))
    case .liquidations: break
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for trade in change.trades { send(.trades, index, .trade, self.trade(trade, index)) }
    let closed = change.trades.filter(SimulatedDerivative.isLiquidation)
    if !closed.isEmpty, !state(index).instrument.isSpot {
      send(.liquidations, index, .trade, liquidations(closed, index))
    }
    if change.isTopChanged { send(.bestOffer, index, .quote, quote(index)) }
  }

  private func flush(_ index: Int) {
    guard !desk.isEmpty(.books, index) else { return }
    let sides = books[index].window.move(to: state(index).book)
    guard !sides.isEmpty else { return }
    let previous = books[index].number
    // Rises by more than one.
    books[index].number = max(previous + 1, state(index).sequence)
    sendUpdate(index, sides, previous: previous)
  }

  private func sendQuiet(_ index: Int) {
    guard !desk.isEmpty(.books, index) else { return }
    // Changes that wait for their turn are sent first: a message with the same number says that nothing has changed.
    let before = books[index].number
    flush(index)
    if books[index].number == before { sendUpdate(index, BookSides(), previous: before) }
  }

  private func sendUpdate(_ index: Int, _ sides: BookSides, previous: Int64) {
    books[index].sent = now
    send(
      .books, index, .book(isVisible: true),
      book(index, "update", sides, number: books[index].number, previous: previous))
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
