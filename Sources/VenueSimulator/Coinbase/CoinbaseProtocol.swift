import Bytes
import MarketData

/// A client of the simulated Coinbase Exchange.
final class CoinbaseSession: SimulatedSession {
  /// What it has subscribed to, as the acknowledgement lists it.
  var subscriptions: [(channel: CoinbaseChannel, instrument: Int)] = []
  var hasSubscribed = false
}

/// The public channels of the Exchange feed.
enum CoinbaseChannel: String, CaseIterable {
  /// Its acknowledgement says `level2_50`.
  case level2 = "level2_50"
  case matches
  case ticker
  case tickerBatch = "ticker_batch"
  case heartbeat
  case status

  init?(name: String) {
    if name == "level2_batch" { self = .level2 } else { self.init(rawValue: name) }
  }
}

/// The Coinbase Exchange feed: `level2_batch` (50 ms), `matches`, `ticker`, `ticker_batch`, `heartbeat`, `status`; REST `products`.
///
/// Numbers are strings with the digits of the product's increments. `side` in matches is the maker's, in tickers the taker's.
/// There is no sequence for books: a lost update cannot be noticed.
final class CoinbaseProtocol: VenueProtocol {
  /// A connection must subscribe within it.
  static let subscribeLimit = 5 * Microseconds.second
  /// Client messages a second.
  static let requestLimit = 100

  /// By channel × instrument.
  private var streams: [CoinbaseChannel: [Subscribers<CoinbaseSession>]] = [:]
  var batches: [LevelBatch]
  /// Instruments with a trade since the last `ticker_batch`.
  private var tradedSinceBatch: [Bool]
  private var ticks = 0
  /// Of candles.
  var candleBudget = RequestBudget(15, perSecond: 10)

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    for channel in CoinbaseChannel.allCases { streams[channel] = Array(repeating: Subscribers(), count: count) }
    batches = Array(repeating: LevelBatch(), count: count)
    tradedSinceBatch = Array(repeating: false, count: count)
    super.init(name: "coinbase", market: market, faults: faults)
  }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/" || path.isEmpty else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return CoinbaseSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? CoinbaseSession else { return }
    for (channel, instrument) in session.subscriptions { streams[channel]![instrument].remove(session) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in batches.indices where !batches[index].isEmpty { flush(index, now) }
    if ticks % 20 == 0 {
      for index in batches.indices {
        streams[.heartbeat]![index].send(.heartbeat, instrument: index) { appendHeartbeat(index, now, to: &$0) }
      }
    }
    if ticks % 100 == 0 {
      for index in batches.indices where tradedSinceBatch[index] {
        tradedSinceBatch[index] = false
        guard let trade = market.instruments[index].recentTrades.last else { continue }
        streams[.tickerBatch]![index].send(.ticker, instrument: index) { appendTicker(index, trade, to: &$0) }
      }
    }
    for case let session as CoinbaseSession in sessions
    where !session.hasSubscribed && !session.wasUnheard && now - session.opened >= Self.subscribeLimit {
      session.close(1008, "no subscription within 5 seconds")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? CoinbaseSession else { return }
    if session.exceeds(Self.requestLimit) {
      fail("ErrSlowRead", nil, session)
      return session.close(1008, "too many messages")
    }
    let request: CoinbaseRequest
    do throws(JSONError) {
      request = try CoinbaseRequest(text)
    } catch {
      return fail("Malformed JSON", nil, session)
    }
    switch request.type {
    case "subscribe": subscribe(request, session)
    case "unsubscribe": unsubscribe(request, session)
    default: fail("Type is not valid", "\(request.type) is not a valid type", session)
    }
  }

  private func fail(_ message: String, _ reason: String?, _ session: CoinbaseSession) {
    session.send { out in
      out.append(#"{"type":"error","message":"#)
      out.append(json: message)
      if let reason {
        out.append(#","reason":"#)
        out.append(json: reason)
      }
      out.append("}")
    }
  }

  private func subscribe(_ request: CoinbaseRequest, _ session: CoinbaseSession) {
    let title = "Failed to subscribe"
    // One that is refused is one all the same: its sender may not know yet.
    session.hasSubscribed = true
    guard !request.channels.isEmpty else { return fail(title, "no channels provided", session) }
    var wanted: [(CoinbaseChannel, Int)] = []
    for (name, products) in request.channels {
      if ["level2", "level3", "full", "user"].contains(name) {
        let reason =
          "level2, level3, and full channels now require authentication. "
          + "https://docs.cloud.coinbase.com/exchange/docs/websocket-auth"
        return fail(title, reason, session)
      }
      guard let channel = CoinbaseChannel(name: name) else {
        return fail(title, "\(name) is not a valid channel", session)
      }
      if channel == .status {
        wanted.append((.status, 0))
        continue
      }
      guard !products.isEmpty else { return fail(title, "no product_ids provided for \(name)", session) }
      for product in products {
        guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == product }),
          !isRefused(index)
        else { return fail(title, "\(product) is not a valid product", session) }
        wanted.append((channel, index))
      }
    }
    for (channel, index) in wanted where streams[channel]![index].insert(session) {
      session.subscriptions.append((channel, index))
    }
    acknowledge(session)
    for (channel, index) in wanted { sendInitial(channel, index, session) }
  }

  private func unsubscribe(_ request: CoinbaseRequest, _ session: CoinbaseSession) {
    for (name, products) in request.channels {
      guard let channel = CoinbaseChannel(name: name) else {
        return fail("Failed to unsubscribe", "\(name) is not a valid channel", session)
      }
      session.subscriptions.removeAll { item in
        guard item.channel == channel,
          products.isEmpty || products.contains(market.instruments[item.instrument].instrument.venueSymbol)
        else { return false }
        streams[channel]![item.instrument].remove(session)
        return true
      }
    }
    acknowledge(session)
  }

  private func acknowledge(_ session: CoinbaseSession) {
    session.send { out in
      out.append(#"{"type":"subscriptions","channels":["#)
      var isFirst = true
      for channel in CoinbaseChannel.allCases {
        let instruments = session.subscriptions.filter { $0.channel == channel }.map(\.instrument)
        guard !instruments.isEmpty else { continue }
        if !isFirst { out.append(",") }
        isFirst = false
        out.append(#"{"name":""#)
        out.append(channel.rawValue)
        out.append(#"","product_ids":["#)
        if channel != .status {
          for (position, index) in instruments.enumerated() {
            if position > 0 { out.append(",") }
            out.append(json: market.instruments[index].instrument.venueSymbol)
          }
        }
        out.append(#"],"account_ids":null}"#)
      }
      out.append("]}")
    }
  }

  private func sendInitial(_ channel: CoinbaseChannel, _ index: Int, _ session: CoinbaseSession) {
    let state = market.instruments[index]
    let lastTrade = state.recentTrades[state.recentTrades.count - 1]
    switch channel {
    case .level2:
      // What is gathered belongs to those who were there before; the snapshot has it already.
      flush(index, faults.now, except: session)
      session.send(.bookSnapshot, instrument: index) { appendSnapshot(index, to: &$0) }
    case .matches:
      session.send(.trade, instrument: index) { appendMatch("last_match", lastTrade, state.sequence, index, to: &$0) }
    case .ticker, .tickerBatch:
      session.send(.ticker, instrument: index) { appendTicker(index, lastTrade, to: &$0) }
    case .status: session.send(.control) { appendStatus(to: &$0) }
    case .heartbeat: break
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !streams[.level2]![index].isEmpty { batches[index].add(change) }
    guard !change.trades.isEmpty else { return }
    tradedSinceBatch[index] = true
    // The trades of a moment have the numbers before the moment's own.
    let sequence = market.instruments[index].sequence - Int64(change.trades.count)
    for (position, trade) in change.trades.enumerated() {
      streams[.matches]![index].send(.trade, instrument: index) {
        appendMatch("match", trade, sequence + Int64(position), index, to: &$0)
      }
    }
    let last = change.trades[change.trades.count - 1]
    streams[.ticker]![index].send(.ticker, instrument: index) { appendTicker(index, last, to: &$0) }
  }

  private func flush(_ index: Int, _ now: Timestamp, except newcomer: CoinbaseSession? = nil) {
    guard !batches[index].isEmpty else { return }
    let payload = SharedBytes.encoding { appendUpdate(index, now, to: &$0) }
    for session in streams[.level2]![index].sessions where session !== newcomer {
      session.send(payload, .book(isVisible: true), instrument: index)
    }
    batches[index].removeAll()
  }
}
