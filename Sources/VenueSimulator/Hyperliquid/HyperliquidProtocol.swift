import Bytes
import MarketData

/// A subscription of a client.
struct HyperliquidSubscription: Equatable {
  enum Channel: String, CaseIterable { case book = "l2Book", quote = "bbo", trades, context = "activeAssetCtx" }
  let channel: Channel
  let instrument: Int
  /// Of books: five levels twice a second instead of twenty every 5.4 s.
  var isFast = false
}

/// A client of the simulated Hyperliquid.
final class HyperliquidSession: SimulatedSession {
  var subscriptions: [HyperliquidSubscription] = []
  /// When the connection ends because of an unknown name.
  var doomed: Timestamp?
}

/// Hyperliquid's socket: `l2Book`, `bbo`, `trades`, `activeAssetCtx` one subscription a message; `meta`, `spotMeta`, both with
/// `AndAssetCtxs`, `perpDexs`, `allMids` and `l2Book` over the socket by `post`, and by POST to `/info`.
///
/// Books are whole each time and sent again when nothing changed. The first message of trades repeats those before it. An unknown name
/// ends the connection a tenth of a second later, without a word.
final class HyperliquidProtocol: VenueProtocol {
  static let depth = 20
  static let fastDepth = 5
  /// Ticks of 50 ms between two books.
  static let fastTicks = 11
  static let slowTicks = 108
  /// Subscriptions, and messages in a minute, of one address: all clients here are of one.
  static let subscriptionLimit = 1_000
  static let messageLimit = 2_000
  /// The venue closes when it has sent nothing for this long.
  static let idleLimit = 60 * Microseconds.second
  static let replayed = 30

  private var all: [HyperliquidSession] = []
  private var changed: [Bool]
  private var trades: [[SimulatedTrade]]
  private var ticks = 0
  private var minute: Timestamp
  private var messages = 0
  /// The weight of candles in a minute.
  var candleBudget = RequestBudget(1_200, perSecond: 20)

  init(market: SimulatedMarket, faults: FaultInjector) {
    changed = Array(repeating: false, count: market.instruments.count)
    trades = Array(repeating: [], count: market.instruments.count)
    minute = faults.now
    super.init(name: "hyperliquid", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws" }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/ws" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = HyperliquidSession(id: id, faults: faults)
    all.append(session)
    return session
  }

  override func closed(_ session: SimulatedSession) { all.removeAll { $0 === session } }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for session in all {
      if let doomed = session.doomed, now >= doomed {
        session.abort()
        continue
      }
      for subscription in session.subscriptions { send(subscription, session) }
      if now - session.lastSent >= Self.idleLimit { session.abort() }
    }
    for index in trades.indices {
      changed[index] = false
      trades[index].removeAll(keepingCapacity: true)
    }
  }

  /// What a tick owes a subscription.
  private func send(_ subscription: HyperliquidSubscription, _ session: HyperliquidSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .book:
      guard ticks % (subscription.isFast ? Self.fastTicks : Self.slowTicks) == 0 else { return }
      session.send(.book(isVisible: true), instrument: index) { appendBook(subscription, to: &$0) }
    case .quote:
      guard changed[index] else { return }
      session.send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    case .trades:
      guard !trades[index].isEmpty else { return }
      session.send(.trade, instrument: index) { appendTrades(index, trades[index], to: &$0) }
    case .context:
      guard ticks % 20 == 0 else { return }
      session.send(.ticker, instrument: index) { appendContext(index, to: &$0) }
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? HyperliquidSession, session.doomed == nil else { return }
    if faults.now - minute >= Microseconds.minute {
      minute = faults.now
      messages = 0
    }
    messages += 1
    guard messages <= Self.messageLimit else { return session.close(1008, "too many messages in a minute") }
    let request: HyperliquidRequest
    do throws(JSONError) {
      request = try HyperliquidRequest(text)
    } catch {
      let shown = text.withUnsafeBytes { String(decoding: $0.prefix(200), as: UTF8.self) }
      return fail("Error parsing JSON into valid websocket request: \(shown)", session)
    }
    switch request.method {
    case "ping": session.send { $0.append(#"{"channel":"pong"}"#) }
    case "subscribe": subscribe(request, session)
    case "unsubscribe": unsubscribe(request, session)
    case "post": answer(request, session)
    default: fail("Error parsing JSON into valid websocket request: {\"method\":\"\(request.method)\"}", session)
    }
  }

  private func fail(_ message: String, _ session: HyperliquidSession) {
    session.send { out in
      out.append(#"{"channel":"error","data":"#)
      out.append(json: message)
      out.append("}")
    }
  }

  /// Nil for a name that there is not, or a kind of subscription or book that is not simulated.
  private func subscription(_ request: HyperliquidRequest) -> HyperliquidSubscription? {
    guard let channel = HyperliquidSubscription.Channel(rawValue: request.type), !request.isAggregated,
      let index = index(of: request.coin), !isRefused(index)
    else { return nil }
    return HyperliquidSubscription(
      channel: channel, instrument: index, isFast: channel == .book && request.isFast)
  }

  func index(of coin: String) -> Int? {
    market.instruments.firstIndex { $0.instrument.venueSymbol == coin }
  }

  private func subscribe(_ request: HyperliquidRequest, _ session: HyperliquidSession) {
    guard let subscription = subscription(request) else {
      session.doomed = faults.now + 100 * Microseconds.millisecond
      return
    }
    guard !session.subscriptions.contains(subscription) else {
      return fail("Already subscribed: \(request.text)", session)
    }
    guard all.reduce(0, { $0 + $1.subscriptions.count }) < Self.subscriptionLimit else {
      return fail("Cannot subscribe to more than \(Self.subscriptionLimit) channels.", session)
    }
    acknowledge("subscribe", subscription, session)
    session.subscriptions.append(subscription)
    let index = subscription.instrument
    switch subscription.channel {
    case .book: session.send(.bookSnapshot, instrument: index) { appendBook(subscription, to: &$0) }
    case .quote: session.send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    case .trades:
      // Without those that the tick is about to send.
      let known = market.instruments[index].recentTrades.dropLast(trades[index].count)
      session.send(.trade, instrument: index) { appendTrades(index, Array(known.suffix(Self.replayed)), to: &$0) }
    case .context: session.send(.ticker, instrument: index) { appendContext(index, to: &$0) }
    }
  }

  private func unsubscribe(_ request: HyperliquidRequest, _ session: HyperliquidSession) {
    guard let subscription = subscription(request),
      let place = session.subscriptions.firstIndex(where: { $0 == subscription })
    else { return fail("Already unsubscribed: \(request.text)", session) }
    session.subscriptions.remove(at: place)
    acknowledge("unsubscribe", subscription, session)
  }

  /// Repeats the subscription with the defaults of what it left out.
  private func acknowledge(
    _ method: StaticString, _ subscription: HyperliquidSubscription, _ session: HyperliquidSession
  ) {
    session.send { out in
      out.append(#"{"channel":"subscriptionResponse","data":{"method":""#)
      out.append(method)
      out.append(#"","subscription":{"type":""#)
      out.append(subscription.channel.rawValue)
      out.append(#"","coin":"#)
      out.append(json: name(subscription.instrument))
      if subscription.channel == .book {
        out.append(#","nSigFigs":null,"mantissa":null,"fast":"#)
        out.append(subscription.isFast ? "true" : "false")
      }
      out.append("}}}")
    }
  }

  private func answer(_ request: HyperliquidRequest, _ session: HyperliquidSession) {
    session.send { out in
      out.append(#"{"channel":"post","data":{"id":"#)
      out.append(integer: request.id)
      var data = ByteBuffer(capacity: 4 << 10)
      if appendInfo(request, to: &data) {
        out.append(#","response":{"type":"info","payload":{"type":""#)
        out.append(request.type)
        out.append(#"","data":"#)
        out.append(data.bytes)
        out.append("}}}}")
      } else {
        out.append(#","response":{"type":"error","payload":"422 Unprocessable Entity: unknown request"}}}"#)
      }
    }
  }

  /// The same questions as over the socket, each answered by what it asks for alone.
  override func respond(path: String, body: RawSpan) -> SimulatedResponse {
    guard path == "/info" else { return SimulatedResponse(status: 404, body: "null") }
    var out = ByteBuffer(capacity: 4 << 10)
    let request = try? HyperliquidRequest(info: body)
    if let request, request.type == "candleSnapshot" { return candles(request) }
    guard let request, appendInfo(request, to: &out) else {
      return SimulatedResponse(status: 422, body: "Failed to deserialize the JSON body into the target type")
    }
    return SimulatedResponse(body: out.description)
  }

  /// The answer to a question; false, and nothing, if it is not known.
  private func appendInfo(_ request: HyperliquidRequest, to out: inout ByteBuffer) -> Bool {
    switch request.type {
    case "meta": appendPerpetuals(to: &out)
    case "spotMeta": appendSpots(to: &out)
    case "metaAndAssetCtxs", "spotMetaAndAssetCtxs":
      let isSpot = request.type.hasPrefix("spot")
      out.append("[")
      if isSpot { appendSpots(to: &out) } else { appendPerpetuals(to: &out) }
      appendContexts(isSpot: isSpot, to: &out)
      out.append("]")
    // The venue's own perpetuals are the first, and nobody has deployed others.
    case "perpDexs": out.append("[null]")
    case "allMids":
      out.append("{")
      for (index, state) in market.instruments.enumerated() {
        if index > 0 { out.append(",") }
        out.append(json: state.instrument.venueSymbol)
        out.append(":")
        appendMiddle(state, to: &out)
      }
      out.append("}")
    case "l2Book":
      guard let index = index(of: request.coin) else { return false }
      appendBookData(HyperliquidSubscription(channel: .book, instrument: index), to: &out)
    default: return false
    }
    return true
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    if change.isTopChanged { changed[change.instrument] = true }
    trades[change.instrument] += change.trades
  }

  func name(_ index: Int) -> String { market.instruments[index].instrument.venueSymbol }
}
