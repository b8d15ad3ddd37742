import Bytes
import MarketData

/// A client of the simulated Bybit.
final class BybitSession: SimulatedSession {
  /// Spot, or linear contracts.
  let isSpot: Bool
  var topics: [BybitTopic] = []
  /// Of all topics, as they were written.
  var topicCharacters = 0

  init(id: Int, faults: FaultInjector, isSpot: Bool) {
    self.isSpot = isSpot
    super.init(id: id, faults: faults)
  }
}

/// `orderbook.200.BTCUSDT`, taken apart.
struct BybitTopic: Hashable {
  enum Channel: Hashable {
    case book(depth: Int)
    case trade
    case ticker
  }
  let channel: Channel
  let instrument: Int
}

/// Bybit v5's public sockets: `/v5/public/spot` and `/v5/public/linear`, `orderbook` of 1, 50, 200 and 1000 levels, `publicTrade`,
/// `tickers`, ping; REST `instruments-info`.
///
/// One bad topic refuses the whole request it is in. Books begin with a snapshot, `u` rises by one with every message of a book,
/// and levels that fall out of the window come as removals.
final class BybitProtocol: VenueProtocol {
  /// Characters of all topics of a connection.
  static let characterLimit = 21_000
  /// Topics in one request on spot.
  static let spotLimit = 10
  /// An unchanged `orderbook.1` is sent again after this long.
  static let repeatAfter = 3 * Microseconds.second

  /// A book of one depth, as its subscribers know it.
  private struct Stream {
    var window: BookWindow
    var number: Int64
    var sent = Timestamp.distantPast
    var subscribers = Subscribers<BybitSession>()
  }

  static let depths = [1, 50, 200, 1000]
  /// By instrument × depths.
  private var books: [Stream]
  private var trades: [Subscribers<BybitSession>]
  private var tickers: [Subscribers<BybitSession>]
  private var ticks = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = market.instruments.flatMap { state in
      Self.depths.map { Stream(window: BookWindow(depth: $0), number: state.updateID % 1_000_000) }
    }
    trades = Array(repeating: Subscribers(), count: count)
    tickers = Array(repeating: Subscribers(), count: count)
    super.init(name: "bybit", market: market, faults: faults)
  }

  override var webSocketPath: String { "/v5/public/spot" }

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
    guard path == "/v5/public/spot" || path == "/v5/public/linear" else {
      throw SimulatedRefusal(status: 404, reason: "Not Found")
    }
    return BybitSession(id: id, faults: faults, isSpot: path.hasSuffix("spot"))
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BybitSession else { return }
    for topic in session.topics { remove(topic, session) }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BybitSession else { return }
    var request = BybitRequest()
    do throws(JSONError) {
      try request.read(text)
    } catch {
      return reply(request, session, success: false, "error:invalid json")
    }
    switch request.operation {
    case "ping": reply(request, session, success: true, "pong")
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      for name in request.topics {
        guard let topic = topic(name, session), session.topics.contains(topic) else { continue }
        session.topics.removeAll { $0 == topic }
        session.topicCharacters -= name.utf8.count
        remove(topic, session)
      }
      reply(request, session, success: true, session.isSpot ? "unsubscribe" : "")
    default: reply(request, session, success: false, "error:invalid op")
    }
  }

  private func reply(_ request: BybitRequest, _ session: BybitSession, success: Bool, _ message: String) {
    session.send { out in
      out.append(success ? #"{"success":true,"ret_msg":"# : #"{"success":false,"ret_msg":"#)
      out.append(json: message)
      out.append(#","conn_id":"2324d924-aa4d-45b0-a858-7b8be29ab52b","req_id":"#)
      out.append(json: request.id)
      out.append(#","op":"#)
      out.append(json: request.operation)
      out.append("}")
    }
  }

  private func subscribe(_ request: BybitRequest, _ session: BybitSession) {
    func refuse(_ message: String) { reply(request, session, success: false, message) }
    if session.isSpot, request.topics.count > Self.spotLimit { return refuse("args size >10") }
    var wanted: [BybitTopic] = []
    var characters = session.topicCharacters
    for name in request.topics {
      guard let topic = topic(name, session), !isRefused(topic.instrument) else {
        return refuse("error:handler not found,topic:\(name)")
      }
      guard !session.topics.contains(topic), !wanted.contains(topic) else {
        return refuse("error:already subscribed,topic:\(name)")
      }
      characters += name.utf8.count
      guard characters <= Self.characterLimit else { return refuse("args size exceeds \(Self.characterLimit)") }
      wanted.append(topic)
    }
    session.topicCharacters = characters
    reply(request, session, success: true, session.isSpot ? "subscribe" : "")
    for topic in wanted { add(topic, session) }
  }

  /// Nil if there is no such topic or symbol in the session's family of markets.
  private func topic(_ name: String, _ session: BybitSession) -> BybitTopic? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard let symbol = parts.last,
      let index = market.instruments.firstIndex(where: {
        $0.instrument.venueSymbol == symbol && ($0.instrument.kind == .spot) == session.isSpot
      })
    else { return nil }
    switch (parts.count, parts[0]) {
    case (3, "orderbook"):
      guard let depth = Int(parts[1]), Self.depths.contains(depth) else { return nil }
      return BybitTopic(channel: .book(depth: depth), instrument: index)
    case (2, "publicTrade"): return BybitTopic(channel: .trade, instrument: index)
    case (2, "tickers"): return BybitTopic(channel: .ticker, instrument: index)
    default: return nil
    }
  }

  private func stream(_ instrument: Int, _ depth: Int) -> Int {
    instrument * Self.depths.count + Self.depths.firstIndex(of: depth)!
  }

  private func add(_ topic: BybitTopic, _ session: BybitSession) {
    session.topics.append(topic)
    switch topic.channel {
    case .book(let depth):
      let stream = stream(topic.instrument, depth)
      // Those who are there get what is gathered; the newcomer's snapshot has it already, and its number.
      if books[stream].subscribers.isEmpty {
        _ = books[stream].window.move(to: market.instruments[topic.instrument].book)
      } else {
        flush(topic.instrument, depth)
      }
      books[stream].subscribers.insert(session)
      let payload = SharedBytes.encoding { appendWhole(topic.instrument, depth, to: &$0) }
      session.send(payload, depth == 1 ? .quote : .bookSnapshot, instrument: topic.instrument)
    case .trade: trades[topic.instrument].insert(session)
    case .ticker:
      tickers[topic.instrument].insert(session)
      session.send(.ticker, instrument: topic.instrument) { appendTicker(topic.instrument, isWhole: true, to: &$0) }
    }
  }

  private func remove(_ topic: BybitTopic, _ session: BybitSession) {
    switch topic.channel {
    case .book(let depth): books[stream(topic.instrument, depth)].subscribers.remove(session)
    case .trade: trades[topic.instrument].remove(session)
    case .ticker: tickers[topic.instrument].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.trades.isEmpty {
      trades[index].send(.trade, instrument: index) { appendTrades(change.trades, index, to: &$0) }
    }
    if change.isTopChanged { sendQuote(index) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in market.instruments.indices {
      flush(index, 50)
      if ticks % 2 == 0 { flush(index, 200) }
      if ticks % 4 == 0 { flush(index, 1000) }
      let quote = stream(index, 1)
      if !books[quote].subscribers.isEmpty, now - books[quote].sent >= Self.repeatAfter {
        sendQuote(index, again: true)
      }
      if ticks % 20 == 0 {
        let isSpot = market.instruments[index].instrument.kind == .spot
        tickers[index].send(.ticker, instrument: index) { appendTicker(index, isWhole: isSpot, to: &$0) }
      }
    }
  }

  private func sendQuote(_ index: Int, again: Bool = false) {
    let stream = stream(index, 1)
    if !again { books[stream].number += 1 }
    books[stream].sent = faults.now
    books[stream].subscribers.send(.quote, instrument: index) { appendWhole(index, 1, to: &$0) }
  }

  private func flush(_ index: Int, _ depth: Int) {
    let stream = stream(index, depth)
    guard !books[stream].subscribers.isEmpty else { return }
    let (bids, asks) = books[stream].window.move(to: market.instruments[index].book)
    guard !bids.isEmpty || !asks.isEmpty else { return }
    books[stream].number += 1
    books[stream].subscribers.send(.book(isVisible: true), instrument: index) { out in
      append(index, depth, "delta", bids, asks, to: &out)
    }
  }

  private func appendWhole(_ index: Int, _ depth: Int, to out: inout ByteBuffer) {
    let book = market.instruments[index].book
    append(index, depth, "snapshot", book.top(.bid, depth), book.top(.ask, depth), to: &out)
  }

  private func append(
    _ index: Int, _ depth: Int, _ type: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel],
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    let time = faults.now.rawValue / 1_000
    out.append(#"{"topic":"orderbook."#)
    out.append(integer: Int64(depth))
    out.append(".")
    out.append(instrument.venueSymbol)
    // The order of the two differs by endpoint and depth.
    if instrument.kind == .spot || depth == 1 {
      out.append(#"","ts":"#)
      out.append(integer: time)
      out.append(#","type":""#)
      out.append(type)
      out.append("\"")
    } else {
      out.append(#"","type":""#)
      out.append(type)
      out.append(#"","ts":"#)
      out.append(integer: time)
    }
    out.append(#","data":{"s":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","b":"#)
    out.append(pairs: bids, instrument)
    out.append(#","a":"#)
    out.append(pairs: asks, instrument)
    out.append(#","u":"#)
    out.append(integer: books[stream(index, depth)].number)
    out.append(#","seq":"#)
    out.append(integer: market.instruments[index].sequence)
    out.append(#"},"cts":"#)
    out.append(integer: time - 4)
    out.append("}")
  }

  private func appendTrades(_ list: [SimulatedTrade], _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"topic":"publicTrade."#)
    out.append(instrument.venueSymbol)
    out.append(#"","type":"snapshot","ts":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","data":["#)
    for (position, trade) in list.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"T":"#)
      out.append(integer: trade.time.rawValue / 1_000)
      out.append(#","s":""#)
      out.append(instrument.venueSymbol)
      out.append(trade.side == .buy ? #"","S":"Buy","v":"# : #"","S":"Sell","v":"#)
      out.append(quoted: trade.size, scale: instrument.sizeScale)
      out.append(#","p":"#)
      out.append(quoted: trade.price, scale: instrument.priceScale)
      if instrument.kind != .spot { out.append(#","L":"PlusTick""#) }
      out.append(#","i":""#)
      out.append(orderID: UInt64(bitPattern: trade.id))
      out.append(#"","BT":false,"seq":"#)
      out.append(integer: market.instruments[index].sequence)
      out.append("}")
    }
    out.append("]}")
  }

  /// On linear contracts only what moves, after the first.
  private func appendTicker(_ index: Int, isWhole: Bool, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let instrument = state.instrument
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"topic":"tickers."#)
    out.append(instrument.venueSymbol)
    out.append(isWhole ? #"","type":"snapshot","data":{"symbol":""# : #"","type":"delta","data":{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append("\"")
    field(#","lastPrice":"#, state.day.last, price)
    field(#","price24hPcnt":"#, Int64(Int128(state.day.last - state.day.open) * 1_000_000 / Int128(state.day.open)), 6)
    if isWhole {
      field(#","prevPrice24h":"#, state.day.open, price)
      field(#","highPrice24h":"#, state.day.high, price)
      field(#","lowPrice24h":"#, state.day.low, price)
    }
    field(#","volume24h":"#, state.day.volume, size)
    let digits = price + size > 8 ? price + size - 8 : 0
    let turnover = Int64(clamping: state.day.turnover / Int128(DecimalText.power(digits)))
    field(#","turnover24h":"#, turnover, price + size - digits)
    if instrument.kind == .spot {
      field(#","usdIndexPrice":"#, state.day.last, price)
    } else {
      field(#","bid1Price":"#, state.book.bestBid?.price ?? 0, price)
      field(#","bid1Size":"#, state.book.bestBid?.size ?? 0, size)
      field(#","ask1Price":"#, state.book.bestAsk?.price ?? 0, price)
      field(#","ask1Size":"#, state.book.bestAsk?.size ?? 0, size)
    }
    out.append(#"},"cs":"#)
    out.append(integer: state.sequence)
    out.append(#","ts":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    guard path == "/v5/market/instruments-info" || path == "/v5/market/tickers" else {
      return SimulatedResponse(status: 404, body: #"{"retCode":404,"retMsg":"not found","result":{}}"#)
    }
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    guard let category = value("category"), category == "spot" || category == "linear" else {
      return SimulatedResponse(body: #"{"retCode":10001,"retMsg":"params error: Category is invalid","result":{}}"#)
    }
    if path == "/v5/market/tickers" { return tickers(category) }
    let list = market.instruments.map(\.instrument).filter { ($0.kind == .spot) == (category == "spot") }
    // Pages of five, so that following the cursor is something that happens.
    let page = category == "spot" ? list.count : 5
    let first = value("cursor").flatMap { Int($0.dropFirst("first=".count)) } ?? 0
    let end = min(list.count, first + page)
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"retCode":0,"retMsg":"OK","result":{"category":""#)
    out.append(category)
    out.append(#"","list":["#)
    for index in min(first, end)..<end {
      if index > first { out.append(",") }
      Self.append(list[index], to: &out)
    }
    out.append(#"],"nextPageCursor":""#)
    if end < list.count { out.append("first=\(end)") }
    out.append(#""},"retExtInfo":{},"time":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }

  private func tickers(_ category: String) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"retCode":0,"retMsg":"OK","result":{"category":""#)
    out.append(category)
    out.append(#"","list":["#)
    var isFirst = true
    for state in market.instruments where (state.instrument.kind == .spot) == (category == "spot") {
      if !isFirst { out.append(",") }
      isFirst = false
      out.append(#"{"symbol":""#)
      out.append(state.instrument.venueSymbol)
      out.append(#"","lastPrice":"#)
      out.append(quoted: state.day.last, scale: state.instrument.priceScale)
      out.append(#","volume24h":"#)
      out.append(quoted: state.day.volume, scale: state.instrument.sizeScale)
      out.append(#","turnover24h":"#)
      out.append(quoteVolumeOf: state)
      out.append("}")
    }
    out.append(#"]},"retExtInfo":{},"time":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }

  private static func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","baseCoin":""#)
    out.append(instrument.base)
    out.append(#"","quoteCoin":""#)
    out.append(instrument.quote)
    switch instrument.kind {
    case .spot: out.append(#"","status":"Trading","marginTrading":"both","#)
    case .perpetual:
      out.append(#"","status":"Trading","contractType":"LinearPerpetual","deliveryTime":"0","settleCoin":"USDT","#)
    case .future:
      out.append(
        #"","status":"Trading","contractType":"LinearFutures","deliveryTime":"1798185600000","settleCoin":"USDT","#)
    }
    out.append(#""lotSizeFilter":{"#)
    out.append(instrument.kind == .spot ? #""basePrecision":"# : #""qtyStep":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","minOrderQty":"#)
    out.append(quoted: instrument.minimumSize, scale: instrument.sizeScale)
    out.append(#"},"priceFilter":{"tickSize":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append("}}")
  }
}

/// A client's request.
struct BybitRequest {
  /// Topics of one request; further ones are ignored.
  static let topicLimit = 1_000

  var id = ""
  var operation = ""
  var topics: [String] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "op") {
        operation = try json.decoded(try json.string())
      } else if json.equals(key, "req_id") {
        // Documented as text; clients send numbers, too, and get them back as text.
        if json.peek() == .number {
          id = json.text(try json.number()).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        } else {
          id = try json.decoded(try json.string())
        }
      } else if json.equals(key, "args") {
        try json.arrayStart()
        while try json.nextElement() {
          let topic = try json.decoded(try json.string())
          if topics.count < Self.topicLimit { topics.append(topic) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
