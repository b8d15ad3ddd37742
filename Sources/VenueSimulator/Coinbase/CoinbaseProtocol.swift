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
  private var batches: [LevelBatch]
  /// Instruments with a trade since the last `ticker_batch`.
  private var tradedSinceBatch: [Bool]
  private var ticks = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    for channel in CoinbaseChannel.allCases { streams[channel] = Array(repeating: Subscribers(), count: count) }
    batches = Array(repeating: LevelBatch(), count: count)
    tradedSinceBatch = Array(repeating: false, count: count)
    super.init(name: "coinbase", market: market, faults: faults)
  }

  override class func objection(to kind: Fault.Kind) -> String? {
    switch kind {
    case .checksum: "its messages have no checksum"
    case .plannedShutdown: "it announces none"
    case .staleSnapshot: "its books come in the stream"
    default: nil
    }
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
    where !session.hasSubscribed && now - session.opened >= Self.subscribeLimit {
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
    session.hasSubscribed = true
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

  private func appendSnapshot(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    out.append(#"{"type":"snapshot","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","asks":"#)
    out.append(pairs: state.book.asks.reversed(), state.instrument)
    out.append(#","bids":"#)
    out.append(pairs: state.book.bids.reversed(), state.instrument)
    out.append("}")
  }

  private func appendUpdate(_ index: Int, _ now: Timestamp, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":"l2update","product_id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","changes":["#)
    var isFirst = true
    func change(_ side: StaticString, _ level: PriceLevel) {
      if !isFirst { out.append(",") }
      isFirst = false
      out.append(side)
      out.append(quoted: level.price, scale: instrument.priceScale)
      out.append(",")
      out.append(quoted: level.size, scale: instrument.sizeScale)
      out.append("]")
    }
    for level in batches[index].sortedBids { change(#"["buy","#, level) }
    for level in batches[index].sortedAsks { change(#"["sell","#, level) }
    out.append(#"],"time":""#)
    out.append(rfc3339: now)
    out.append(#""}"#)
  }

  private func appendMatch(
    _ type: StaticString, _ trade: SimulatedTrade, _ sequence: Int64, _ index: Int, to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":""#)
    out.append(type)
    out.append(#"","trade_id":"#)
    out.append(integer: trade.id)
    out.append(#","maker_order_id":""#)
    out.append(orderID: UInt64(bitPattern: trade.id &* 2))
    out.append(#"","taker_order_id":""#)
    out.append(orderID: UInt64(bitPattern: trade.id &* 2 &+ 1))
    out.append(trade.side == .buy ? #"","side":"sell","size":"# : #"","side":"buy","size":"#)
    out.append(quoted: trade.size, scale: instrument.sizeScale)
    out.append(#","price":"#)
    out.append(quoted: trade.price, scale: instrument.priceScale)
    out.append(#","product_id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","sequence":"#)
    out.append(integer: sequence)
    out.append(#","time":""#)
    out.append(rfc3339: trade.time)
    out.append(#""}"#)
  }

  private func appendHeartbeat(_ index: Int, _ now: Timestamp, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    out.append(#"{"type":"heartbeat","sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","last_trade_id":"#)
    out.append(integer: state.tradeID)
    out.append(#","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","time":""#)
    out.append(rfc3339: now)
    out.append(#""}"#)
  }

  private func appendTicker(_ index: Int, _ trade: SimulatedTrade, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"type":"ticker","sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append("\"")
    field(#","price":"#, trade.price, price)
    field(#","open_24h":"#, state.day.open, price)
    field(#","volume_24h":"#, state.day.volume, size)
    field(#","low_24h":"#, state.day.low, price)
    field(#","high_24h":"#, state.day.high, price)
    field(#","volume_30d":"#, state.day.volume * 30, size)
    field(#","best_bid":"#, bid?.price ?? 0, price)
    field(#","best_bid_size":"#, bid?.size ?? 0, size)
    field(#","best_ask":"#, ask?.price ?? 0, price)
    field(#","best_ask_size":"#, ask?.size ?? 0, size)
    out.append(trade.side == .buy ? #","side":"buy","time":""# : #","side":"sell","time":""#)
    out.append(rfc3339: trade.time)
    out.append(#"","trade_id":"#)
    out.append(integer: trade.id)
    field(#","last_size":"#, trade.size, size)
    out.append("}")
  }

  // MARK: - Products

  private func appendStatus(to out: inout ByteBuffer) {
    out.append(#"{"type":"status","currencies":[],"products":["#)
    for (index, state) in market.instruments.enumerated() {
      if index > 0 { out.append(",") }
      appendProduct(state.instrument, to: &out)
    }
    out.append("]}")
  }

  private func appendProduct(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_currency":""#)
    out.append(instrument.base)
    out.append(#"","quote_currency":"USD","quote_increment":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append(#","base_increment":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","display_name":""#)
    out.append(instrument.venueSymbol)
    out.append(
      #"","min_market_funds":"1","margin_enabled":false,"post_only":false,"limit_only":false,"cancel_only":false,"#)
    out.append(#""status":"online","status_message":"","trading_disabled":false,"fx_stablecoin":false,"#)
    out.append(#""max_slippage_percentage":"0.02000000","auction_mode":false,"high_bid_limit_percentage":""}"#)
  }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let parts = path.split(separator: "/")
    guard parts.first == "products", parts.count <= 3 else { return Self.notFound }
    var out = ByteBuffer(capacity: 4 << 10)
    if parts.count == 1 {
      out.append("[")
      for (index, state) in market.instruments.enumerated() {
        if index > 0 { out.append(",") }
        appendProduct(state.instrument, to: &out)
      }
      out.append("]")
      return SimulatedResponse(body: out.description)
    }
    if path == "/products/stats" {
      out.append("{")
      for (index, state) in market.instruments.enumerated() {
        if index > 0 { out.append(",") }
        appendStatistics(state, to: &out)
      }
      out.append("}")
      return SimulatedResponse(body: out.description)
    }
    guard let state = market.instruments.first(where: { $0.instrument.venueSymbol == parts[1] }) else {
      return Self.notFound
    }
    if parts.count == 2 {
      appendProduct(state.instrument, to: &out)
    } else if parts[2] == "book" {
      appendRESTBook(state, level: query.first { $0.name == "level" }?.value ?? "1", to: &out)
    } else {
      return Self.notFound
    }
    return SimulatedResponse(body: out.description)
  }

  private func appendStatistics(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(json: state.instrument.venueSymbol)
    field(#":{"stats_30day":{"volume":"#, state.day.volume * 30, size)
    field(#"},"stats_24hour":{"open":"#, state.day.open, price)
    field(#","high":"#, state.day.high, price)
    field(#","low":"#, state.day.low, price)
    field(#","last":"#, state.day.last, price)
    field(#","volume":"#, state.day.volume, size)
    out.append("}}")
  }

  private static let notFound = SimulatedResponse(status: 404, body: #"{"message":"NotFound"}"#)

  /// Levels have a third member, the number of orders.
  private func appendRESTBook(_ state: InstrumentMarket, level: String, to out: inout ByteBuffer) {
    let depth = level == "1" ? 1 : state.instrument.levels * 2
    func side(_ levels: [PriceLevel]) {
      for (index, level) in levels.enumerated() {
        if index > 0 { out.append(",") }
        out.append("[")
        out.append(quoted: level.price, scale: state.instrument.priceScale)
        out.append(",")
        out.append(quoted: level.size, scale: state.instrument.sizeScale)
        out.append(",1]")
      }
    }
    out.append(#"{"bids":["#)
    side(state.book.top(.bid, depth))
    out.append(#"],"asks":["#)
    side(state.book.top(.ask, depth))
    out.append(#"],"sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","auction_mode":false,"auction":null,"time":""#)
    out.append(rfc3339: faults.now)
    out.append(#""}"#)
  }
}

extension ByteBuffer {
  /// Appends an order id: a version 4 UUID made from `seed`.
  mutating func append(orderID seed: UInt64) {
    var random = MarketRandom(seed: seed)
    let words = (random.next(), random.next())
    for index in 0..<16 {
      if [4, 6, 8, 10].contains(index) { append("-") }
      var byte = UInt8(truncatingIfNeeded: (index < 8 ? words.0 : words.1) >> UInt64((index & 7) * 8))
      if index == 6 { byte = byte & 0x0F | 0x40 }
      if index == 8 { byte = byte & 0x3F | 0x80 }
      for nibble in [byte >> 4, byte & 15] {
        append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
      }
    }
  }
}
