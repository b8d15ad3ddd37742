import Bytes
import MarketData

/// A client of the simulated Kraken Futures.
final class KrakenFuturesSession: SimulatedSession {
  var lastPing = Timestamp.distantPast
}

enum KrakenFuturesChannel: String { case book, trade, ticker, heartbeat }

/// Kraken Futures' WebSocket v1: `book` with one level a message, `trade`, `ticker`, `heartbeat`; REST `instruments`,
/// `tickers` and charts.
///
/// Each product of a request is answered by itself. Numbers are bare, as Java prints them. Names are taken in small
/// letters, too, and answered in capitals.
final class KrakenFuturesProtocol: DeskProtocol<KrakenFuturesSession, KrakenFuturesChannel> {
  /// Requests a second of a connection.
  static let requestLimit = 100
  /// A connection without a subscription, a message or a ping from its client is cut after this long.
  static let idleLimit = 60 * Microseconds.second

  /// Of candles.
  var candleBudget = RequestBudget(40, perSecond: 20)

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "kraken-futures", spelling: .float, paths: ["/ws/v1"])
  }

  // MARK: - Connections

  override func welcome(_ session: KrakenFuturesSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    session.say(#"{"event":"info","version":1}"#)
  }

  override func receivedPing(from session: SimulatedSession) {
    (session as? KrakenFuturesSession)?.lastPing = now
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    if ticks % 20 == 0 { send(.ticker, index, .ticker, ticker(index)) }
  }

  override func tend(_ session: KrakenFuturesSession, _ now: Timestamp) {
    if ticks % 20 == 0, desk.has(session, Stream(.heartbeat, -1)) {
      session.send(.heartbeat, #"{"feed":"heartbeat","time":\#(ms: now)}"#)
    }
    if isIdle(session, since: max(session.lastHeard, session.lastPing), Self.idleLimit) { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: KrakenFuturesSession) {
    guard !session.exceeds(Self.requestLimit) else {
      session.say(#"{"event":"alert","message":"Rate limit exceeded"}"#)
      return session.close(1008, "too many requests")
    }
    guard let request = try? ClientMessage(text) else {
      return session.say(#"{"event":"alert","message":"Bad request"}"#)
    }
    let (event, feed) = (request["event"].text, request["feed"].text)
    guard event == "subscribe" || event == "unsubscribe" else {
      return session.say(#"{"event":"alert","message":"Bad request"}"#)
    }
    guard let channel = KrakenFuturesChannel(rawValue: feed) else {
      return session.say(#"{"event":"error","message":"Invalid feed"}"#)
    }
    guard channel != .heartbeat else {
      session.say(#"{"event":"\#(event)d","feed":"heartbeat"}"#)
      if event == "subscribe" { desk.add(session, Stream(channel, -1)) } else { leave(Stream(channel, -1), session) }
      return
    }
    for product in request["product_ids"].texts {
      carryOut(
        event, channel, product.hasPrefix("p") || product.hasPrefix("f") ? product.uppercased() : product, session)
    }
  }

  private func carryOut(
    _ event: String, _ channel: KrakenFuturesChannel, _ product: String, _ session: KrakenFuturesSession
  ) {
    guard let index = listed(product, on: channel) else {
      // Documents have both answers: here the one without a name for a part of what is refused, and the other for the
      // rest and for what there is not.
      let isNamed = index(of: product).map { $0 % 2 == 0 } ?? true
      return session.say(
        isNamed
          ? #"""
          {"event":"subscribed_failed","feed":"\#(channel.rawValue)","product_ids":[\#(json: product)],\#
          "message":"Invalid product id"}
          """#
          : #"{"event":"error","message":"Invalid product id"}"#)
    }
    session.say(#"{"event":"\#(event)d","feed":"\#(channel.rawValue)","product_ids":[\#(json: product)]}"#)
    let stream = Stream(channel, index)
    if event == "unsubscribe" {
      leave(stream, session)
    } else if desk.has(session, stream) {
      begin(stream, session)
    } else {
      join(stream, session)
    }
  }

  override func begin(_ stream: Stream, _ session: KrakenFuturesSession) {
    let index = stream.instrument
    switch stream.channel {
    case .book: session.send(.bookSnapshot, instrument: index, snapshot(index))
    case .trade: session.send(.trade, instrument: index, trades(index))
    case .ticker: session.send(.ticker, instrument: index, ticker(index))
    case .heartbeat: break
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for trade in change.trades { send(.trade, index, .trade, self.trade(trade, index)) }
    // Removed levels first, then new ones: so no message leaves the book crossed, as in the recorded session.
    let changes = BookSides(bids: change.bids, asks: change.asks).labelled("buy" as StaticString, "sell")
    let levels = changes.filter { $0.level.size == 0 } + changes.filter { $0.level.size != 0 }
    for (position, item) in levels.enumerated() {
      let isLast = position == levels.count - 1
      send(
        .book, index, isLast ? .book(isVisible: true) : .bookPart,
        self.change(item.level, item.side, change.firstUpdateID + Int64(position), index))
    }
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
