import Bytes
import MarketData

/// A client of the simulated Kraken.
final class KrakenSession: SimulatedSession {
  /// Heartbeats begin with the first subscription.
  var isSubscribed = false
}

enum KrakenChannel: Hashable {
  case book(depth: Int)
  case trade
  case ticker
  /// `ticker` with each change of the best offers.
  case quoteTicker
  case instrument
}

/// Kraken's Spot WebSocket v2: `book`, `trade`, `ticker`, `instrument`, ping, heartbeat, status; REST `AssetPairs`.
///
/// Numbers are bare, with all digits of the pair's precision. A book subscription of depth n is sent what changes among
/// the n best levels; a level that falls out is not removed by a message, the client truncates.
final class KrakenProtocol: DeskProtocol<KrakenSession, KrakenChannel> {
  static let depths = [10, 25, 100, 500, 1000]
  /// Requests a second; Kraken publishes no number.
  static let requestLimit = 100
  /// Silence of a client that has subscribed to nothing, after which it is closed.
  static let idleLimit = 60 * Microseconds.second

  /// The worst price that each depth shows, by instrument × depths; nil if the book is not that deep.
  private var bidEdges: [Int64?]
  private var askEdges: [Int64?]
  var checksums: [UInt32] = []
  private var scratch = ByteBuffer(capacity: 1024)
  /// Larger than Int64, as Kraken's are.
  private var connectionID: UInt64 = 9_471_984_923_908_980_762
  /// Of candles.
  var candleBudget = RequestBudget(15, perSecond: 1)

  override init(market: SimulatedMarket, faults: FaultInjector) {
    bidEdges = Array(repeating: nil, count: market.instruments.count * Self.depths.count)
    askEdges = bidEdges
    super.init(market: market, faults: faults)
    for index in indices {
      checksums.append(SimulatedKrakenChecksum.of(state(index).book, scratch: &scratch))
      moveEdges(index)
    }
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(
      name: "kraken", spelling: .bare, paths: ["/v2", "/v2/"], special: [.checksum, .plannedShutdown, .trades])
  }

  override func welcome(_ session: KrakenSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    connectionID &+= 1
    sendStatus("online", to: session)
  }

  private func sendStatus(_ system: StaticString, to session: SimulatedSession) {
    session.say(
      #"""
      {"channel":"status","type":"update","data":[{"version":"2.0.10","system":"\#(system)","api_version":"v2",\#
      "connection_id":\#(connectionID)}]}
      """#)
  }

  override func announceShutdown(to session: SimulatedSession) { sendStatus("maintenance", to: session) }

  override func tend(_ session: KrakenSession, _ now: Timestamp) {
    if session.isSubscribed {
      if now - session.lastSent >= Microseconds.second { session.send(.heartbeat, #"{"channel":"heartbeat"}"#) }
    } else if now - session.lastHeard >= Self.idleLimit {
      session.close(1000, "Inactivity timeout")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: KrakenSession) {
    guard let request = try? ClientMessage(text) else { return refuse("Malformed request", nil, session) }
    if session.exceeds(Self.requestLimit) { return refuse("Exceeded msg rate", request, session) }
    let method = request["method"].text
    switch method {
    case "ping": session.say(#"{"method":"pong"\#(Self.id(request))\#(times)}"#)
    case "subscribe", "unsubscribe": subscribe(request, session, adds: method == "subscribe")
    default: refuse("Unsupported method \(method)", request, session)
    }
  }

  private func subscribe(_ request: ClientMessage, _ session: KrakenSession, adds: Bool) {
    let parameters = request["params"]
    let (name, hasSnapshot) = (parameters["channel"].text, parameters["snapshot"].flag ?? true)
    switch name {
    case "instrument":
      if adds {
        desk.add(session, Stream(.instrument, -1))
        session.isSubscribed = true
      } else if !leave(Stream(.instrument, -1), session) {
        return refuse("Subscription Not Found", request, session)
      }
      acknowledge(request, symbol: nil, session)
      if adds, hasSnapshot { session.say(instruments) }
      return
    case "book", "trade", "ticker": break
    default: return refuse("Channel \(name) is not supported", request, session)
    }
    let symbols = parameters["symbol"].texts
    guard !symbols.isEmpty else { return refuse("Symbol(s) not found", request, session) }
    let depth = Int(parameters["depth"].integer ?? 10)
    guard Self.depths.contains(depth) else {
      return refuse("Invalid depth \(depth), expected one of 10, 25, 100, 500, 1000", request, session)
    }
    let channel: KrakenChannel =
      name == "book"
      ? .book(depth: depth) : name == "trade" ? .trade : Self.isQuoteTriggered(request) ? .quoteTicker : .ticker
    for symbol in symbols {
      guard let index = listed(symbol, on: channel) else {
        refuse("Currency pair not supported \(symbol)", request, symbol: symbol, session)
        continue
      }
      if adds {
        session.isSubscribed = true
        acknowledge(request, symbol: symbol, session)
        let stream = Stream(channel, index)
        desk.add(session, stream)
        if hasSnapshot { begin(stream, session) }
      } else if remove(channel, index, session) {
        acknowledge(request, symbol: symbol, session)
      } else {
        refuse("Subscription Not Found", request, symbol: symbol, session)
      }
    }
  }

  override func begin(_ stream: Stream, _ session: KrakenSession) {
    let (index, state) = (stream.instrument, state(stream.instrument))
    switch stream.channel {
    case .book(let depth):
      session.send(.bookSnapshot, instrument: index, book("snapshot", state.book.top(depth), index))
    case .trade: session.send(.trade, instrument: index, trades(state.recentTrades, "snapshot", index))
    default: session.send(.ticker, instrument: index, ticker(index, "snapshot"))
    }
  }

  /// Of either kind of ticker, whichever is named.
  private func remove(_ channel: KrakenChannel, _ index: Int, _ session: KrakenSession) -> Bool {
    guard channel == .ticker || channel == .quoteTicker else { return leave(Stream(channel, index), session) }
    let byTrade = leave(Stream(.ticker, index), session)
    return leave(Stream(.quoteTicker, index), session) || byTrade
  }

  // MARK: - Answers

  private static func isQuoteTriggered(_ request: ClientMessage) -> Bool {
    request["params"]["event_trigger"].text == "bbo"
  }

  private static func id(_ request: ClientMessage?) -> JSONText {
    guard let id = request?["req_id"], id.isNumber else { return "" }
    return #","req_id":\#(id.raw)"#
  }

  private var times: JSONText { #","time_in":"\#(rfc3339: now)","time_out":"\#(rfc3339: now + 38)""# }

  private static func field(_ name: StaticString, _ value: String?) -> JSONText {
    value.map { #","\#(name)":\#(json: $0)"# } ?? ""
  }

  private func acknowledge(_ request: ClientMessage, symbol: String?, _ session: KrakenSession) {
    let parameters = request["params"]
    let (method, channel) = (request["method"].text, parameters["channel"].text)
    let details: JSONText =
      switch channel {
      case "book": #","depth":\#(parameters["depth"].integer ?? 10)"#
      case "ticker": #","event_trigger":"\#(Self.isQuoteTriggered(request) ? "bbo" : "trades")""#
      default: ""
      }
    let snapshot: JSONText =
      method == "subscribe" ? #","snapshot":\#(parameters["snapshot"].flag ?? true ? "true" : "false")"# : ""
    session.say(
      #"""
      {"method":"\#(method)",\#
      "result":{"channel":"\#(channel)"\#(details)\#(snapshot)\#(Self.field("symbol", symbol))},\#
      "success":true\#(times)\#(Self.id(request))}
      """#)
  }

  private func refuse(
    _ reason: String, _ request: ClientMessage?, symbol: String? = nil, _ session: KrakenSession
  ) {
    let method = request.map { $0["method"].text }.flatMap { $0.isEmpty ? nil : $0 }
    session.say(
      #"""
      {"error":\#(json: reason)\#(Self.field("method", method))\#(Self.id(request)),\#
      "success":false\#(Self.field("symbol", symbol))\#(times)}
      """#)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.bids.isEmpty || !change.asks.isEmpty {
      let checksum = SimulatedKrakenChecksum.of(state(index).book, scratch: &scratch)
      let isVisible =
        checksum != checksums[index] && change.bids.count + change.asks.count > 1
        && (change.bids.contains { $0.size == 0 } || change.asks.contains { $0.size == 0 })
      checksums[index] = checksum
      for (slot, depth) in Self.depths.enumerated() where !desk.isEmpty(.book(depth: depth), index) {
        let stream = index * Self.depths.count + slot
        let sides = BookSides(
          bids: shown(change.bids, .bid, index, depth, edge: bidEdges[stream]),
          asks: shown(change.asks, .ask, index, depth, edge: askEdges[stream]))
        guard !sides.isEmpty else { continue }
        send(.book(depth: depth), index, .book(isVisible: isVisible), book("update", sides, index))
      }
      moveEdges(index)
    }
    if !change.trades.isEmpty {
      send(.trade, index, .trade, trades(change.trades, "update", index))
      send(.ticker, index, .ticker, ticker(index, "update"))
    }
    if change.isTopChanged { send(.quoteTicker, index, .ticker, ticker(index, "update")) }
  }

  /// The update of a view of `depth`: levels that changed within it, and levels that entered because others left.
  private func shown(
    _ changed: [PriceLevel], _ side: SimulatedSide, _ index: Int, _ depth: Int, edge: Int64?
  ) -> [PriceLevel] {
    let book = state(index).book
    let newEdge = Self.edge(book, side, depth)
    func isWithin(_ price: Int64, _ edge: Int64?) -> Bool {
      guard let edge else { return true }
      return side == .bid ? price >= edge : price <= edge
    }
    var list = changed.filter { $0.size == 0 ? isWithin($0.price, edge) : isWithin($0.price, newEdge) }
    var rank = min(depth, book.count(side)) - 1
    while rank >= 0 {
      let level = book.level(side, rank)
      guard !isWithin(level.price, edge) else { break }
      if !changed.contains(where: { $0.price == level.price }) { list.append(level) }
      rank -= 1
    }
    return list
  }

  private static func edge(_ book: SimulatedBook, _ side: SimulatedSide, _ depth: Int) -> Int64? {
    book.count(side) >= depth ? book.level(side, depth - 1).price : nil
  }

  private func moveEdges(_ index: Int) {
    let book = state(index).book
    for (slot, depth) in Self.depths.enumerated() {
      bidEdges[index * Self.depths.count + slot] = Self.edge(book, .bid, depth)
      askEdges[index * Self.depths.count + slot] = Self.edge(book, .ask, depth)
    }
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
