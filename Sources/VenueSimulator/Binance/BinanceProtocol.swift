import Bytes
import MarketData

/// A client of the simulated Binance.
final class BinanceSession: SimulatedSession {
  /// Stream names as subscribed, those that carry nothing included.
  var names: [String] = []
  /// Whether events come wrapped with their stream's name.
  var isCombined = false
  /// Whether times are in microseconds.
  var isMicroseconds = false
  /// The futures route that it came by; nil on spot.
  var route: BinanceRoute?
  /// Spot's, unless it turns out to be of futures.
  lazy var nextPing = opened + BinanceProtocol.pingInterval
  /// When the earliest unanswered ping was sent, and the payloads that still count as its answer.
  var unanswered: Timestamp?
  var pings: [[UInt8]] = []
}

/// The route that has a stream of futures: a name on the other route is acknowledged and stays silent.
enum BinanceRoute: String {
  case publicRoute = "/public"
  case market = "/market"
}

/// Binance's market streams: `/ws` raw and `/stream` combined, live SUBSCRIBE and its kin; pings every 20 s, five
/// client messages a second, 1,024 streams. REST in `BinanceREST`. USD-M futures by the routes `/public` and `/market`,
/// with pings every 3 minutes and ten messages a second.
///
/// Numbers are strings, on spot with eight digits. A name that is no stream is acknowledged and stays silent.
final class BinanceProtocol: DeskProtocol<BinanceSession, BinanceStream> {
  static let pingInterval = 20 * Microseconds.second
  static let futuresPingInterval = 180 * Microseconds.second
  /// Without a pong for it, the connection is closed.
  static let pongLimit = 60 * Microseconds.second
  static let futuresPongLimit = 10 * Microseconds.minute
  /// Client messages a second: requests, pings and pongs alike.
  static let messageLimit = 5
  static let futuresMessageLimit = 10
  static let streamLimit = 1_024

  private lazy var fast = market.instruments.map { DepthBatch(first: $0.updateID + 1) }
  private lazy var slow = fast
  /// Request weight used by REST in the minute under way, and that of futures.
  var weight = RequestCount(6_000, per: Microseconds.minute)
  var futuresWeight = RequestCount(2_400, per: Microseconds.minute)

  /// Changes gathered for diff depth, and the update ids they cover.
  private struct DepthBatch {
    var levels = LevelBatch()
    /// The id after the last one that was sent.
    var first: Int64
  }

  /// Why a request is refused, with the code that Binance has for it.
  private struct RequestRefusal: Error {
    let code: Int
    let message: String
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "binance", paths: ["/ws"], special: [.plannedShutdown, .staleSnapshot, .trades])
  }
  /// Of any form: `welcome` looks at them.
  override class func isPath(_ path: String) -> Bool { true }

  // MARK: - Connections

  override func welcome(_ session: BinanceSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    let route = [BinanceRoute.publicRoute, .market].first { request.path.hasPrefix($0.rawValue + "/") }
    let local = request.path.dropFirst(route?.rawValue.count ?? 0)
    session.isCombined = local == "/stream" || local == "/stream/"
    guard session.isCombined || local == "/ws" || local.hasPrefix("/ws/") else {
      throw SimulatedRefusal(status: 404, reason: "Not Found")
    }
    let names = (session.isCombined ? request["streams"] ?? "" : String(local.dropFirst(3))).split(separator: "/")
    guard names.count <= Self.streamLimit else { throw SimulatedRefusal(status: 400, reason: "Bad Request") }
    session.isMicroseconds = request["timeUnit"]?.lowercased() == "microsecond"
    session.route = route
    if route != nil { session.nextPing = now + Self.futuresPingInterval }
    for name in names { add(String(name), session) }
  }

  override func announceShutdown(to session: SimulatedSession) {
    guard let session = session as? BinanceSession else { return }
    let time = now.rawValue / (session.isMicroseconds ? 1 : 1_000)
    let event: JSONText = #"{"e":"serverShutdown","E":\#(time)}"#
    session.say(session.isCombined ? #"{"stream":"!serverShutdown","data":\#(event)}"# : event)
  }

  // MARK: - Requests

  /// True if the message is one too many; the connection is then closed.
  private func isFlooded(_ session: BinanceSession) -> Bool {
    guard session.exceeds(session.route == nil ? Self.messageLimit : Self.futuresMessageLimit) else { return false }
    session.close(1008, "Too many requests")
    return true
  }

  override func receivedPing(from session: SimulatedSession) {
    if let session = session as? BinanceSession { _ = isFlooded(session) }
  }

  override func receivedPong(_ payload: UnsafeRawBufferPointer, from session: SimulatedSession) {
    guard let session = session as? BinanceSession, !isFlooded(session) else { return }
    // Unsolicited pongs are allowed, but keep nothing alive.
    guard session.pings.contains(where: { $0.elementsEqual(payload) }) else { return }
    session.pings.removeAll()
    session.unanswered = nil
  }

  override func receive(_ text: RawSpan, _ session: BinanceSession) {
    guard !isFlooded(session) else { return }
    var id = "null"
    do {
      let request: ClientMessage
      do throws(JSONError) { request = try ClientMessage(text) } catch {
        throw RequestRefusal(code: 3, message: "Invalid JSON: cannot parse at byte \(error.offset)")
      }
      // As it was sent: a number, a text with its quotes, or `null`.
      if request["id"].isThere, request["id"].raw.utf8.count <= 38 { id = request["id"].raw }
      session.say(#"{"result":\#(try answer(request, session)),"id":\#(id)}"#)
    } catch {
      guard let refusal = error as? RequestRefusal else { return }
      session.say(#"{"error":{"code":\#(refusal.code),"msg":\#(json: refusal.message)},"id":\#(id)}"#)
      if refusal.code == 4 { session.close(1008, "Invalid request") }
    }
  }

  private func answer(_ request: ClientMessage, _ session: BinanceSession) throws(RequestRefusal) -> JSONText {
    let parameters = request["params"]
    let method = request["method"].text
    switch method {
    case "SUBSCRIBE", "UNSUBSCRIBE":
      let names = parameters.texts
      guard !names.isEmpty else {
        throw RequestRefusal(code: 2, message: "Invalid request: params must be a non-empty array of stream names")
      }
      if method == "SUBSCRIBE" {
        guard session.names.count + Set(names).subtracting(session.names).count <= Self.streamLimit else {
          throw RequestRefusal(code: 4, message: "Too many subscriptions")
        }
        for name in names { add(name, session) }
      } else {
        for name in names { remove(name, session) }
      }
      return "null"
    case "LIST_SUBSCRIPTIONS": return "[\(names: session.names)]"
    case "SET_PROPERTY", "GET_PROPERTY":
      guard parameters.texts.first == "combined" else { throw RequestRefusal(code: 0, message: "Unknown property") }
      if method == "GET_PROPERTY" { return session.isCombined ? "true" : "false" }
      guard let flag = parameters.list.lazy.compactMap(\.flag).first else {
        throw RequestRefusal(code: 1, message: "Invalid value type: expected Boolean")
      }
      session.isCombined = flag
      return "null"
    default:
      throw RequestRefusal(
        code: 2,
        message: "Invalid request: unknown variant `\(method)`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, "
          + "`LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY`")
    }
  }

  private func add(_ name: String, _ session: BinanceSession) {
    guard !session.names.contains(name) else { return }
    session.names.append(name)
    guard let stream = stream(name, session), !isRefused(stream.instrument, stream.channel) else { return }
    join(stream, session)
  }

  /// The first to come begins the range of update ids at the next change.
  override func begin(_ stream: Stream, _ session: BinanceSession) {
    guard case .depth(let isFast) = stream.channel, desk.isEmpty(stream.channel, stream.instrument) else { return }
    let batch = DepthBatch(first: state(stream.instrument).updateID + 1)
    if isFast { fast[stream.instrument] = batch } else { slow[stream.instrument] = batch }
  }

  private func remove(_ name: String, _ session: BinanceSession) {
    session.names.removeAll { $0 == name }
    if let stream = stream(name, session) { leave(stream, session) }
  }

  /// `btcusdt@depth@100ms`; the symbol must be in lower case, and on futures the stream on the session's route.
  private func stream(_ name: String, _ session: BinanceSession) -> Stream? {
    let parts = name.split(separator: "@", maxSplits: 1)
    guard parts.count == 2, let stream = BinanceStream(suffix: parts[1]), parts[0] == parts[0].lowercased(),
      let index = index(of: parts[0].uppercased(), isSpot: session.route == nil)
    else { return nil }
    if let route = session.route {
      switch stream {
      case .trade, .bookTicker, .depth, .futuresDepth: guard route == .publicRoute else { return nil }
      case .aggregateTrade, .ticker, .miniTicker: guard route == .market else { return nil }
      // Its other speeds are not simulated.
      case .partialDepth: return nil
      }
    } else if case .futuresDepth = stream {
      return nil
    }
    return Stream(stream, index)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !desk.isEmpty(.depth(isFast: true), index) { fast[index].levels.add(change) }
    if !desk.isEmpty(.depth(isFast: false), index) { slow[index].levels.add(change) }
    for trade in change.trades {
      send(.trade, .trade, index) { $0.trade(trade) }
      send(.aggregateTrade, .trade, index) { $0.aggregateTrade(trade) }
    }
    if change.isTopChanged { send(.bookTicker, .quote, index) { $0.bookTicker(change.time) } }
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    if ticks % 2 == 0 {
      flush(&fast[index], .depth(isFast: true), index)
      sendPartial(index, isFast: true)
    }
    if ticks % 10 == 0 { sendFuturesDepth(index) }
    if ticks % 20 == 0 {
      flush(&slow[index], .depth(isFast: false), index)
      sendPartial(index, isFast: false)
      send(.ticker, .ticker, index) { $0.ticker() }
      send(.miniTicker, .ticker, index) { $0.miniTicker() }
    }
  }

  override func tend(_ session: BinanceSession, _ now: Timestamp) {
    let limit = session.route == nil ? Self.pongLimit : Self.futuresPongLimit
    if let unanswered = session.unanswered, now - unanswered >= limit {
      return session.close(1008, "Pong timeout")
    }
    guard now >= session.nextPing else { return }
    session.nextPing = now + (session.route == nil ? Self.pingInterval : Self.futuresPingInterval)
    let payload = Array(String(now.rawValue / 1_000).utf8)
    session.pings.append(payload)
    if session.unanswered == nil { session.unanswered = now }
    session.ping(payload)
  }

  private func flush(_ batch: inout DepthBatch, _ stream: BinanceStream, _ index: Int) {
    guard let sides = batch.levels.take() else { return }
    let first = batch.first
    batch.first = state(index).updateID + 1
    send(stream, .book(isVisible: true), index) { $0.depthUpdate(sides, first) }
  }

  private func sendPartial(_ index: Int, isFast: Bool) {
    let state = state(index)
    for levels in [5, 10, 20] {
      send(.partialDepth(levels: levels, isFast: isFast), .bookSnapshot, index) {
        $0.book(state.book, state.updateID, levels)
      }
    }
  }

  private func sendFuturesDepth(_ index: Int) {
    let state = state(index)
    for levels in [5, 10, 20] where !desk.isEmpty(.futuresDepth(levels: levels), index) {
      let sides = state.book.top(levels)
      send(.futuresDepth(levels: levels), .quote, index) { $0.depthUpdate(sides, state.updateID) }
    }
  }

  /// Sends an event to all subscribers, encoded once for each of the forms that they have asked for.
  private func send(
    _ stream: BinanceStream, _ kind: SimulatedFrameKind, _ index: Int, _ event: (BinanceEvents) -> JSONText
  ) {
    var forms: [SharedBytes?] = [nil, nil, nil, nil]
    for case let session as BinanceSession in desk.sessions(of: stream, index) {
      let form = (session.isCombined ? 2 : 0) + (session.isMicroseconds ? 1 : 0)
      if forms[form] == nil {
        let text = event(BinanceEvents(state: state(index), now: now, isMicroseconds: session.isMicroseconds))
        let name = state(index).instrument.venueSymbol.lowercased()
        forms[form] =
          (session.isCombined ? #"{"stream":"\#(name)@\#(stream.suffix)","data":\#(text)}"# : text).shared
      }
      session.send(forms[form]!, kind, instrument: index)
    }
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
