import Bytes
import MarketData

/// A client of the simulated OKX.
final class OKXSession: SimulatedSession {
  var subscriptions: [OKXSubscription] = []
  var lastRequest: Timestamp
  /// Arguments of the hour under way.
  var operations = 0
  var hour: Timestamp

  override init(id: Int, faults: FaultInjector) {
    lastRequest = faults.now
    hour = faults.now
    super.init(id: id, faults: faults)
  }
}

/// An argument of a subscription.
struct OKXSubscription: Hashable {
  enum Channel: String, CaseIterable {
    case books
    case bestOffer = "bbo-tbt"
    case trades
    case tickers
  }
  let channel: Channel
  let instrument: Int
}

/// OKX v5's public socket: `books` (400 levels, 100 ms), `bbo-tbt`, `trades`, `tickers`, the text `ping`; REST `instruments`.
///
/// Numbers are strings without trailing zeros, sizes of contracts are in contracts. Updates of a book name the number before theirs; a
/// book without a change for a minute says so. One bad argument refuses itself alone.
final class OKXProtocol: VenueProtocol {
  static let depth = 400
  /// Silence on both sides after which the connection is closed.
  static let idleLimit = 30 * Microseconds.second
  /// Arguments of subscriptions in an hour and connection.
  static let operationLimit = 480
  /// A book that has not changed for this long says so.
  static let quietAfter = 60 * Microseconds.second

  struct Stream {
    var window = BookWindow(depth: OKXProtocol.depth)
    var number: Int64
    var sent: Timestamp
    var subscribers = Subscribers<OKXSession>()
  }

  /// By instrument.
  var books: [Stream]
  private var streams: [OKXSubscription.Channel: [Subscribers<OKXSession>]] = [:]
  private var ticks = 0
  /// Of candles, the newest and older ones.
  var candleBudget = RequestBudget(40, perSecond: 20)
  var historyBudget = RequestBudget(20, perSecond: 10)

  init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.map { Stream(number: $0.sequence, sent: faults.now) }
    for channel in OKXSubscription.Channel.allCases {
      streams[channel] = Array(repeating: Subscribers(), count: market.instruments.count)
    }
    super.init(name: "okx", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws/v5/public" }

  override class var special: Set<Fault.Kind> { [.plannedShutdown] }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/ws/v5/public" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return OKXSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? OKXSession else { return }
    for subscription in session.subscriptions { remove(subscription, session) }
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.send {
      $0.append(
        #"{"event":"notice","code":"64008","msg":"The connection will soon be closed for a service upgrade. Please reconnect.","connId":"a4d3ae55"}"#
      )
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices {
      if ticks % 2 == 0 { flush(index) }
      if now - books[index].sent >= Self.quietAfter { sendQuiet(index) }
      if ticks % 20 == 0 {
        streams[.tickers]![index].send(.ticker, instrument: index) { appendTicker(index, to: &$0) }
      }
    }
    for case let session as OKXSession in sessions
    where now - max(session.lastRequest, session.lastSent) >= Self.idleLimit {
      session.close(4004, "No data received in 30s")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? OKXSession else { return }
    session.lastRequest = faults.now
    if text.withUnsafeBytes({ $0.elementsEqual("ping".utf8) }) { return session.send { $0.append("pong") } }
    var request = OKXRequest()
    do throws(JSONError) {
      try request.read(text)
    } catch {
      return fail("60012", "Illegal request", session)
    }
    guard request.operation == "subscribe" || request.operation == "unsubscribe" else {
      return fail("60012", "Illegal request: {\"op\": \"\(request.operation)\"}", session)
    }
    if faults.now - session.hour >= Microseconds.hour {
      session.hour = faults.now
      session.operations = 0
    }
    session.operations += request.arguments.count
    if session.operations > Self.operationLimit {
      fail("60014", "Requests too frequent", session)
      return session.close(1008, "too many subscriptions in an hour")
    }
    for (channel, name) in request.arguments { carryOut(request, channel, name, session) }
  }

  private func fail(_ code: StaticString, _ message: String, _ session: OKXSession) {
    session.send { out in
      out.append(#"{"event":"error","code":""#)
      out.append(code)
      out.append(#"","msg":"#)
      out.append(json: message)
      out.append(#","connId":"a4d3ae55"}"#)
    }
  }

  private func carryOut(_ request: OKXRequest, _ channel: String, _ name: String, _ session: OKXSession) {
    guard let kind = OKXSubscription.Channel(rawValue: channel),
      let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }),
      !isRefused(index) || request.operation == "unsubscribe"
    else {
      return fail(
        "60018",
        "Wrong URL or channel:\(channel),instId:\(name) doesn't exist. Please use the correct URL, channel and parameters referring to API document.",
        session)
    }
    let subscription = OKXSubscription(channel: kind, instrument: index)
    session.send { out in
      out.append(#"{"id":"#)
      out.append(json: request.id)
      out.append(#","event":""#)
      out.append(request.operation)
      out.append(#"","arg":{"channel":""#)
      out.append(channel)
      out.append(#"","instId":""#)
      out.append(name)
      out.append(#""},"connId":"a4d3ae55"}"#)
    }
    if request.operation == "subscribe" {
      guard !session.subscriptions.contains(subscription) else { return }
      session.subscriptions.append(subscription)
      add(subscription, session)
    } else {
      session.subscriptions.removeAll { $0 == subscription }
      remove(subscription, session)
    }
  }

  private func add(_ subscription: OKXSubscription, _ session: OKXSession) {
    let index = subscription.instrument
    switch subscription.channel {
    case .books:
      if books[index].subscribers.isEmpty {
        _ = books[index].window.move(to: market.instruments[index].book)
      } else {
        flush(index)
      }
      books[index].subscribers.insert(session)
      session.send(.bookSnapshot, instrument: index) { out in
        let book = market.instruments[index].book
        append(
          index, "snapshot", book.top(.bid, Self.depth), book.top(.ask, Self.depth), previous: -1, to: &out)
      }
    case .bestOffer:
      streams[.bestOffer]![index].insert(session)
      session.send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    case .trades:
      streams[.trades]![index].insert(session)
      // The last trade before, not marked.
      if let last = market.instruments[index].recentTrades.last {
        session.send(.trade, instrument: index) { appendTrade(last, index, to: &$0) }
      }
    case .tickers:
      streams[.tickers]![index].insert(session)
      session.send(.ticker, instrument: index) { appendTicker(index, to: &$0) }
    }
  }

  private func remove(_ subscription: OKXSubscription, _ session: OKXSession) {
    if subscription.channel == .books {
      books[subscription.instrument].subscribers.remove(session)
    } else {
      streams[subscription.channel]![subscription.instrument].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    for trade in change.trades {
      streams[.trades]![index].send(.trade, instrument: index) { appendTrade(trade, index, to: &$0) }
    }
    if change.isTopChanged {
      streams[.bestOffer]![index].send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    }
  }

  private func flush(_ index: Int) {
    guard !books[index].subscribers.isEmpty else { return }
    let (bids, asks) = books[index].window.move(to: market.instruments[index].book)
    guard !bids.isEmpty || !asks.isEmpty else { return }
    let previous = books[index].number
    // Rises by more than one.
    books[index].number = max(previous + 1, market.instruments[index].sequence)
    send(index, bids, asks, previous: previous)
  }

  private func sendQuiet(_ index: Int) {
    guard !books[index].subscribers.isEmpty else { return }
    // What has changed and waits for its turn is told first: a message that names the number again says that nothing has.
    let before = books[index].number
    flush(index)
    guard books[index].number == before else { return }
    send(index, [], [], previous: books[index].number)
  }

  private func send(_ index: Int, _ bids: [PriceLevel], _ asks: [PriceLevel], previous: Int64) {
    books[index].sent = faults.now
    books[index].subscribers.send(.book(isVisible: true), instrument: index) { out in
      append(index, "update", bids, asks, previous: previous, to: &out)
    }
  }
}
