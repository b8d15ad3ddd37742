import Bytes
import MarketData

/// A client of the simulated KuCoin.
final class KuCoinSession: SimulatedSession {
  var lastPing = Timestamp.distantPast
  /// Whether its socket is spot's or that of contracts, which its first request shows: they have a host each.
  var type: String?
}

enum KuCoinChannel: Hashable {
  /// `obu` at depth `increment@10ms`.
  case book
  /// `obu` of 1, 5 or 50 levels, whole each time.
  case window(depth: Int)
  case trades
  case ticker

  /// Nil if there is no such channel, or `obu` at no such depth.
  init?(_ request: ClientMessage) {
    switch (request["channel"].text, request["depth"].text) {
    case ("obu", "increment@10ms"): self = .book
    case ("obu", "1"): self = .window(depth: 1)
    case ("obu", "5"): self = .window(depth: 5)
    case ("obu", "50"): self = .window(depth: 50)
    case ("trade", _): self = .trades
    case ("ticker", _): self = .ticker
    default: return nil
    }
  }
}

/// KuCoin's public sockets of the unified API, of spot and of contracts: `obu`, `trade`, `ticker`, the JSON ping; REST
/// `symbols` and `contracts/active`. Sizes of contracts are in lots.
///
/// JSON in binary frames. A book's snapshot comes some while after the acknowledgement, and then the changes of its 500
/// best levels a side. Any symbol is acknowledged, and one that there is not stays silent. One symbol a request on
/// `obu`.
final class KuCoinProtocol: DeskProtocol<KuCoinSession, KuCoinChannel> {
  static let depth = 500
  /// Client messages in ten seconds: the smaller of the documented numbers.
  static let messageLimit = 100
  /// The smallest number of topics of a connection that is in use.
  static let topicLimit = 200
  static let pingInterval: Int64 = 18_000
  /// Without a subscription and a word from the client, a socket is cut after this long.
  static let idleLimit = 60 * Microseconds.second

  private struct Book {
    var window = BookWindow(depth: KuCoinProtocol.depth)
    var last: Int64
    var messages = 0
    /// Removals of levels that have left the window, which are sent a message late.
    var fallen = BookSides()
    /// The message before: its first number and its changes.
    var told: (from: Int64, sides: BookSides)?
    /// Those who have their snapshot.
    var begun: [SimulatedSession] = []
  }

  private lazy var books = market.instruments.map { Book(last: $0.updateID) }
  /// Subscribed, but without their snapshot yet.
  private var waiting: [(due: Timestamp, session: KuCoinSession, instrument: Int)] = []
  /// The weight of requests by REST, at 4 each, candles at 3.
  var restWeight = RequestCount(2_000, per: 30 * Microseconds.second)

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "kucoin", spelling: .shortest, special: [.names])
  }
  override var sendsBinary: Bool { true }

  // MARK: - Connections

  override func welcome(_ session: KuCoinSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    session.say(
      #"{"sessionId":"e8e46556-ae1d-4871-be0b-4efeaa5f2f6a","message":"welcome","pingInterval":\#(Self.pingInterval)}"#)
  }

  override func left(_ streams: [Stream], _ session: KuCoinSession) {
    for stream in streams where stream.channel == .book {
      waiting.removeAll { $0.session === session && $0.instrument == stream.instrument }
      books[stream.instrument].begun.removeAll { $0 === session }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    let due = waiting.filter { $0.due <= now }
    waiting.removeAll { $0.due <= now }
    for entry in due { begin(entry.instrument, entry.session) }
    super.tick(now, sessions: sessions)
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    flush(index)
    if ticks % 2 == 0 { for depth in [5, 50] { sendWindow(index, depth: depth) } }
  }

  override func tend(_ session: KuCoinSession, _ now: Timestamp) {
    if isIdle(session, since: session.lastHeard, Self.idleLimit) { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: KuCoinSession) {
    guard !session.exceeds(Self.messageLimit, within: 10 * Microseconds.second) else {
      return session.close(1008, "too many messages")
    }
    // What is no JSON is not answered.
    guard let request = try? ClientMessage(text) else { return }
    guard request["type"].text == "ping" else { return carryOut(request, session) }
    guard now - session.lastPing >= Microseconds.second else { return session.close(1008, "pings too frequent") }
    session.lastPing = now
    session.say(#"{"type":"pong","id":\#(json: request["id"].text),"ts":\#(now.rawValue * 1_000)}"#)
  }

  private func reply(_ request: ClientMessage, _ session: KuCoinSession, refusal: (key: String, text: String)? = nil) {
    let reason: JSONText = refusal.map { #","\#($0.key)":\#(json: $0.text)"# } ?? ""
    session.say(
      #"{"id":\#(json: request["id"].text),"result":\#(refusal == nil ? "true" : "false")\#(reason)}"#)
  }

  private func carryOut(_ request: ClientMessage, _ session: KuCoinSession) {
    let (action, type) = (request["action"].text.lowercased(), request["tradeType"].text)
    if session.type == nil, type == "SPOT" || type == "FUTURES" { session.type = type }
    guard action == "subscribe" || action == "unsubscribe", let channel = KuCoinChannel(request) else {
      return reply(request, session, refusal: ("message", "invalid request data"))
    }
    guard type == session.type else {
      let text = #"topic Obu type = "public_\#(type.lowercased())" not allowed in current environment"#
      return reply(request, session, refusal: ("reason", text))
    }
    let symbols = request["symbols"].texts
    guard symbols.isEmpty || request["channel"].text != "obu" else {
      return reply(request, session, refusal: ("reason", "symbols are not supported for topic obu"))
    }
    let names = symbols + (request["symbol"].text.isEmpty ? [] : [request["symbol"].text])
    let isStart = action == "subscribe"
    guard !isStart || desk.streams(of: session).count + names.count <= Self.topicLimit else {
      return reply(
        request, session, refusal: ("reason", "exceed max topic count limitation of \(Self.topicLimit)"))
    }
    reply(request, session)
    for index in names.compactMap({ listed($0, on: channel) }) where state(index).instrument.isSpot == (type == "SPOT")
    {
      if !isStart {
        leave(Stream(channel, index), session)
      } else if desk.add(session, Stream(channel, index)), channel == .book {
        // 0.25 s for the first market, 0.1 s more for each of the next nine.
        let delay = 250 + 100 * Int64(index % 10)
        waiting.append((now + delay * Microseconds.millisecond, session, index))
      }
    }
  }

  /// Sends a newcomer its snapshot; those who are there get before it what they have still to be told.
  private func begin(_ index: Int, _ session: KuCoinSession) {
    guard !session.isEnded else { return }
    if books[index].begun.isEmpty {
      _ = books[index].window.move(to: state(index).book)
      books[index].fallen = BookSides()
    } else {
      flush(index)
    }
    let state = state(index)
    books[index].last = state.updateID
    books[index].told = nil
    books[index].begun.append(session)
    session.send(.bookSnapshot, instrument: index, whole(index, "increment@10ms", Self.depth))
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for trade in change.trades { send(.trades, index, .trade, self.trade(trade, index)) }
    if change.isTopChanged {
      send(.ticker, index, .ticker, ticker(index))
      sendWindow(index, depth: 1)
    }
  }

  private func flush(_ index: Int) {
    let state = state(index)
    guard !books[index].begun.isEmpty, state.updateID > books[index].last else { return }
    var sides = books[index].window.move(to: state.book)
    if index % 2 == 0 {
      // The venue sometimes sends removals from the window a message late: here always, for every other market.
      let late = books[index].fallen
      books[index].fallen = BookSides(
        bids: Self.takeFallen(&sides.bids, state.book, .bid), asks: Self.takeFallen(&sides.asks, state.book, .ask))
      sides.add(late)
    }
    // What happens below the window is not told; the next message's numbers cover it.
    guard !sides.isEmpty else { return }
    books[index].messages += 1
    var first = books[index].last + 1
    let told = books[index].told
    books[index].told = (first, sides)
    // That a message begins with numbers which were told before is documented as right, though nobody has seen it. It
    // then tells all that they were about.
    if let told, index % 2 == 1, books[index].messages % 16 == 0 {
      first = told.from
      sides.add(told.sides)
    }
    books[index].last = state.updateID
    let payload = book(index, "increment@10ms", "delta", first...state.updateID, sides).shared
    for session in books[index].begun { session.send(payload, .book(isVisible: true), instrument: index) }
  }

  /// Takes the removals of what is in the book still.
  private static func takeFallen(
    _ levels: inout [PriceLevel], _ book: SimulatedBook, _ side: SimulatedSide
  ) -> [PriceLevel] {
    let fallen = levels.filter { $0.size == 0 && book.size(side, at: $0.price) > 0 }
    levels.removeAll { level in fallen.contains { $0.price == level.price } }
    return fallen
  }

  private func sendWindow(_ index: Int, depth: Int) {
    send(.window(depth: depth), index, .quote, whole(index, "\(depth)", depth))
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
