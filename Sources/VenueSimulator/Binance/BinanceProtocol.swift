import Bytes
import MarketData

/// A client of the simulated Binance.
final class BinanceSession: SimulatedSession {
  /// Stream names as subscribed, those that carry nothing included.
  var names: [String] = []
  /// Whether events come wrapped with their stream's name.
  var isCombined: Bool
  /// Whether times are in microseconds.
  let isMicroseconds: Bool
  /// The futures route that it came by; nil on spot.
  let route: BinanceRoute?
  var nextPing: Timestamp
  /// When the earliest unanswered ping was sent, and the payloads that still count as its answer.
  var unanswered: Timestamp?
  var pings: [[UInt8]] = []

  init(id: Int, faults: FaultInjector, isCombined: Bool, isMicroseconds: Bool, route: BinanceRoute?) {
    self.isCombined = isCombined
    self.isMicroseconds = isMicroseconds
    self.route = route
    nextPing = faults.now + (route == nil ? BinanceProtocol.pingInterval : BinanceProtocol.futuresPingInterval)
    super.init(id: id, faults: faults)
  }
}

/// Where a stream of futures is to be had: a name on the other route is acknowledged and stays silent.
enum BinanceRoute: String {
  case publicRoute = "/public"
  case market = "/market"
}

/// Binance's market streams: `/ws` raw and `/stream` combined, live SUBSCRIBE and its kin; pings every 20 s, five client
/// messages a second, 1,024 streams. REST in `BinanceREST`. USD-M futures by the routes `/public` and `/market`, with pings every 3
/// minutes and ten messages a second.
///
/// Numbers are strings, on spot with eight digits. A name that is no stream is acknowledged and stays silent.
final class BinanceProtocol: VenueProtocol {
  static let pingInterval = 20 * Microseconds.second
  static let futuresPingInterval = 180 * Microseconds.second
  /// Without a pong for it, the connection is closed.
  static let pongLimit = 60 * Microseconds.second
  static let futuresPongLimit = 10 * Microseconds.minute
  /// Client messages a second: requests, pings and pongs alike.
  static let messageLimit = 5
  static let futuresMessageLimit = 10
  static let streamLimit = 1_024

  private var streams: [[BinanceStream: Subscribers<BinanceSession>]]
  private var fast: [DepthBatch]
  private var slow: [DepthBatch]
  private var ticks = 0
  private var rest: BinanceREST

  /// Changes gathered for diff depth, and the update ids they cover.
  private struct DepthBatch {
    var levels = LevelBatch()
    /// The id after the last one that was sent.
    var first: Int64
  }

  init(market: SimulatedMarket, faults: FaultInjector) {
    streams = Array(repeating: [:], count: market.instruments.count)
    fast = market.instruments.map { DepthBatch(first: $0.updateID + 1) }
    slow = fast
    rest = BinanceREST(market: market)
    super.init(name: "binance", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws" }

  override class var special: Set<Fault.Kind> { [.plannedShutdown, .staleSnapshot] }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    let isMicroseconds = query.contains { $0.name == "timeUnit" && $0.value.lowercased() == "microsecond" }
    var names: [String] = []
    let isCombined: Bool
    let route = [BinanceRoute.publicRoute, .market].first { path.hasPrefix($0.rawValue + "/") }
    let local = route.map { String(path.dropFirst($0.rawValue.count)) } ?? path
    if local == "/stream" || local == "/stream/" {
      isCombined = true
      if let list = query.first(where: { $0.name == "streams" })?.value {
        names = list.split(separator: "/").map(String.init)
      }
    } else if local == "/ws" || local.hasPrefix("/ws/") {
      isCombined = false
      names = local.dropFirst(3).split(separator: "/").map(String.init)
    } else {
      throw SimulatedRefusal(status: 404, reason: "Not Found")
    }
    guard names.count <= Self.streamLimit else { throw SimulatedRefusal(status: 400, reason: "Bad Request") }
    let session = BinanceSession(
      id: id, faults: faults, isCombined: isCombined, isMicroseconds: isMicroseconds, route: route)
    for name in names { add(name, session) }
    return session
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BinanceSession else { return }
    for index in streams.indices {
      for stream in Array(streams[index].keys) { streams[index][stream]!.remove(session) }
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    guard let session = session as? BinanceSession else { return }
    session.send { out in
      if session.isCombined { out.append(#"{"stream":"!serverShutdown","data":"#) }
      out.append(#"{"e":"serverShutdown","E":"#)
      out.append(integer: session.isMicroseconds ? faults.now.rawValue : faults.now.rawValue / 1_000)
      out.append(session.isCombined ? "}}" : "}")
    }
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

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BinanceSession, !isFlooded(session) else { return }
    var request = BinanceRequest()
    do throws(BinanceRequest.Refusal) {
      try request.read(text)
      try answer(request, session)
    } catch {
      session.send { out in
        out.append(#"{"error":{"code":"#)
        out.append(integer: Int64(error.code))
        out.append(#","msg":"#)
        out.append(json: error.message)
        out.append(#"},"id":"#)
        out.append(request.id)
        out.append("}")
      }
      if error.code == 4 { session.close(1008, "Invalid request") }
    }
  }

  private func answer(_ request: BinanceRequest, _ session: BinanceSession) throws(BinanceRequest.Refusal) {
    var result = "null"
    switch request.method {
    case "SUBSCRIBE", "UNSUBSCRIBE":
      guard !request.parameters.isEmpty else {
        throw .init(code: 2, message: "Invalid request: params must be a non-empty array of stream names")
      }
      if request.method == "SUBSCRIBE" {
        let new = Set(request.parameters).subtracting(session.names)
        guard session.names.count + new.count <= Self.streamLimit else {
          throw .init(code: 4, message: "Too many subscriptions")
        }
        for name in request.parameters { add(name, session) }
      } else {
        for name in request.parameters { remove(name, session) }
      }
    case "LIST_SUBSCRIPTIONS":
      var out = ByteBuffer()
      out.append("[")
      for (index, name) in session.names.enumerated() {
        if index > 0 { out.append(",") }
        out.append(json: name)
      }
      out.append("]")
      result = out.description
    case "SET_PROPERTY", "GET_PROPERTY":
      guard let property = request.parameters.first, property == "combined" else {
        throw .init(code: 0, message: "Unknown property")
      }
      if request.method == "GET_PROPERTY" {
        result = session.isCombined ? "true" : "false"
      } else {
        guard let flag = request.flag else {
          throw .init(code: 1, message: "Invalid value type: expected Boolean")
        }
        session.isCombined = flag
      }
    default:
      throw .init(
        code: 2,
        message: "Invalid request: unknown variant `\(request.method)`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, "
          + "`LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY`")
    }
    session.send { out in
      out.append(#"{"result":"#)
      out.append(result)
      out.append(#","id":"#)
      out.append(request.id)
      out.append("}")
    }
  }

  private func add(_ name: String, _ session: BinanceSession) {
    guard !session.names.contains(name) else { return }
    session.names.append(name)
    guard let (index, stream) = stream(name, session), !isRefused(index) else { return }
    // The first to come begins the range of update ids at the next change.
    if case .depth(let isFast) = stream, streams[index][stream]?.isEmpty ?? true {
      let batch = DepthBatch(first: market.instruments[index].updateID + 1)
      if isFast { fast[index] = batch } else { slow[index] = batch }
    }
    streams[index][stream, default: Subscribers()].insert(session)
  }

  private func remove(_ name: String, _ session: BinanceSession) {
    session.names.removeAll { $0 == name }
    if let (index, stream) = stream(name, session) { streams[index][stream]?.remove(session) }
  }

  /// `btcusdt@depth@100ms`; the symbol must be in lower case, and on futures the stream on the session's route.
  private func stream(_ name: String, _ session: BinanceSession) -> (Int, BinanceStream)? {
    let parts = name.split(separator: "@", maxSplits: 1)
    guard parts.count == 2, let stream = BinanceStream(suffix: parts[1]),
      let index = market.instruments.firstIndex(where: {
        $0.instrument.venueSymbol.lowercased() == parts[0] && ($0.instrument.kind == .spot) == (session.route == nil)
      })
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
    return (index, stream)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if hasSubscribers(index, .depth(isFast: true)) { fast[index].levels.add(change) }
    if hasSubscribers(index, .depth(isFast: false)) { slow[index].levels.add(change) }
    let state = market.instruments[index]
    for trade in change.trades {
      send(.trade, .trade, index) { BinanceEvents.trade(trade, state.instrument, $1, to: &$0) }
      send(.aggregateTrade, .trade, index) { BinanceEvents.aggregateTrade(trade, state.instrument, $1, to: &$0) }
    }
    if change.isTopChanged {
      send(.bookTicker, .quote, index) { out, _ in BinanceEvents.bookTicker(state, change.time, to: &out) }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices {
      if ticks % 2 == 0 {
        flush(&fast[index], .depth(isFast: true), index, now)
        sendPartial(index, isFast: true)
      }
      if ticks % 10 == 0 { sendFuturesDepth(index, now) }
      if ticks % 20 == 0 {
        flush(&slow[index], .depth(isFast: false), index, now)
        sendPartial(index, isFast: false)
        let state = market.instruments[index]
        send(.ticker, .ticker, index) { BinanceEvents.ticker(state, now, $1, to: &$0) }
        send(.miniTicker, .ticker, index) { BinanceEvents.miniTicker(state, now, $1, to: &$0) }
      }
    }
    for case let session as BinanceSession in sessions { keepAlive(session, now) }
  }

  private func keepAlive(_ session: BinanceSession, _ now: Timestamp) {
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

  private func flush(_ batch: inout DepthBatch, _ stream: BinanceStream, _ index: Int, _ now: Timestamp) {
    guard !batch.levels.isEmpty else { return }
    let state = market.instruments[index]
    let (first, levels) = (batch.first, batch.levels)
    send(stream, .book(isVisible: true), index) { out, isMicroseconds in
      BinanceEvents.depthUpdate(levels, first, state, now, isMicroseconds, to: &out)
    }
    batch.levels.removeAll()
    batch.first = state.updateID + 1
  }

  private func sendPartial(_ index: Int, isFast: Bool) {
    let state = market.instruments[index]
    for levels in [5, 10, 20] {
      send(.partialDepth(levels: levels, isFast: isFast), .bookSnapshot, index) { out, _ in
        BinanceEvents.book(state.book, state.updateID, state.instrument, levels, to: &out)
      }
    }
  }

  private func sendFuturesDepth(_ index: Int, _ now: Timestamp) {
    let state = market.instruments[index]
    for levels in [5, 10, 20] where hasSubscribers(index, .futuresDepth(levels: levels)) {
      var batch = LevelBatch()
      batch.add(bids: state.book.top(.bid, levels), asks: state.book.top(.ask, levels))
      send(.futuresDepth(levels: levels), .quote, index) {
        BinanceEvents.depthUpdate(batch, state.updateID, state, now, $1, to: &$0)
      }
    }
  }

  private func hasSubscribers(_ index: Int, _ stream: BinanceStream) -> Bool {
    streams[index][stream].map { !$0.isEmpty } ?? false
  }

  /// Sends an event to all subscribers, encoded once for each of the forms that they have asked for.
  private func send(
    _ stream: BinanceStream, _ kind: SimulatedFrameKind, _ index: Int,
    _ body: (inout ByteBuffer, _ isMicroseconds: Bool) -> Void
  ) {
    guard let subscribers = streams[index][stream], !subscribers.isEmpty else { return }
    var forms: [SharedBytes?] = [nil, nil, nil, nil]
    for session in subscribers.sessions {
      let form = (session.isCombined ? 2 : 0) + (session.isMicroseconds ? 1 : 0)
      let payload =
        forms[form]
        ?? SharedBytes.encoding { out in
          if session.isCombined {
            out.append(#"{"stream":""#)
            out.append(market.instruments[index].instrument.venueSymbol.lowercased())
            out.append("@")
            out.append(stream.suffix)
            out.append(#"","data":"#)
          }
          body(&out, session.isMicroseconds)
          if session.isCombined { out.append("}") }
        }
      forms[form] = payload
      session.send(payload, kind, instrument: index)
    }
  }

  override func keepSnapshots(of instrument: Int?) {
    for index in market.instruments.indices where instrument ?? index == index {
      rest.kept[index] = market.truth(index, isSnapshot: true)
    }
  }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    rest.respond(path: path, query: query, now: faults.now, faults: faults)
  }
}
