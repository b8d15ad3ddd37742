import Bytes
import MarketData

/// A client of the simulated Hyperliquid.
final class HyperliquidSession: SimulatedSession {
  /// When the connection ends because of an unknown name.
  var doomed: Timestamp?
}

enum HyperliquidChannel: Hashable {
  /// Five levels twice a second if it is fast, else twenty every 5.4 s.
  case book(isFast: Bool)
  case quote
  case trades
  case context

  init?(_ request: ClientMessage) {
    switch request["type"].text {
    case "l2Book":
      // No aggregated ones.
      guard !request["nSigFigs"].isNumber, !request["mantissa"].isNumber else { return nil }
      self = .book(isFast: request["fast"].flag ?? false)
    case "bbo": self = .quote
    case "trades": self = .trades
    case "activeAssetCtx": self = .context
    default: return nil
    }
  }

  var name: String {
    switch self {
    case .book: "l2Book"
    case .quote: "bbo"
    case .trades: "trades"
    case .context: "activeAssetCtx"
    }
  }
}

/// Hyperliquid's socket: `l2Book`, `bbo`, `trades`, `activeAssetCtx` one subscription a message; `meta`, `spotMeta`,
/// both with `AndAssetCtxs`, `perpDexs`, `allMids` and `l2Book` over the socket by `post`, and by POST to `/info`.
///
/// Books are whole each time and sent again when nothing changed. The first message of trades repeats those before it.
/// An unknown name ends the connection a tenth of a second later, without a word.
final class HyperliquidProtocol: DeskProtocol<HyperliquidSession, HyperliquidChannel> {
  static let depth = 20
  static let fastDepth = 5
  /// Ticks of 50 ms between two books.
  static let fastTicks = 11
  static let slowTicks = 108
  /// Subscriptions of one address: all clients here are of one.
  static let subscriptionLimit = 1_000
  /// The venue closes when it has sent nothing for this long.
  static let idleLimit = 60 * Microseconds.second
  static let replayed = 30

  private lazy var changed = indices.map { _ in false }
  private lazy var trades = indices.map { _ in [SimulatedTrade]() }
  /// Of one address.
  private var messages: RequestCount
  /// The weight of candles in a minute.
  var candleBudget = RequestBudget(1_200, perSecond: 20)

  override init(market: SimulatedMarket, faults: FaultInjector) {
    messages = RequestCount(2_000, per: Microseconds.minute, from: faults.now)
    super.init(market: market, faults: faults)
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "hyperliquid", spelling: .pointed, paths: ["/ws"])
  }

  /// Those too that a proxy keeps: what is behind it has an end.
  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for session in clients {
      if let doomed = session.doomed, now >= doomed {
        session.abort()
        continue
      }
      for stream in desk.streams(of: session) { send(stream, session) }
      if now - session.lastSent >= Self.idleLimit { session.abort() }
    }
    for index in indices {
      changed[index] = false
      trades[index].removeAll(keepingCapacity: true)
    }
  }

  /// What a tick owes a subscription.
  private func send(_ stream: Stream, _ session: HyperliquidSession) {
    let index = stream.instrument
    switch stream.channel {
    case .book(let isFast):
      guard ticks % (isFast ? Self.fastTicks : Self.slowTicks) == 0 else { return }
      session.send(.book(isVisible: true), instrument: index, book(index, isFast: isFast))
    case .quote:
      if changed[index] { session.send(.quote, instrument: index, quote(index)) }
    case .trades:
      if !trades[index].isEmpty { session.send(.trade, instrument: index, trades(index, trades[index])) }
    case .context:
      if ticks % 20 == 0 { session.send(.ticker, instrument: index, context(index)) }
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: HyperliquidSession) {
    guard session.doomed == nil else { return }
    guard messages.take(at: now) else { return session.close(1008, "too many messages in a minute") }
    let title = "Error parsing JSON into valid websocket request: "
    guard let request = try? ClientMessage(text) else {
      return fail(title + text.withUnsafeBytes { String(decoding: $0.prefix(200), as: UTF8.self) }, session)
    }
    switch request["method"].text {
    case "ping": session.say(#"{"channel":"pong"}"#)
    case "subscribe", "unsubscribe": subscribe(request, session)
    case "post":
      let payload = request["request"]["payload"]
      let response: JSONText =
        info(payload).map { text in
          #"{"type":"info","payload":{"type":"\#(payload["type"].text)","data":\#(text)}}"#
        } ?? #"{"type":"error","payload":"422 Unprocessable Entity: unknown request"}"#
      session.say(#"{"channel":"post","data":{"id":\#(request["id"].integer ?? 0),"response":\#(response)}}"#)
    default: fail(title + "{\"method\":\"\(request["method"].text)\"}", session)
    }
  }

  private func fail(_ message: String, _ session: HyperliquidSession) {
    session.say(#"{"channel":"error","data":\#(json: message)}"#)
  }

  private func subscribe(_ request: ClientMessage, _ session: HyperliquidSession) {
    let subject = request["subscription"]
    let stream = HyperliquidChannel(subject).flatMap { channel in
      listed(subject["coin"].text, on: channel).map { Stream(channel, $0) }
    }
    guard request["method"].text == "subscribe" else {
      guard let stream, leave(stream, session) else {
        return fail("Already unsubscribed: \(subject.raw)", session)
      }
      return acknowledge("unsubscribe", stream, session)
    }
    guard let stream else {
      session.doomed = now + 100 * Microseconds.millisecond
      return
    }
    guard !desk.has(session, stream) else {
      return fail("Already subscribed: \(subject.raw)", session)
    }
    guard clients.reduce(0, { $0 + desk.streams(of: $1).count }) < Self.subscriptionLimit else {
      return fail("Cannot subscribe to more than \(Self.subscriptionLimit) channels.", session)
    }
    acknowledge("subscribe", stream, session)
    join(stream, session)
  }

  override func begin(_ stream: Stream, _ session: HyperliquidSession) {
    let index = stream.instrument
    switch stream.channel {
    case .book(let isFast): session.send(.bookSnapshot, instrument: index, book(index, isFast: isFast))
    case .quote: session.send(.quote, instrument: index, quote(index))
    case .trades:
      // Without those that the tick is about to send.
      let known = state(index).recentTrades.dropLast(trades[index].count)
      session.send(.trade, instrument: index, trades(index, Array(known.suffix(Self.replayed))))
    case .context: session.send(.ticker, instrument: index, context(index))
    }
  }

  /// Repeats the subscription with the defaults of what it left out.
  private func acknowledge(_ method: StaticString, _ stream: Stream, _ session: HyperliquidSession) {
    var more: JSONText = ""
    if case .book(let isFast) = stream.channel {
      more = #","nSigFigs":null,"mantissa":null,"fast":\#(isFast ? "true" : "false")"#
    }
    session.say(
      #"""
      {"channel":"subscriptionResponse","data":{"method":"\#(method)",\#
      "subscription":{"type":"\#(stream.channel.name)","coin":\#(json: spell(stream.instrument).name)\#(more)}}}
      """#)
  }

  /// The same questions as over the socket, each answered by what it asks for alone.
  override func respond(path: String, body: RawSpan) -> SimulatedResponse {
    guard path == "/info" else { return SimulatedResponse(status: 404, "null") }
    let request = try? ClientMessage(body)
    if let request, request["type"].text == "candleSnapshot" { return candles(request["req"]) }
    guard let answer = request.flatMap(info) else {
      return SimulatedResponse(status: 422, "Failed to deserialize the JSON body into the target type")
    }
    return SimulatedResponse(answer)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    if change.isTopChanged { changed[change.instrument] = true }
    trades[change.instrument] += change.trades
  }
}
