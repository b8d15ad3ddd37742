import Bytes
import MarketData

/// A client of the simulated Deribit.
final class DeribitSession: SimulatedSession {
  /// In the order of subscription.
  var channels: [DeribitChannel] = []
  /// µs between heartbeats; nil until the client sets it.
  var heartbeat: Int64?
  var nextHeartbeat = Timestamp.distantFuture
  /// By when the client must have answered the test request.
  var answerDue: Timestamp?
  /// Of 30,000; 10,000 come back in a second.
  var credits: Int64 = 30_000
  var credited: Timestamp

  override init(id: Int, faults: FaultInjector) {
    credited = faults.now
    super.init(id: id, faults: faults)
  }

  /// Pays for a request; false if there is not enough left.
  func pay(_ cost: Int64) -> Bool {
    credits = min(30_000, credits + (faults.now - credited) / 100)
    credited = faults.now
    guard credits >= cost else { return false }
    credits -= cost
    return true
  }
}

/// Deribit v2's JSON-RPC socket: `book`, `trades`, `quote`, `ticker`, `platform_state`, heartbeats; REST `get_instruments`.
///
/// Numbers are bare, in the shorter of the plain and the exponent form. A subscription answers with the channels that there are and does not
/// mention the others. Changes of a book name the number before theirs; the numbers are of a counter that all books share.
final class DeribitProtocol: VenueProtocol {
  static let subscribeCost: Int64 = 3_000
  static let requestCost: Int64 = 500
  /// A test request that is not answered ends the connection.
  static let answerLimit = 10 * Microseconds.second
  /// A connection without heartbeat and subscriptions ends.
  static let idleLimit = 60 * Microseconds.second

  private struct Stream {
    var changes = LevelBatch()
    var number: Int64 = 0
    var subscribers = Subscribers<DeribitSession>()
  }

  /// By instrument.
  private var books: [Stream]
  private var quotes: [Subscribers<DeribitSession>]
  /// The shared counter of changes.
  private var counter: Int64 = 193_809_000_000
  private var trades: [[SimulatedTrade]]
  private var all: [DeribitSession] = []
  private var ticks = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = Array(repeating: Stream(), count: count)
    quotes = Array(repeating: Subscribers(), count: count)
    trades = Array(repeating: [], count: count)
    super.init(name: "deribit", market: market, faults: faults)
    for index in books.indices { books[index].number = nextNumber() }
  }

  override var webSocketPath: String { "/ws/api/v2" }

  override class func objection(to kind: Fault.Kind) -> String? {
    switch kind {
    case .checksum: "its books have none"
    case .staleSnapshot: "its books come in the stream"
    default: nil
    }
  }

  private func nextNumber() -> Int64 {
    counter += 1 + Int64(ticks % 7)
    return counter
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/ws/api/v2" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = DeribitSession(id: id, faults: faults)
    all.append(session)
    return session
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? DeribitSession else { return }
    all.removeAll { $0 === session }
    for index in books.indices {
      books[index].subscribers.remove(session)
      quotes[index].remove(session)
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    guard let session = session as? DeribitSession, session.channels.contains(where: { $0.kind == .platform }) else {
      return
    }
    session.send { out in
      head("platform_state", to: &out)
      out.append(#"{"maintenance":true}}}"#)
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices where ticks % 2 == 0 {
      flush(index)
      flushTrades(index)
    }
    for session in all { tend(session, now) }
  }

  /// Ticker, heartbeats and the end of who does not answer.
  private func tend(_ session: DeribitSession, _ now: Timestamp) {
    for channel in session.channels where channel.kind == .ticker && ticks % (channel.isSlow ? 20 : 2) == 0 {
      session.send(.ticker, instrument: channel.instrument) { appendTicker(channel, to: &$0) }
    }
    if let due = session.answerDue, now >= due { return session.close(4000, "heartbeat close") }
    if let interval = session.heartbeat, now >= session.nextHeartbeat {
      session.nextHeartbeat = now + interval
      session.send(.heartbeat) {
        $0.append(#"{"params":{"type":"heartbeat"},"method":"heartbeat","jsonrpc":"2.0"}"#)
      }
      guard session.answerDue == nil else { return }
      session.answerDue = now + Self.answerLimit
      session.send(.control) {
        $0.append(#"{"params":{"type":"test_request"},"method":"heartbeat","jsonrpc":"2.0"}"#)
      }
    }
    if session.heartbeat == nil, session.channels.isEmpty, now - session.opened >= Self.idleLimit { session.abort() }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? DeribitSession else { return }
    let request: DeribitRequest
    do throws(JSONError) {
      request = try DeribitRequest(text)
    } catch {
      return fail(nil, 11050, "bad_request", session)
    }
    let isSubscription = request.method.hasSuffix("subscribe")
    guard session.pay(isSubscription ? Self.subscribeCost : Self.requestCost) else {
      fail(request.id, 10028, "too_many_requests", session)
      return session.close(1008, "too many requests")
    }
    switch request.method {
    case "public/set_heartbeat":
      guard let interval = request.interval, interval >= 10 else {
        return fail(request.id, -32602, "Invalid params", session)
      }
      session.heartbeat = interval * Microseconds.second
      session.nextHeartbeat = faults.now + interval * Microseconds.second
      answer(request.id, session) { $0.append(#""ok""#) }
    case "public/test":
      session.answerDue = nil
      answer(request.id, session) { $0.append(#"{"version":"1.2.26"}"#) }
    case "public/subscribe": subscribe(request, session)
    case "public/unsubscribe": unsubscribe(request, session)
    default: fail(request.id, -32601, "Method not found", session)
    }
  }

  private func fail(_ id: String?, _ code: Int64, _ message: StaticString, _ session: DeribitSession) {
    session.send { out in
      out.append(#"{"jsonrpc":"2.0","#)
      if let id {
        out.append(#""id":"#)
        out.append(id)
        out.append(",")
      }
      out.append(#""error":{"code":"#)
      out.append(integer: code)
      out.append(#","message":""#)
      out.append(message)
      out.append(#""}}"#)
    }
  }

  private func answer(_ id: String?, _ session: DeribitSession, _ result: (inout ByteBuffer) -> Void) {
    session.send { out in
      out.append(#"{"jsonrpc":"2.0","id":"#)
      out.append(id ?? "null")
      out.append(#","result":"#)
      result(&out)
      out.append(#","usIn":"#)
      out.append(integer: faults.now.rawValue)
      out.append(#","usOut":"#)
      out.append(integer: faults.now.rawValue)
      out.append(#","usDiff":0,"testnet":false}"#)
    }
  }

  /// Nil for what there is not.
  private func channel(_ name: String) -> DeribitChannel? {
    if name == "platform_state" {
      return DeribitChannel(kind: .platform, instrument: -1, name: name, isSlow: false)
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 2, let kind = DeribitChannel.Kind(rawValue: parts[0]),
      let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == parts[1] }),
      !isRefused(index)
    else { return nil }
    if kind == .quote {
      return parts.count == 2 ? DeribitChannel(kind: kind, instrument: index, name: name, isSlow: false) : nil
    }
    // Books are had every 100 ms only.
    guard parts.count == 3, parts[2] == "100ms" || (parts[2] == "agg2" && kind != .book) else { return nil }
    return DeribitChannel(kind: kind, instrument: index, name: name, isSlow: parts[2] == "agg2")
  }

  private func list(_ names: [String], to out: inout ByteBuffer) {
    out.append("[")
    for (index, name) in names.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: name)
    }
    out.append("]")
  }

  private func subscribe(_ request: DeribitRequest, _ session: DeribitSession) {
    if request.channels.contains(where: { $0.hasSuffix(".raw") }) {
      return fail(request.id, 13778, "raw_subscriptions_not_available_for_unauthorized", session)
    }
    let wanted = request.channels.compactMap(channel)
    // In another order than that of the request.
    answer(request.id, session) { list(wanted.reversed().map(\.name), to: &$0) }
    for channel in wanted where !session.channels.contains(where: { $0.name == channel.name }) {
      session.channels.append(channel)
      begin(channel, session)
    }
  }

  private func begin(_ channel: DeribitChannel, _ session: DeribitSession) {
    let index = channel.instrument
    switch channel.kind {
    case .book:
      // What is gathered belongs to those who were there before.
      flush(index)
      books[index].subscribers.insert(session)
      session.send(.bookSnapshot, instrument: index) { out in
        let book = market.instruments[index].book
        appendBook(
          index, isSnapshot: true, book.top(.bid, .max), book.top(.ask, .max), previous: nil, to: &out)
      }
    case .quote:
      quotes[index].insert(session)
      session.send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    case .ticker: session.send(.ticker, instrument: index) { appendTicker(channel, to: &$0) }
    case .trades, .platform: break
    }
  }

  private func unsubscribe(_ request: DeribitRequest, _ session: DeribitSession) {
    let left = request.channels.compactMap { name in session.channels.first { $0.name == name } }
    for channel in left {
      session.channels.removeAll { $0.name == channel.name }
      if channel.kind == .book { books[channel.instrument].subscribers.remove(session) }
      if channel.kind == .quote { quotes[channel.instrument].remove(session) }
    }
    answer(request.id, session) { list(left.map(\.name), to: &$0) }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !books[index].subscribers.isEmpty { books[index].changes.add(change) }
    trades[index] += change.trades
    if change.isTopChanged { quotes[index].send(.quote, instrument: index) { appendQuote(index, to: &$0) } }
  }

  private func flush(_ index: Int) {
    guard !books[index].changes.isEmpty else { return }
    let bids = books[index].changes.sortedBids
    let asks = books[index].changes.sortedAsks
    books[index].changes.removeAll()
    let previous = books[index].number
    books[index].number = nextNumber()
    books[index].subscribers.send(.book(isVisible: true), instrument: index) { out in
      appendBook(index, isSnapshot: false, bids, asks, previous: previous, to: &out)
    }
  }

  /// All trades of 100 ms in one message, the oldest first.
  private func flushTrades(_ index: Int) {
    guard !trades[index].isEmpty else { return }
    for session in all {
      for channel in session.channels where channel.kind == .trades && channel.instrument == index {
        session.send(.trade, instrument: index) { appendTrades(channel, trades[index], to: &$0) }
      }
    }
    trades[index].removeAll(keepingCapacity: true)
  }

  // MARK: - Messages

  private func head(_ channel: String, to out: inout ByteBuffer) {
    out.append(#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"#)
    out.append(json: channel)
    out.append(#","data":"#)
  }

  private func milliseconds(_ time: Timestamp, to out: inout ByteBuffer) { out.append(integer: time.rawValue / 1_000) }

  /// The shorter of the plain and the exponent form, with at least one digit after the point: `92288.5`, `1054.0`, `2.2e3`, `1.0e-4`.
  static func append(float value: Int64, scale: UInt8, to out: inout ByteBuffer) {
    guard value != 0 else { return out.append("0.0") }
    var mantissa = value
    var scale = Int(scale)
    while mantissa % 10 == 0 {
      mantissa /= 10
      scale -= 1
    }
    let digits = String(mantissa.magnitude)
    let exponent = digits.count - 1 - scale
    let rest = digits.dropFirst()
    let scientific = "\(digits.prefix(1)).\(rest.isEmpty ? "0" : rest)e\(exponent)"
    let plain: String
    if scale <= 0 {
      plain = digits + String(repeating: "0", count: -scale) + ".0"
    } else if exponent >= 0 {
      plain = "\(digits.dropLast(scale)).\(digits.suffix(scale))"
    } else {
      plain = "0." + String(repeating: "0", count: -exponent - 1) + digits
    }
    if value < 0 { out.append("-") }
    out.append(scientific.utf8.count < plain.utf8.count ? scientific : plain)
  }

  private func field(_ name: StaticString, _ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append(name)
    Self.append(float: value, scale: scale, to: &out)
  }

  private func appendBook(
    _ index: Int, isSnapshot: Bool, _ bids: [PriceLevel], _ asks: [PriceLevel], previous: Int64?,
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    func levels(_ levels: [PriceLevel]) {
      for (position, level) in levels.enumerated() {
        if position > 0 { out.append(",") }
        out.append(isSnapshot ? #"["new","# : level.size > 0 ? #"["change","# : #"["delete","#)
        Self.append(float: level.price, scale: instrument.priceScale, to: &out)
        out.append(",")
        Self.append(float: level.size, scale: instrument.sizeScale, to: &out)
        out.append("]")
      }
    }
    head("book.\(instrument.venueSymbol).100ms", to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(faults.now, to: &out)
    out.append(isSnapshot ? #","type":"snapshot","change_id":"# : #","type":"change","change_id":"#)
    out.append(integer: books[index].number)
    out.append(#","instrument_name":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","bids":["#)
    levels(bids)
    out.append(#"],"asks":["#)
    levels(asks)
    if let previous {
      out.append(#"],"prev_change_id":"#)
      out.append(integer: previous)
      out.append("}}}")
    } else {
      out.append("]}}}")
    }
  }

  private func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head("quote.\(state.instrument.venueSymbol)", to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(faults.now, to: &out)
    out.append(#","instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","best_ask_price":"#, state.book.bestAsk?.price ?? 0, price, to: &out)
    field(#","best_bid_price":"#, state.book.bestBid?.price ?? 0, price, to: &out)
    field(#","best_ask_amount":"#, state.book.bestAsk?.size ?? 0, size, to: &out)
    field(#","best_bid_amount":"#, state.book.bestBid?.size ?? 0, size, to: &out)
    out.append("}}}")
  }

  private func appendTrades(_ channel: DeribitChannel, _ trades: [SimulatedTrade], to out: inout ByteBuffer) {
    let instrument = market.instruments[channel.instrument].instrument
    head(channel.name, to: &out)
    out.append("[")
    for (position, trade) in trades.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"timestamp":"#)
      milliseconds(trade.time, to: &out)
      field(#","price":"#, trade.price, instrument.priceScale, to: &out)
      field(#","amount":"#, trade.size, instrument.sizeScale, to: &out)
      out.append(trade.side == .buy ? #","direction":"buy","# : #","direction":"sell","#)
      field(#""index_price":"#, trade.price, instrument.priceScale, to: &out)
      out.append(#","instrument_name":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","trade_seq":"#)
      out.append(integer: trade.id - 400_000_000)
      out.append(#","tick_direction":2,"trade_id":""#)
      out.append(integer: trade.id)
      out.append(#""}"#)
    }
    out.append("]}}")
  }

  private func appendTicker(_ channel: DeribitChannel, to out: inout ByteBuffer) {
    let state = market.instruments[channel.instrument]
    let day = state.day
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head(channel.name, to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(faults.now, to: &out)
    out.append(#","state":"open","stats":{"#)
    field(#""high":"#, day.high, price, to: &out)
    field(#","low":"#, day.low, price, to: &out)
    // Percent with four digits.
    let change = day.open > 0 ? Int64(Int128(day.last - day.open) * 1_000_000 / Int128(day.open)) : 0
    field(#","price_change":"#, change, 4, to: &out)
    field(#","volume":"#, day.volume, size, to: &out)
    let notional = Int64(clamping: day.turnover / Int128(DecimalText.power(price + size)))
    field(#","volume_usd":"#, notional, 0, to: &out)
    field(#","volume_notional":"#, notional, 0, to: &out)
    out.append(#"},"instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","last_price":"#, day.last, price, to: &out)
    field(#","mark_price":"#, day.last, price, to: &out)
    field(#","best_ask_price":"#, state.book.bestAsk?.price ?? 0, price, to: &out)
    field(#","best_bid_price":"#, state.book.bestBid?.price ?? 0, price, to: &out)
    field(#","best_ask_amount":"#, state.book.bestAsk?.size ?? 0, size, to: &out)
    field(#","best_bid_amount":"#, state.book.bestBid?.size ?? 0, size, to: &out)
    out.append(#","current_funding":0.0,"funding_8h":1.742e-5}}}"#)
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let isSummary = path == "/api/v2/public/get_book_summary_by_currency"
    guard isSummary || path == "/api/v2/public/get_instruments" else {
      return SimulatedResponse(
        status: 404, body: #"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}"#)
    }
    // Lists of instruments are of all currencies unless one is named; summaries are of one.
    let named = query.first { $0.name == "currency" }?.value
    guard let currency = named ?? (isSummary ? nil : "any"), !currency.isEmpty else {
      return SimulatedResponse(
        status: 400, body: #"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}"#)
    }
    let kind = query.first { $0.name == "kind" }?.value ?? "future"
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"jsonrpc":"2.0","result":["#)
    if kind == "future" {
      let listed = market.instruments.filter { currency == "any" || $0.instrument.quote == currency }
      for (index, state) in listed.enumerated() {
        if index > 0 { out.append(",") }
        if isSummary { appendSummary(state, to: &out) } else { append(state.instrument, to: &out) }
      }
    }
    out.append(#"],"usIn":0,"usOut":0,"usDiff":0,"testnet":false}"#)
    return SimulatedResponse(body: out.description)
  }

  private func appendSummary(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let notional = Int64(clamping: state.day.turnover / Int128(DecimalText.power(price + size)))
    out.append(#"{"instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","volume":"#, state.day.volume, size, to: &out)
    field(#","volume_usd":"#, notional, 0, to: &out)
    field(#","volume_notional":"#, notional, 0, to: &out)
    field(#","last":"#, state.day.last, price, to: &out)
    out.append("}")
  }

  private func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"instrument_name":""#)
    out.append(instrument.venueSymbol)
    out.append(
      #"","kind":"future","instrument_type":"linear","future_type":"linear","tick_size_steps":[],"base_currency":""#)
    out.append(instrument.base)
    out.append(#"","quote_currency":""#)
    out.append(instrument.quote)
    out.append(#"","counter_currency":""#)
    out.append(instrument.quote)
    out.append(#"","settlement_currency":""#)
    out.append(instrument.quote)
    // A dated future expires at 08:00 UTC; the simulated ones on 25 December 2026.
    out.append(
      instrument.kind == .perpetual
        ? #"","settlement_period":"perpetual","expiration_timestamp":32503708800000"#
        : #"","settlement_period":"month","expiration_timestamp":1798185600000"#)
    field(#","tick_size":"#, instrument.tick, instrument.priceScale, to: &out)
    field(#","contract_size":"#, instrument.lot, instrument.sizeScale, to: &out)
    field(#","min_trade_amount":"#, instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","is_active":true}"#)
  }
}
