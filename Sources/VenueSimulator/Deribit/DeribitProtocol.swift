import Bytes
import MarketData

/// A client of the simulated Deribit.
final class DeribitSession: SimulatedSession {
  /// µs between heartbeats; nil until the client sets it.
  var heartbeat: Int64?
  var nextHeartbeat = Timestamp.distantFuture
  /// By when the client must have answered the test request.
  var answerDue: Timestamp?
  /// 10,000 come back in a second.
  var credits = RequestBudget(30_000, perSecond: 10_000)
}

/// A channel that there is: `ticker.BTC_USDC-PERPETUAL.agg2`, `platform_state`.
struct DeribitChannel: Hashable {
  enum Kind: String { case book, trades, quote, ticker, platform = "platform_state" }
  let kind: Kind
  /// As it was asked for, which messages repeat.
  let name: String
  /// Whether messages come about once a second (`agg2`) instead of every 100 ms.
  var isSlow: Bool { name.hasSuffix(".agg2") }
}

/// Deribit v2's JSON-RPC socket: `book`, `trades`, `quote`, `ticker`, `platform_state`, heartbeats; REST
/// `get_instruments`.
///
/// Numbers are bare, in the shorter of the plain and the exponent form. A subscription answers with the channels that
/// there are and does not mention the others. Changes of a book name the number before theirs; the numbers are of a
/// counter that all books share.
final class DeribitProtocol: DeskProtocol<DeribitSession, DeribitChannel> {
  static let subscribeCost = 3_000.0
  static let requestCost = 500.0
  /// A test request that is not answered ends the connection.
  static let answerLimit = 10 * Microseconds.second
  /// A connection without heartbeat and subscriptions ends.
  static let idleLimit = 60 * Microseconds.second

  private struct Book {
    var changes = LevelBatch()
    var number: Int64 = 0
  }

  /// By instrument.
  private lazy var books = indices.map { _ in Book() }
  /// The shared counter of changes.
  private var counter: Int64 = 193_809_000_000
  private lazy var trades = indices.map { _ in [SimulatedTrade]() }
  /// Of chart data: 500 credits each.
  var candleBudget = RequestBudget(100, perSecond: 20)

  override init(market: SimulatedMarket, faults: FaultInjector) {
    super.init(market: market, faults: faults)
    for index in indices { books[index].number = nextNumber() }
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "deribit", spelling: .float, paths: ["/ws/api/v2"], special: [.plannedShutdown, .names])
  }

  private func nextNumber() -> Int64 {
    counter += 1 + Int64(ticks % 7)
    return counter
  }

  // MARK: - Connections

  override func announceShutdown(to session: SimulatedSession) {
    guard desk.streams(of: session).contains(where: { $0.channel.kind == .platform }) else { return }
    session.say(message("platform_state", #"{"maintenance":true}"#))
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    guard ticks % 2 == 0 else { return }
    flush(index)
    flushTrades(index)
  }

  /// Ticker, heartbeats and the end of who does not answer.
  override func tend(_ session: DeribitSession, _ now: Timestamp) {
    let streams = desk.streams(of: session)
    for stream in streams where stream.channel.kind == .ticker && ticks % (stream.channel.isSlow ? 20 : 2) == 0 {
      session.send(.ticker, instrument: stream.instrument, ticker(stream))
    }
    if let due = session.answerDue, now >= due { return session.close(4000, "heartbeat close") }
    if let interval = session.heartbeat, now >= session.nextHeartbeat {
      session.nextHeartbeat = now + interval
      session.send(.heartbeat, #"{"params":{"type":"heartbeat"},"method":"heartbeat","jsonrpc":"2.0"}"#)
      guard session.answerDue == nil else { return }
      session.answerDue = now + Self.answerLimit
      session.send(.heartbeat, #"{"params":{"type":"test_request"},"method":"heartbeat","jsonrpc":"2.0"}"#)
    }
    if session.heartbeat == nil, isIdle(session, since: session.opened, Self.idleLimit) { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: DeribitSession) {
    guard let request = try? ClientMessage(text) else { return fail(nil, 11050, "bad_request", session) }
    let method = request["method"].text
    guard session.credits.take(method.hasSuffix("subscribe") ? Self.subscribeCost : Self.requestCost, at: now) else {
      fail(request, 10028, "too_many_requests", session)
      return session.close(1008, "too many requests")
    }
    switch method {
    case "public/set_heartbeat":
      guard let interval = request["params"]["interval"].integer, interval >= 10 else {
        return fail(request, -32602, "Invalid params", session)
      }
      session.heartbeat = interval * Microseconds.second
      session.nextHeartbeat = now + interval * Microseconds.second
      answer(request, session, #""ok""#)
    case "public/test":
      session.answerDue = nil
      answer(request, session, #"{"version":"1.2.26"}"#)
    case "public/subscribe": subscribe(request, session)
    case "public/unsubscribe":
      let streams = desk.streams(of: session)
      let left = request["params"]["channels"].texts.compactMap { name in streams.first { $0.channel.name == name } }
      for stream in left { leave(stream, session) }
      answer(request, session, "[\(names: left.map(\.channel.name))]")
    default: fail(request, -32601, "Method not found", session)
    }
  }

  /// The text of `id`, which the answer repeats, if it is a number.
  private func id(_ request: ClientMessage?) -> String? {
    request.flatMap { $0["id"].isNumber ? $0["id"].integer : nil }.map { String($0) }
  }

  private func fail(_ request: ClientMessage?, _ code: Int, _ message: StaticString, _ session: DeribitSession) {
    let id: JSONText = id(request).map { #""id":\#($0),"# } ?? ""
    session.say(#"{"jsonrpc":"2.0",\#(id)"error":{"code":\#(code),"message":"\#(message)"}}"#)
  }

  private func answer(_ request: ClientMessage, _ session: DeribitSession, _ result: JSONText) {
    session.say(
      #"""
      {"jsonrpc":"2.0","id":\#(id(request) ?? "null"),"result":\#(result),"usIn":\#(now.rawValue),\#
      "usOut":\#(now.rawValue),"usDiff":0,"testnet":false}
      """#)
  }

  /// Nil for what there is not.
  private func stream(_ name: String) -> Stream? {
    if name == "platform_state" {
      return Stream(DeribitChannel(kind: .platform, name: name), -1)
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 2, let kind = DeribitChannel.Kind(rawValue: parts[0]),
      let index = listed(parts[1], on: DeribitChannel(kind: kind, name: name))
    else { return nil }
    // Books are had every 100 ms only.
    let isThere =
      kind == .quote
      ? parts.count == 2 : parts.count == 3 && (parts[2] == "100ms" || (parts[2] == "agg2" && kind != .book))
    return isThere ? Stream(DeribitChannel(kind: kind, name: name), index) : nil
  }

  private func subscribe(_ request: ClientMessage, _ session: DeribitSession) {
    let names = request["params"]["channels"].texts
    if names.contains(where: { $0.hasSuffix(".raw") }) {
      return fail(request, 13778, "raw_subscriptions_not_available_for_unauthorized", session)
    }
    let wanted = names.compactMap(stream)
    // In another order than that of the request.
    answer(request, session, "[\(names: wanted.reversed().map(\.channel.name))]")
    for stream in wanted where !desk.has(session, stream) { join(stream, session) }
  }

  override func begin(_ stream: Stream, _ session: DeribitSession) {
    let index = stream.instrument
    switch stream.channel.kind {
    case .book:
      // What is gathered belongs to those who were there before.
      flush(index)
      session.send(
        .bookSnapshot, instrument: index, book(index, books[index].number, previous: nil, state(index).book.sides))
    case .quote: session.send(.quote, instrument: index, quote(index))
    case .ticker: session.send(.ticker, instrument: index, ticker(stream))
    case .trades, .platform: break
    }
  }

  // MARK: - The market

  private func channel(_ kind: DeribitChannel.Kind, _ index: Int) -> DeribitChannel {
    let name = state(index).instrument.venueSymbol
    return DeribitChannel(kind: kind, name: kind == .book ? "book.\(name).100ms" : "quote.\(name)")
  }

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !desk.isEmpty(channel(.book, index), index) { books[index].changes.add(change) }
    trades[index] += change.trades
    if change.isTopChanged { send(channel(.quote, index), index, .quote, quote(index)) }
  }

  private func flush(_ index: Int) {
    guard let changed = books[index].changes.take() else { return }
    let previous = books[index].number
    books[index].number = nextNumber()
    send(
      channel(.book, index), index, .book(isVisible: true),
      book(index, books[index].number, previous: previous, changed))
  }

  /// All trades of 100 ms in one message, the oldest first.
  private func flushTrades(_ index: Int) {
    guard !trades[index].isEmpty else { return }
    for session in clients {
      for stream in desk.streams(of: session) where stream.channel.kind == .trades && stream.instrument == index {
        session.send(.trade, instrument: index, trades(stream.channel.name, trades[index], index))
      }
    }
    trades[index].removeAll(keepingCapacity: true)
  }

  private func ticker(_ stream: Stream) -> JSONText { ticker(stream.channel.name, stream.instrument) }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
