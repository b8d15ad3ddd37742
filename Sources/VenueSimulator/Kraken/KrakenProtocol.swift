import Bytes
import MarketData

/// A client of the simulated Kraken.
final class KrakenSession: SimulatedSession {
  /// Heartbeats begin with the first subscription.
  var isSubscribed = false
  var lastRequest: Timestamp

  override init(id: Int, faults: FaultInjector) {
    lastRequest = faults.now
    super.init(id: id, faults: faults)
  }
}

/// Kraken's Spot WebSocket v2: `book`, `trade`, `ticker`, `instrument`, ping, heartbeat, status; REST `AssetPairs`.
///
/// Numbers are bare, with all digits of the pair's precision. A book subscription of depth n is sent what changes among
/// the n best levels; a level that falls out is not removed by a message, the client truncates.
final class KrakenProtocol: VenueProtocol {
  static let depths = [10, 25, 100, 500, 1000]
  /// Requests a second; Kraken publishes no number.
  static let requestLimit = 100
  /// Silence of a client that has subscribed to nothing, after which it is closed.
  static let idleLimit = 60 * Microseconds.second

  /// By instrument × depths.
  private var books: [Subscribers<KrakenSession>]
  private var trades: [Subscribers<KrakenSession>]
  private var tickers: [Subscribers<KrakenSession>]
  private var quoteTickers: [Subscribers<KrakenSession>]
  private var instruments = Subscribers<KrakenSession>()
  /// The worst price that each depth shows, by instrument × depths; nil if the book is not that deep.
  private var bidEdges: [Int64?]
  private var askEdges: [Int64?]
  var checksums: [UInt32]
  private var scratch = ByteBuffer(capacity: 1024)
  private var connectionID: UInt64
  /// Of candles.
  var candleBudget = RequestBudget(15, perSecond: 1)

  override init(name: String = "kraken", market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = Array(repeating: Subscribers(), count: count * Self.depths.count)
    trades = Array(repeating: Subscribers(), count: count)
    tickers = Array(repeating: Subscribers(), count: count)
    quoteTickers = Array(repeating: Subscribers(), count: count)
    bidEdges = Array(repeating: nil, count: count * Self.depths.count)
    askEdges = bidEdges
    checksums = []
    // Larger than Int64, as Kraken's are.
    connectionID = 9_471_984_923_908_980_762
    super.init(name: name, market: market, faults: faults)
    for index in 0..<count {
      checksums.append(KrakenChecksum.of(market.instruments[index].book, scratch: &scratch))
      moveEdges(index)
    }
  }

  override var webSocketPath: String { "/v2" }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/v2" || path == "/v2/" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = KrakenSession(id: id, faults: faults)
    connectionID &+= 1
    sendStatus("online", to: session)
    return session
  }

  private func sendStatus(_ system: StaticString, to session: SimulatedSession) {
    session.send { out in
      out.append(#"{"channel":"status","type":"update","data":[{"version":"2.0.10","system":""#)
      out.append(system)
      out.append(#"","api_version":"v2","connection_id":"#)
      out.append(integer: connectionID)
      out.append("}]}")
    }
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? KrakenSession else { return }
    for index in books.indices { books[index].remove(session) }
    for index in trades.indices {
      trades[index].remove(session)
      tickers[index].remove(session)
      quoteTickers[index].remove(session)
    }
    instruments.remove(session)
  }

  override func announceShutdown(to session: SimulatedSession) { sendStatus("maintenance", to: session) }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    for case let session as KrakenSession in sessions {
      if session.isSubscribed {
        if now - session.lastSent >= Microseconds.second {
          session.send(.heartbeat) { $0.append(#"{"channel":"heartbeat"}"#) }
        }
      } else if now - session.lastRequest >= Self.idleLimit {
        session.close(1000, "Inactivity timeout")
      }
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? KrakenSession else { return }
    session.lastRequest = faults.now
    let request: KrakenRequest
    do throws(JSONError) {
      request = try KrakenRequest(text)
    } catch {
      return refuse("Malformed request", KrakenRequest(), session)
    }
    if session.exceeds(Self.requestLimit) { return refuse("Exceeded msg rate", request, session) }
    switch request.method {
    case "ping":
      session.send { out in
        out.append(#"{"method":"pong""#)
        request.appendID(to: &out)
        appendTimes(to: &out)
        out.append("}")
      }
    case "subscribe", "unsubscribe": subscribe(request, session)
    default: refuse("Unsupported method \(request.method)", request, session)
    }
  }

  private func subscribe(_ request: KrakenRequest, _ session: KrakenSession) {
    let adds = request.method == "subscribe"
    switch request.channel {
    case "instrument":
      if adds {
        instruments.insert(session)
        session.isSubscribed = true
      } else if !instruments.remove(session) {
        return refuse("Subscription Not Found", request, session)
      }
      acknowledge(request, symbol: nil, session)
      if adds, request.snapshot { session.send(.control) { appendInstruments(to: &$0) } }
      return
    case "book", "trade", "ticker": break
    default: return refuse("Channel \(request.channel) is not supported", request, session)
    }
    guard !request.symbols.isEmpty else { return refuse("Symbol(s) not found", request, session) }
    guard let depth = Self.depths.firstIndex(of: request.depth) else {
      return refuse("Invalid depth \(request.depth), expected one of 10, 25, 100, 500, 1000", request, session)
    }
    for symbol in request.symbols {
      guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == symbol }), !isRefused(index)
      else {
        refuse("Currency pair not supported \(symbol)", request, symbol: symbol, session)
        continue
      }
      if adds {
        add(request, index, depth, session)
      } else if remove(request, index, depth, session) {
        acknowledge(request, symbol: symbol, session)
      } else {
        refuse("Subscription Not Found", request, symbol: symbol, session)
      }
    }
  }

  private func add(_ request: KrakenRequest, _ index: Int, _ depth: Int, _ session: KrakenSession) {
    session.isSubscribed = true
    acknowledge(request, symbol: market.instruments[index].instrument.venueSymbol, session)
    switch request.channel {
    case "book":
      books[index * Self.depths.count + depth].insert(session)
      if request.snapshot {
        session.send(.bookSnapshot, instrument: index) { appendBookSnapshot(index, Self.depths[depth], to: &$0) }
      }
    case "trade":
      trades[index].insert(session)
      if request.snapshot {
        session.send(.trade, instrument: index) {
          appendTrades(market.instruments[index].recentTrades, "snapshot", index, to: &$0)
        }
      }
    default:
      if request.isQuoteTriggered { quoteTickers[index].insert(session) } else { tickers[index].insert(session) }
      if request.snapshot {
        session.send(.ticker, instrument: index) { appendTicker(index, "snapshot", to: &$0) }
      }
    }
  }

  private func remove(_ request: KrakenRequest, _ index: Int, _ depth: Int, _ session: KrakenSession) -> Bool {
    switch request.channel {
    case "book": return books[index * Self.depths.count + depth].remove(session)
    case "trade": return trades[index].remove(session)
    default:
      let byTrade = tickers[index].remove(session)
      return quoteTickers[index].remove(session) || byTrade
    }
  }

  private func acknowledge(_ request: KrakenRequest, symbol: String?, _ session: KrakenSession) {
    session.send { out in
      out.append(#"{"method":""#)
      out.append(request.method)
      out.append(#"","result":{"channel":""#)
      out.append(request.channel)
      out.append("\"")
      if request.channel == "book" {
        out.append(#","depth":"#)
        out.append(integer: Int64(request.depth))
      }
      if request.channel == "ticker" {
        out.append(request.isQuoteTriggered ? #","event_trigger":"bbo""# : #","event_trigger":"trades""#)
      }
      if request.method == "subscribe" {
        out.append(request.snapshot ? #","snapshot":true"# : #","snapshot":false"#)
      }
      if let symbol {
        out.append(#","symbol":"#)
        out.append(json: symbol)
      }
      out.append(#"},"success":true"#)
      appendTimes(to: &out)
      request.appendID(to: &out)
      out.append("}")
    }
  }

  private func refuse(_ reason: String, _ request: KrakenRequest, symbol: String? = nil, _ session: KrakenSession) {
    session.send { out in
      out.append(#"{"error":"#)
      out.append(json: reason)
      if !request.method.isEmpty {
        out.append(#","method":"#)
        out.append(json: request.method)
      }
      request.appendID(to: &out)
      out.append(#","success":false"#)
      if let symbol {
        out.append(#","symbol":"#)
        out.append(json: symbol)
      }
      appendTimes(to: &out)
      out.append("}")
    }
  }

  private func appendTimes(to out: inout ByteBuffer) {
    out.append(#","time_in":""#)
    out.append(rfc3339: faults.now)
    out.append(#"","time_out":""#)
    out.append(rfc3339: faults.now + 38)
    out.append("\"")
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.bids.isEmpty || !change.asks.isEmpty {
      let checksum = KrakenChecksum.of(market.instruments[index].book, scratch: &scratch)
      let isVisible =
        checksum != checksums[index] && change.bids.count + change.asks.count > 1
        && (change.bids.contains { $0.size == 0 } || change.asks.contains { $0.size == 0 })
      checksums[index] = checksum
      for depth in Self.depths.indices {
        let stream = index * Self.depths.count + depth
        guard !books[stream].isEmpty else { continue }
        let bids = shown(change.bids, .bid, index, Self.depths[depth], edge: bidEdges[stream])
        let asks = shown(change.asks, .ask, index, Self.depths[depth], edge: askEdges[stream])
        guard !bids.isEmpty || !asks.isEmpty else { continue }
        books[stream].send(.book(isVisible: isVisible), instrument: index) { out in
          appendBook("update", bids, asks, index, to: &out)
        }
      }
      moveEdges(index)
    }
    if !change.trades.isEmpty {
      trades[index].send(.trade, instrument: index) { appendTrades(change.trades, "update", index, to: &$0) }
      tickers[index].send(.ticker, instrument: index) { appendTicker(index, "update", to: &$0) }
    }
    if change.isTopChanged {
      quoteTickers[index].send(.ticker, instrument: index) { appendTicker(index, "update", to: &$0) }
    }
  }

  /// What a view of `depth` is told: levels that changed within it, and levels that came into it because others left.
  private func shown(
    _ changed: [PriceLevel], _ side: BookSide, _ index: Int, _ depth: Int, edge: Int64?
  ) -> [PriceLevel] {
    let book = market.instruments[index].book
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

  private static func edge(_ book: SimulatedBook, _ side: BookSide, _ depth: Int) -> Int64? {
    book.count(side) >= depth ? book.level(side, depth - 1).price : nil
  }

  private func moveEdges(_ index: Int) {
    let book = market.instruments[index].book
    for depth in Self.depths.indices {
      bidEdges[index * Self.depths.count + depth] = Self.edge(book, .bid, Self.depths[depth])
      askEdges[index * Self.depths.count + depth] = Self.edge(book, .ask, Self.depths[depth])
    }
  }

  override class var special: Set<Fault.Kind> { [.checksum, .plannedShutdown] }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    switch path {
    case "/0/public/AssetPairs": return KrakenREST.assetPairs(market, pairs: query.first { $0.name == "pair" }?.value)
    case "/0/public/Ticker": return KrakenREST.tickers(market)
    case "/0/public/SystemStatus":
      var out = ByteBuffer()
      out.append(#"{"error":[],"result":{"status":"online","timestamp":""#)
      out.append(rfc3339: faults.now)
      out.append(#""}}"#)
      return SimulatedResponse(body: out.description)
    case "/0/public/Time":
      let seconds = faults.now.rawValue / Microseconds.second
      return SimulatedResponse(body: #"{"error":[],"result":{"unixtime":\#(seconds)}}"#)
    default: return SimulatedResponse(status: 404, body: #"{"error":["EGeneral:Unknown method"]}"#)
    }
  }
}
