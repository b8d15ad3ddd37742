import Bytes
import MarketData

/// A client of the simulated Advanced Trade.
final class CoinbaseAdvancedSession: SimulatedSession {
  /// What it has subscribed to, in its order, by the names that it used.
  var subscriptions: [(channel: CoinbaseAdvancedChannel, instrument: Int, name: String)] = []
  var hasHeartbeats = false
  var hasSubscribed = false
  /// Asked for more books than there may be: it gets none any more.
  var isWithoutBooks = false
  /// The number of the next message, of whatever channel.
  private var nextNumber: Int64 = 0

  func takeNumber() -> Int64 {
    defer { nextNumber += 1 }
    return nextNumber
  }
}

/// The public channels with products.
enum CoinbaseAdvancedChannel: String, CaseIterable {
  /// Its data says `l2_data`.
  case level2
  case trades = "market_trades"
  case ticker
  case tickerBatch = "ticker_batch"
}

/// Advanced Trade: `level2`, `market_trades` (250 ms), `ticker`, `ticker_batch`, `heartbeats`; REST `market/products`.
///
/// Every message of a connection is numbered, whatever its channel. Numbers are strings, `side` in trades is the maker's, the ask side of
/// books is `offer`. Every market in USD has an alias in USDC, which is the same book and comes under the name in USD.
///
/// What the venue says of a product that it does not have is not known; here it refuses the whole request and names nothing.
final class CoinbaseAdvancedProtocol: VenueProtocol {
  /// A connection must subscribe within it.
  static let subscribeLimit = 5 * Microseconds.second
  /// Client messages a second.
  static let requestLimit = 8
  static let productsPath = "/api/v3/brokerage/market/products"

  /// Books on one connection.
  private let bookLimit: Int
  private let started: Timestamp
  /// By channel × instrument.
  private var streams: [CoinbaseAdvancedChannel: [Subscribers<CoinbaseAdvancedSession>]] = [:]
  private var batches: [LevelBatch]
  /// By instrument: trades that have still to be told.
  private var trades: [[SimulatedTrade]]
  private var ticks = 0
  /// Of candles.
  var candleBudget = RequestBudget(10, perSecond: 10)

  init(market: SimulatedMarket, faults: FaultInjector, bookLimit: Int = 30) {
    self.bookLimit = bookLimit
    started = faults.now
    let count = market.instruments.count
    for channel in CoinbaseAdvancedChannel.allCases { streams[channel] = Array(repeating: Subscribers(), count: count) }
    batches = Array(repeating: LevelBatch(), count: count)
    trades = Array(repeating: [], count: count)
    super.init(name: "coinbase-advanced", market: market, faults: faults)
  }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/" || path.isEmpty else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return CoinbaseAdvancedSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? CoinbaseAdvancedSession else { return }
    for item in session.subscriptions { streams[item.channel]![item.instrument].remove(session) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in batches.indices {
      flushBook(index)
      if ticks % 5 == 0 { flushTrades(index) }
      if ticks % 100 == 0 { sendTickers(.tickerBatch, index) }
    }
    for case let session as CoinbaseAdvancedSession in sessions {
      if ticks % 20 == 0, session.hasHeartbeats { sendHeartbeat(now, session) }
      if !session.hasSubscribed, !session.wasUnheard, now - session.opened >= Self.subscribeLimit {
        session.close(1008, "no subscription within 5 seconds")
      }
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? CoinbaseAdvancedSession else { return }
    if session.exceeds(Self.requestLimit) {
      fail("rate limit exceeded", session)
      return session.close(1008, "too many messages")
    }
    let request: CoinbaseAdvancedRequest
    do throws(JSONError) {
      request = try CoinbaseAdvancedRequest(text)
    } catch {
      return fail("malformed JSON", session)
    }
    switch request.type {
    case "subscribe": subscribe(request, session)
    case "unsubscribe": unsubscribe(request, session)
    default: fail("\(request.type) is not a valid type", session)
    }
  }

  private func fail(_ message: String, _ session: CoinbaseAdvancedSession) {
    session.send { out in
      out.append(#"{"type":"error","message":"#)
      out.append(json: message)
      out.append("}")
    }
  }

  private func subscribe(_ request: CoinbaseAdvancedRequest, _ session: CoinbaseAdvancedSession) {
    // One that is refused is one all the same: its sender may not know yet.
    session.hasSubscribed = true
    if request.channel == "heartbeats" {
      session.hasHeartbeats = true
      return acknowledge(session)
    }
    guard let channel = CoinbaseAdvancedChannel(rawValue: request.channel) else {
      return fail(request.channel == "user" ? "authentication failure" : "channel is not supported", session)
    }
    var wanted: [(instrument: Int, name: String)] = []
    for name in request.products {
      guard let index = instrument(named: name), !isRefused(index) else { return fail("invalid product_ids", session) }
      wanted.append((index, name))
    }
    guard !wanted.isEmpty else { return fail("no product_ids provided", session) }
    if channel == .level2 {
      let held = Set(session.subscriptions.filter { $0.channel == .level2 }.map(\.instrument))
      if session.isWithoutBooks || held.union(wanted.map(\.instrument)).count > bookLimit {
        session.isWithoutBooks = true
        for index in held { streams[.level2]![index].remove(session) }
        return fail("too many L2 streams requested in a single session", session)
      }
    }
    // What is gathered belongs to those who were there before; the newcomer's snapshot has it already.
    for (index, _) in wanted { channel == .level2 ? flushBook(index) : flushTrades(index) }
    for (index, name) in wanted where streams[channel]![index].insert(session) {
      session.subscriptions.append((channel, index, name))
    }
    acknowledge(session)
    for (index, _) in wanted { sendInitial(channel, index, session) }
  }

  private func unsubscribe(_ request: CoinbaseAdvancedRequest, _ session: CoinbaseAdvancedSession) {
    if request.channel == "heartbeats" {
      session.hasHeartbeats = false
      return acknowledge(session)
    }
    guard let channel = CoinbaseAdvancedChannel(rawValue: request.channel) else {
      return fail("channel is not supported", session)
    }
    let instruments = request.products.compactMap { instrument(named: $0) }
    session.subscriptions.removeAll { item in
      guard item.channel == channel, instruments.contains(item.instrument) else { return false }
      streams[channel]![item.instrument].remove(session)
      return true
    }
    acknowledge(session)
  }

  /// By its own name, or by its alias.
  func instrument(named name: String) -> Int? {
    market.instruments.firstIndex { $0.instrument.venueSymbol == name || Self.alias($0.instrument) == name }
  }

  static func alias(_ instrument: SimulatedInstrument) -> String { "\(instrument.base)-USDC" }

  private func acknowledge(_ session: CoinbaseAdvancedSession) {
    send("subscriptions", to: session) { out in
      out.append(#"{"subscriptions":{"#)
      var isFirst = true
      func entry(_ name: String, _ products: [String]) {
        if !isFirst { out.append(",") }
        isFirst = false
        out.append(json: name)
        out.append(":[")
        for (position, product) in products.enumerated() {
          if position > 0 { out.append(",") }
          out.append(json: product)
        }
        out.append("]")
      }
      if session.hasHeartbeats { entry("heartbeats", ["heartbeats"]) }
      for channel in CoinbaseAdvancedChannel.allCases {
        let names = session.subscriptions.filter { $0.channel == channel }.map(\.name)
        if !names.isEmpty { entry(channel.rawValue, names) }
      }
      out.append("}}")
    }
  }

  // MARK: - Messages

  /// Sends a message of one event, with the connection's next number: also where a fault keeps it back.
  private func send(
    _ channel: StaticString, _ kind: SimulatedFrameKind = .control, instrument: Int = -1,
    to session: CoinbaseAdvancedSession, _ event: (inout ByteBuffer) -> Void
  ) {
    let number = session.takeNumber()
    session.send(kind, instrument: instrument) { out in
      out.append(#"{"channel":""#)
      out.append(channel)
      out.append(#"","timestamp":""#)
      out.append(rfc3339: faults.now)
      out.append(#"","sequence_num":"#)
      out.append(integer: number)
      out.append(#","events":["#)
      event(&out)
      out.append("]}")
    }
  }

  private func sendInitial(_ channel: CoinbaseAdvancedChannel, _ index: Int, _ session: CoinbaseAdvancedSession) {
    let state = market.instruments[index]
    switch channel {
    case .level2:
      send("l2_data", .bookSnapshot, instrument: index, to: session) { out in
        append(
          "snapshot", index, bids: state.book.bids.reversed(), asks: state.book.asks.reversed(), time: nil, to: &out)
      }
    case .trades:
      send("market_trades", .trade, instrument: index, to: session) { out in
        append("snapshot", state.recentTrades, index, to: &out)
      }
    case .ticker, .tickerBatch:
      send("ticker", .ticker, instrument: index, to: session) { appendTicker("snapshot", index, channel, to: &$0) }
    }
  }

  private func sendHeartbeat(_ now: Timestamp, _ session: CoinbaseAdvancedSession) {
    send("heartbeats", .heartbeat, to: session) { out in
      let uptime = (now - started) / Microseconds.second
      out.append(#"{"current_time":""#)
      var time = ByteBuffer()
      time.append(rfc3339: now)
      // As Go prints a time: a space for the T, and the clock that only rises behind it.
      out.append(time.description.replacing("T", with: " ").replacing("Z", with: ""))
      out.append(" +0000 UTC m=+")
      out.append(integer: uptime)
      out.append(#".5","heartbeat_counter":"#)
      out.append(integer: uptime)
      out.append("}")
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !streams[.level2]![index].isEmpty { batches[index].add(change) }
    guard !change.trades.isEmpty else { return }
    if !streams[.trades]![index].isEmpty { trades[index] += change.trades }
    sendTickers(.ticker, index)
  }

  private func flushBook(_ index: Int) {
    guard !batches[index].isEmpty else { return }
    let (bids, asks) = (batches[index].sortedBids, batches[index].sortedAsks)
    for session in streams[.level2]![index].sessions {
      send("l2_data", .book(isVisible: true), instrument: index, to: session) { out in
        append("update", index, bids: bids, asks: asks, time: faults.now, to: &out)
      }
    }
    batches[index].removeAll()
  }

  private func flushTrades(_ index: Int) {
    guard !trades[index].isEmpty else { return }
    for session in streams[.trades]![index].sessions {
      send("market_trades", .trade, instrument: index, to: session) { append("update", trades[index], index, to: &$0) }
    }
    trades[index].removeAll()
  }

  private func sendTickers(_ channel: CoinbaseAdvancedChannel, _ index: Int) {
    for session in streams[channel]![index].sessions {
      send(channel == .ticker ? "ticker" : "ticker_batch", .ticker, instrument: index, to: session) { out in
        appendTicker("update", index, channel, to: &out)
      }
    }
  }

  /// - Parameter time: nil for levels of a snapshot, whose time is that of 1970.
  private func append(
    _ type: StaticString, _ index: Int, bids: [PriceLevel], asks: [PriceLevel], time: Timestamp?,
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":""#)
    out.append(type)
    out.append(#"","product_id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","updates":["#)
    var isFirst = true
    func update(_ side: StaticString, _ level: PriceLevel) {
      out.append(isFirst ? #"{"side":""# : #",{"side":""#)
      isFirst = false
      out.append(side)
      out.append(#"","event_time":""#)
      if let time { out.append(rfc3339: time) } else { out.append("1970-01-01T00:00:00Z") }
      out.append(#"","price_level":"#)
      out.append(quoted: level.price, scale: instrument.priceScale)
      out.append(#","new_quantity":"#)
      out.append(quoted: level.size, scale: instrument.sizeScale)
      out.append("}")
    }
    for level in bids { update("bid", level) }
    for level in asks { update("offer", level) }
    out.append("]}")
  }

  /// Newest first, as the venue has them.
  private func append(_ type: StaticString, _ trades: [SimulatedTrade], _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":""#)
    out.append(type)
    out.append(#"","trades":["#)
    for (position, trade) in trades.reversed().enumerated() {
      out.append(position > 0 ? #",{"product_id":""# : #"{"product_id":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","trade_id":""#)
      out.append(integer: trade.id)
      out.append(#"","price":"#)
      out.append(quoted: trade.price, scale: instrument.priceScale)
      out.append(#","size":"#)
      out.append(quoted: trade.size, scale: instrument.sizeScale)
      out.append(#","time":""#)
      out.append(rfc3339: trade.time)
      out.append(trade.side == .buy ? #"","side":"SELL"}"# : #"","side":"BUY"}"#)
    }
    out.append("]}")
  }

  private func appendTicker(
    _ type: StaticString, _ index: Int, _ channel: CoinbaseAdvancedChannel, to out: inout ByteBuffer
  ) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"type":""#)
    out.append(type)
    out.append(#"","tickers":[{"type":"ticker","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append("\"")
    field(#","price":"#, state.day.last, price)
    field(#","volume_24_h":"#, state.day.volume, size)
    field(#","low_24_h":"#, state.day.low, price)
    field(#","high_24_h":"#, state.day.high, price)
    field(#","low_52_w":"#, state.day.low / 2, price)
    field(#","high_52_w":"#, state.day.high * 2, price)
    field(#","price_percent_chg_24_h":"#, state.day.rise(in: 10_000), 2)
    if channel == .ticker {
      let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
      field(#","best_bid":"#, bid?.price ?? 0, price)
      field(#","best_bid_quantity":"#, bid?.size ?? 0, size)
      field(#","best_ask":"#, ask?.price ?? 0, price)
      field(#","best_ask_quantity":"#, ask?.size ?? 0, size)
    }
    out.append("}]}")
  }
}
