import Bytes
import MarketData

enum GateChannel: Hashable {
  /// `spot.obu` of 50 or 400 levels.
  case stream(depth: Int)
  /// `spot.order_book_update`, every 20 or 100 ms.
  case updates(isFast: Bool)
  case trades
  case quotes
  case tickers
}

/// Gate's spot socket, `/ws/v4/`: `spot.obu`, `spot.order_book_update`, `spot.trades`, `spot.book_ticker`,
/// `spot.tickers`, the application ping; REST `currency_pairs` and `order_book`.
///
/// Numbers are strings without trailing zeros, of trades with ten digits. Books count every level that changes;
/// `spot.obu` also says so where nothing of what it shows has. A name that there is not is refused, except by
/// `spot.obu`, which acknowledges it and stays silent.
final class GateProtocol: DeskProtocol<SimulatedSession, GateChannel> {
  /// Without a subscription and a word from the client, a socket is cut after this long.
  static let idleLimit = 30 * Microseconds.second
  /// How far a request's time may be off, s.
  static let timeTolerance: Int64 = 60

  private static let depths = [50, 400]

  /// A book of one depth, as its subscribers know it.
  private struct Book {
    var window: BookWindow
    var last: Int64
    var messages = 0
  }

  /// Changes gathered for `spot.order_book_update`, and the first number that they cover.
  private struct Gathered {
    var levels = LevelBatch()
    var first: Int64
  }

  /// By instrument × depths.
  private lazy var books = market.instruments.flatMap { state in
    Self.depths.map { Book(window: BookWindow(depth: $0), last: state.updateID) }
  }
  /// By instrument × (slow, fast).
  private lazy var updates = market.instruments.flatMap { state in
    [Gathered(first: state.updateID + 1), Gathered(first: state.updateID + 1)]
  }
  /// By REST, of each path.
  var requests: [String: RequestCount] = [:]

  /// Without the last slash the venue has no such page.
  override class var facts: SimulatedFacts {
    SimulatedFacts(
      name: "gate", spelling: .shortest, paths: ["/ws/v4/"], special: [.plannedShutdown, .staleSnapshot])
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.say(
      #"""
      {\#(head("spot.system")),"event":"update","result":{"type":"upgrade",\#
      "msg":"The connection will soon be closed. Please reconnect"}}
      """#)
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    flush(index, 50)
    flushUpdates(index, isFast: true)
    if ticks % 2 == 0 {
      flush(index, 400)
      flushUpdates(index, isFast: false)
    }
    if ticks % 20 == 0 { send(.tickers, index, .ticker, ticker(index)) }
  }

  override func tend(_ session: SimulatedSession, _ now: Timestamp) {
    if isIdle(session, since: session.lastHeard, Self.idleLimit) { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: SimulatedSession) {
    guard let request = try? ClientMessage(text) else {
      return reply(nil, session, error: (1, "request message need json scheme"))
    }
    if request["channel"].text == "spot.ping" {
      return session.say(#"{\#(head("spot.pong")),"event":"","error":null,"result":null}"#)
    }
    guard abs((request["time"].integer ?? 0) - now.rawValue / Microseconds.second) <= Self.timeTolerance else {
      return reply(request, session, error: (2, "request time is too far from the server's"))
    }
    guard ["subscribe", "unsubscribe"].contains(request["event"].text) else {
      return reply(request, session, error: (2, "Invalid argument provided"))
    }
    carryOut(request, session)
  }

  private func reply(
    _ request: ClientMessage?, _ session: SimulatedSession, error: (code: Int64, message: String)? = nil
  ) {
    let id: JSONText = request.flatMap { $0["id"].isNumber ? $0["id"].integer : nil }.map { #","id":\#($0)"# } ?? ""
    let failure: JSONText =
      error.map { #""error":{"code":\#($0.code),"message":\#(json: $0.message)},"# } ?? ""
    session.say(
      #"""
      {\#(head(request?["channel"].text ?? ""))\#(id),"conn_id":"28838ac31473dcbb",\#
      "trace_id":"789a534faf3c51651b7764b0ac63b4a8","event":\#(json: request?["event"].text ?? ""),\#
      "payload":[\#(names: request?["payload"].texts ?? [])],\#
      \#(failure)"result":{"status":"\#(error == nil ? "success" : "fail")"}}
      """#)
  }

  private func carryOut(_ request: ClientMessage, _ session: SimulatedSession) {
    let (name, payload) = (request["channel"].text, request["payload"].texts)
    let isStart = request["event"].text == "subscribe"
    func fail(_ message: String) { reply(request, session, error: (2, message)) }
    let wanted: [Stream]
    switch name {
    case "spot.obu":
      wanted = payload.compactMap(stream)
      if isStart, let twice = zip(wanted, payload).first(where: { desk.has(session, $0.0) }) {
        return fail("Alert sub \(twice.1)")
      }
    case "spot.order_book_update":
      guard payload.count == 2, ["20ms", "100ms"].contains(payload[1]) else { return fail("Invalid argument provided") }
      let channel = GateChannel.updates(isFast: payload[1] == "20ms")
      guard let index = listed(payload[0], on: channel) else { return fail("unknown currency pair \(payload[0])") }
      wanted = [Stream(channel, index)]
    case "spot.trades", "spot.book_ticker", "spot.tickers":
      let channel: GateChannel = name == "spot.trades" ? .trades : name == "spot.tickers" ? .tickers : .quotes
      if let unknown = payload.first(where: { listed($0, on: channel) == nil }) {
        return fail("unknown currency pair \(unknown)")
      }
      wanted = payload.compactMap { listed($0, on: channel).map { Stream(channel, $0) } }
    default: return fail("Unknown channel \(name)")
    }
    reply(request, session)
    for stream in wanted {
      if !isStart { leave(stream, session) } else if !desk.has(session, stream) { join(stream, session) }
    }
  }

  /// `ob.BTC_USDT.400`; nil for an unknown stream, which the venue does not report.
  private func stream(_ name: String) -> Stream? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "ob", let depth = Int(parts[2]), Self.depths.contains(depth),
      let index = listed(parts[1], on: .stream(depth: depth))
    else { return nil }
    return Stream(.stream(depth: depth), index)
  }

  private func bookSlot(_ index: Int, _ depth: Int) -> Int {
    index * Self.depths.count + Self.depths.firstIndex(of: depth)!
  }

  override func begin(_ stream: Stream, _ session: SimulatedSession) {
    let index = stream.instrument
    let isFirst = desk.isEmpty(stream.channel, index)
    switch stream.channel {
    case .stream(let depth):
      let slot = bookSlot(index, depth)
      // Those who are there get what is gathered; the newcomer's snapshot has it already.
      if isFirst {
        _ = books[slot].window.move(to: state(index).book)
        books[slot].last = state(index).updateID
      } else {
        flush(index, depth)
      }
      session.send(.bookSnapshot, instrument: index, window(index, depth, last: books[slot].last, nil))
    case .updates(let isFast):
      let slot = index * 2 + (isFast ? 1 : 0)
      if isFirst {
        updates[slot].levels.removeAll()
        updates[slot].first = state(index).updateID + 1
      } else {
        flushUpdates(index, isFast: isFast)
      }
    case .trades, .quotes: break
    case .tickers: session.send(.ticker, instrument: index, ticker(index))
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for isFast in [false, true] where !desk.isEmpty(.updates(isFast: isFast), index) {
      updates[index * 2 + (isFast ? 1 : 0)].levels.add(change)
    }
    for trade in change.trades { send(.trades, index, .trade, self.trade(trade, index)) }
    if change.isTopChanged { send(.quotes, index, .quote, quote(index)) }
  }

  private func flush(_ index: Int, _ depth: Int) {
    let slot = bookSlot(index, depth)
    let state = state(index)
    guard !desk.isEmpty(.stream(depth: depth), index), state.updateID > books[slot].last else { return }
    // Whether spot tells of levels that fall out of the window is not known: here every other market does.
    let sides =
      index % 2 == 1 ? books[slot].window.moveSilently(to: state.book) : books[slot].window.move(to: state.book)
    let first = books[slot].last + 1
    books[slot].last = state.updateID
    books[slot].messages += 1
    // The whole book may come whenever the venue likes: here of every other market, instead of a change.
    let isWhole = index % 2 == 0 && books[slot].messages % 32 == 0
    send(
      .stream(depth: depth), index, isWhole ? .bookSnapshot : .book(isVisible: true),
      window(index, depth, last: state.updateID, isWhole ? nil : (first, sides)))
  }

  private func flushUpdates(_ index: Int, isFast: Bool) {
    let slot = index * 2 + (isFast ? 1 : 0)
    guard !desk.isEmpty(.updates(isFast: isFast), index), let sides = updates[slot].levels.take() else { return }
    let first = updates[slot].first
    updates[slot].first = state(index).updateID + 1
    send(.updates(isFast: isFast), index, .book(isVisible: true), update(index, first: first, sides))
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
