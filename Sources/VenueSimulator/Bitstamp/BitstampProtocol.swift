import Bytes
import MarketData

/// A client of the simulated Bitstamp.
final class BitstampSession: SimulatedSession {
  /// Every channel that was acknowledged, by its name.
  var channels: Set<String> = []
  var pinged: Timestamp

  override init(id: Int, faults: FaultInjector) {
    pinged = faults.now
    super.init(id: id, faults: faults)
  }
}

/// Bitstamp's v2 socket: `diff_order_book_`, `order_book_`, `live_trades_`, heartbeats; REST `markets`, `trading-pairs-info`,
/// `order_book`, `ticker`.
///
/// No channel begins with a snapshot and no message has a number. A market that is not there is acknowledged, and silent.
final class BitstampProtocol: VenueProtocol {
  /// Channels of a connection; one more closes it without a word.
  static let channelLimit = 1_024
  /// A longer message closes with 1009.
  static let messageLimit = 512
  static let pingInterval = 54 * Microseconds.second
  /// Ticks between two updates of a book.
  static let bookTicks = 4
  /// Levels a side in `order_book_`.
  static let wholeDepth = 100
  /// REST answers with a book come from a cache, and are up to this old.
  static let cacheAge = Microseconds.second
  /// REST requests a minute.
  static let requestLimit = 1_000

  private var differences: [Subscribers<BitstampSession>]
  private var wholes: [Subscribers<BitstampSession>]
  private var trades: [Subscribers<BitstampSession>]
  private var batches: [LevelBatch]
  private var isChanged: [Bool]
  private var ticks = 0
  private var cache: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]
  /// Books of an earlier moment, each of which is the next snapshot of its instrument.
  private var kept: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]
  private var minute: Int64 = 0
  private var requests = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    differences = Array(repeating: Subscribers(), count: count)
    wholes = Array(repeating: Subscribers(), count: count)
    trades = Array(repeating: Subscribers(), count: count)
    batches = Array(repeating: LevelBatch(), count: count)
    isChanged = Array(repeating: false, count: count)
    super.init(name: "bitstamp", market: market, faults: faults)
  }

  override class func objection(to kind: Fault.Kind) -> String? {
    kind == .checksum ? "its messages have no checksum" : nil
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/" || path.isEmpty else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return BitstampSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BitstampSession else { return }
    for index in market.instruments.indices {
      wholes[index].remove(session)
      trades[index].remove(session)
      if differences[index].remove(session), differences[index].isEmpty { batches[index].removeAll() }
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.send { $0.append(#"{"event":"bts:request_reconnect","channel":"","data":null}"#) }
  }

  override func keepSnapshots(of instrument: Int?) {
    for index in market.instruments.indices where instrument == nil || instrument == index {
      kept[index] = (market.truth(index, isSnapshot: true), faults.now)
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BitstampSession else { return }
    guard text.byteCount <= Self.messageLimit else { return session.close(1009, "read limited at 513 bytes") }
    guard let (event, channel) = try? Self.request(text) else { return fail("Incorrect JSON format.", session) }
    switch event {
    case "bts:heartbeat":
      session.send { $0.append(#"{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}"#) }
    case "bts:subscribe": subscribe(channel, session)
    case "bts:unsubscribe":
      guard session.channels.remove(channel) != nil else { return fail("Bad subscription string.", session) }
      if let (kind, index) = market(of: channel) { remove(kind, index, session) }
      acknowledge("un", channel, session)
    default: fail("Bad subscription string.", session)
    }
  }

  private static func request(_ text: RawSpan) throws(JSONError) -> (event: String, channel: String) {
    var event = ""
    var channel = ""
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "event") {
        event = try json.decoded(try json.string())
      } else if json.equals(key, "data"), json.peek() == .object {
        try json.objectStart()
        while let key = try json.nextKey() {
          if json.equals(key, "channel") {
            channel = try json.decoded(try json.string())
          } else {
            try json.skipValue()
          }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    return (event, channel)
  }

  private func fail(_ message: String, _ session: BitstampSession) {
    session.send { out in
      out.append(#"{"event":"bts:error","channel":"","data":{"code":null,"message":"#)
      out.append(json: message)
      out.append("}}")
    }
  }

  private func acknowledge(_ prefix: StaticString, _ channel: String, _ session: BitstampSession) {
    session.send { out in
      out.append(#"{"event":"bts:"#)
      out.append(prefix)
      out.append(#"subscription_succeeded","channel":"#)
      out.append(json: channel)
      out.append(#","data":{}}"#)
    }
  }

  private enum Kind: String, CaseIterable {
    case difference = "diff_order_book_"
    case whole = "order_book_"
    case trade = "live_trades_"
  }

  /// What a channel is of; nil if nothing ever comes on it.
  private func market(of channel: String) -> (kind: Kind, index: Int)? {
    guard let kind = Kind.allCases.first(where: { channel.hasPrefix($0.rawValue) }) else { return nil }
    let name = channel.dropFirst(kind.rawValue.count)
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }), !isRefused(index)
    else { return nil }
    return (kind, index)
  }

  private func subscribe(_ channel: String, _ session: BitstampSession) {
    let isKnown =
      Kind.allCases.contains { channel.hasPrefix($0.rawValue) }
      || channel.hasPrefix("live_orders_") || channel.hasPrefix("detail_order_book_")
    guard isKnown else { return fail("Invalid channel provided.", session) }
    let isPlain = channel.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
    }
    guard isPlain else { return fail("Bad subscription string.", session) }
    guard session.channels.count < Self.channelLimit || session.channels.contains(channel) else {
      return session.abort()
    }
    session.channels.insert(channel)
    acknowledge("", channel, session)
    guard let (kind, index) = market(of: channel) else { return }
    switch kind {
    case .difference: differences[index].insert(session)
    case .whole: wholes[index].insert(session)
    case .trade: trades[index].insert(session)
    }
  }

  private func remove(_ kind: Kind, _ index: Int, _ session: BitstampSession) {
    switch kind {
    case .difference:
      differences[index].remove(session)
      if differences[index].isEmpty { batches[index].removeAll() }
    case .whole: wholes[index].remove(session)
    case .trade: trades[index].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !differences[index].isEmpty { batches[index].add(change) }
    isChanged[index] = true
    for trade in change.trades {
      trades[index].send(.trade, instrument: index) { append(trade, index, to: &$0) }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    // Books have their turns one after the other.
    for index in market.instruments.indices where (ticks + index) % Self.bookTicks == 0 { flush(index) }
    for case let session as BitstampSession in sessions where now - session.pinged >= Self.pingInterval {
      session.pinged = now
      session.ping([])
    }
  }

  private func flush(_ index: Int) {
    let instrument = market.instruments[index].instrument
    if isChanged[index] {
      isChanged[index] = false
      let book = market.instruments[index].book
      wholes[index].send(.quote, instrument: index) { out in
        append(
          book.top(.bid, Self.wholeDepth), book.top(.ask, Self.wholeDepth), at: faults.now, instrument,
          of: "order_book_", to: &out)
      }
    }
    guard !batches[index].isEmpty else { return }
    differences[index].send(.book(isVisible: true), instrument: index) { out in
      append(
        batches[index].sortedBids, batches[index].sortedAsks, at: faults.now, instrument, of: "diff_order_book_",
        to: &out)
    }
    batches[index].removeAll()
  }

  private func append(
    _ bids: [PriceLevel], _ asks: [PriceLevel], at time: Timestamp, _ instrument: SimulatedInstrument,
    of prefix: StaticString, to out: inout ByteBuffer
  ) {
    out.append(#"{"data":"#)
    append(bids, asks, at: time, instrument, to: &out)
    out.append(#","channel":""#)
    out.append(prefix)
    out.append(instrument.venueSymbol)
    out.append(#"","event":"data"}"#)
  }

  private func append(
    _ bids: [PriceLevel], _ asks: [PriceLevel], at time: Timestamp, _ instrument: SimulatedInstrument,
    to out: inout ByteBuffer
  ) {
    out.append(#"{"timestamp":""#)
    out.append(integer: time.rawValue / Microseconds.second)
    out.append(#"","microtimestamp":""#)
    out.append(integer: time.rawValue)
    out.append(#"","bids":"#)
    out.append(pairs: bids, instrument)
    out.append(#","asks":"#)
    out.append(pairs: asks, instrument)
    out.append("}")
  }

  /// Times of trades are whole milliseconds.
  private func append(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    let id = 2_001_939_000_000_000_000 + trade.id
    out.append(#"{"data":{"id":"#)
    out.append(integer: id)
    out.append(#","id_str":""#)
    out.append(integer: id)
    out.append(#"","timestamp":""#)
    out.append(integer: trade.time.rawValue / Microseconds.second)
    out.append(#"","amount":"#)
    out.append(decimal: trade.size, scale: instrument.sizeScale)
    out.append(#","amount_str":"#)
    out.append(quoted: trade.size, scale: instrument.sizeScale)
    out.append(#","price":"#)
    out.append(decimal: trade.price, scale: instrument.priceScale)
    out.append(#","price_str":"#)
    out.append(quoted: trade.price, scale: instrument.priceScale)
    out.append(trade.side == .buy ? #","type":0,"microtimestamp":""# : #","type":1,"microtimestamp":""#)
    out.append(integer: trade.time.rawValue / 1_000 * 1_000)
    out.append(#"","buy_order_id":"#)
    out.append(integer: 2 * id)
    out.append(#","sell_order_id":"#)
    out.append(integer: 2 * id + 1)
    out.append(#"},"channel":"live_trades_"#)
    out.append(instrument.venueSymbol)
    out.append(#"","event":"trade"}"#)
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let now = faults.now.rawValue / Microseconds.minute
    if now != minute {
      minute = now
      requests = 0
    }
    requests += 1
    guard requests <= Self.requestLimit else {
      return SimulatedResponse(
        status: 429, body: #"{"response_code":"400.002","response_explanation":"Request rate limit exceeded"}"#)
    }
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count >= 3, parts[0] == "api", parts[1] == "v2" else { return Self.notFound }
    switch (parts[2], parts.count) {
    case ("markets", 3): return list { Self.appendMarket($0, to: &$1) }
    case ("trading-pairs-info", 3): return list { Self.appendPair($0, to: &$1) }
    case ("order_book", 4): return listed(parts[3]).map(orderBook) ?? Self.notFound
    case ("ticker", 3): return tickers()
    case ("ticker", 4):
      guard let index = listed(parts[3]) else { return Self.notFound }
      var out = ByteBuffer(capacity: 512)
      appendTicker(index, to: &out)
      return SimulatedResponse(body: out.description)
    default: return Self.notFound
    }
  }

  private static let notFound = SimulatedResponse(
    status: 404, body: #"{"status":"error","reason":"Not found","code":"404.000"}"#)

  private func listed(_ name: String) -> Int? {
    market.instruments.indices.first { market.instruments[$0].instrument.venueSymbol == name && !isRefused($0) }
  }

  private func orderBook(_ index: Int) -> SimulatedResponse {
    let book: (truth: SimulatedTruth, time: Timestamp)
    if let old = kept.removeValue(forKey: index) {
      book = old
    } else if let cached = cache[index], faults.now - cached.time <= Self.cacheAge {
      book = cached
    } else {
      book = (market.truth(index, isSnapshot: true), faults.now)
      cache[index] = book
    }
    var out = ByteBuffer(capacity: 64 << 10)
    append(
      book.truth.book.bids.reversed(), book.truth.book.asks.reversed(), at: book.time,
      market.instruments[index].instrument, to: &out)
    var response = SimulatedResponse(body: out.description)
    response.truth = book.truth
    return response
  }

  private func list(_ append: (SimulatedInstrument, inout ByteBuffer) -> Void) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    var isFirst = true
    for index in market.instruments.indices where !isRefused(index) {
      if !isFirst { out.append(",") }
      isFirst = false
      append(market.instruments[index].instrument, &out)
    }
    // A perpetual, which is on the same socket.
    out.append(isFirst ? "" : ",")
    out.append(
      #"{"name":"BTC/USD-PERP","market_symbol":"btcusd-perp","url_symbol":"btcusd-perp","base_currency":"BTC","base_decimals":5,"counter_currency":"USD","counter_decimals":0,"trading":"Enabled","market_type":"PERPETUAL","contract_size":"1"}]"#
    )
    return SimulatedResponse(body: out.description)
  }

  private static func appendMarket(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"name":""#)
    out.append(instrument.base)
    out.append("/")
    out.append(instrument.quote)
    out.append(#"","market_symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_currency":""#)
    out.append(instrument.base)
    out.append(#"","base_decimals":"#)
    out.append(integer: Int64(instrument.sizeScale))
    out.append(#","counter_currency":""#)
    out.append(instrument.quote)
    out.append(#"","counter_decimals":"#)
    out.append(integer: Int64(instrument.priceScale))
    out.append(
      #","minimum_order_value":"10.00","trading":"Enabled","instant_order_counter_decimals":2,"instant_and_market_orders":"Enabled","market_type":"SPOT"}"#
    )
  }

  private static func appendPair(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"name":""#)
    out.append(instrument.base)
    out.append("/")
    out.append(instrument.quote)
    out.append(#"","url_symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_decimals":"#)
    out.append(integer: Int64(instrument.sizeScale))
    out.append(#","counter_decimals":"#)
    out.append(integer: Int64(instrument.priceScale))
    out.append(#","minimum_order":"10.00 "#)
    out.append(instrument.quote)
    out.append(#"","trading":"Enabled","instant_and_market_orders":"Enabled"}"#)
  }

  private func tickers() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    var isFirst = true
    for index in market.instruments.indices where !isRefused(index) {
      if !isFirst { out.append(",") }
      isFirst = false
      appendTicker(index, to: &out)
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  private func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"timestamp":""#)
    out.append(integer: faults.now.rawValue / Microseconds.second)
    out.append("\"")
    field(#","open":"#, state.day.open, price)
    field(#","high":"#, state.day.high, price)
    field(#","low":"#, state.day.low, price)
    field(#","last":"#, state.day.last, price)
    field(#","volume":"#, state.day.volume, size)
    field(#","vwap":"#, state.day.vwap, price)
    field(#","bid":"#, state.book.bestBid?.price ?? 0, price)
    field(#","ask":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","open_24":"#, state.day.open, price)
    field(
      #","percent_change_24":"#, Int64(Int128(state.day.last - state.day.open) * 10_000 / Int128(state.day.open)), 2)
    out.append(#","pair":""#)
    out.append(state.instrument.base)
    out.append("/")
    out.append(state.instrument.quote)
    out.append(#""}"#)
  }
}
