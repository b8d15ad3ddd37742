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

  private struct Stream {
    var window = BookWindow(depth: OKXProtocol.depth)
    var number: Int64
    var sent: Timestamp
    var subscribers = Subscribers<OKXSession>()
  }

  /// By instrument.
  private var books: [Stream]
  private var streams: [OKXSubscription.Channel: [Subscribers<OKXSession>]] = [:]
  private var ticks = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.map { Stream(number: $0.sequence, sent: faults.now) }
    for channel in OKXSubscription.Channel.allCases {
      streams[channel] = Array(repeating: Subscribers(), count: market.instruments.count)
    }
    super.init(name: "okx", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws/v5/public" }

  override class func objection(to kind: Fault.Kind) -> String? {
    switch kind {
    case .checksum: "its checksum is always 0"
    case .staleSnapshot: "its books come in the stream"
    default: nil
    }
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

  private func number(_ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "\""))
    out.append(Decimal64(mantissa: value, scale: scale).withoutTrailingZeros)
    out.append(UInt8(ascii: "\""))
  }

  private func levels(_ levels: [PriceLevel], _ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append("[")
    for (position, level) in levels.enumerated() {
      out.append(position > 0 ? ",[" : "[")
      number(level.price, instrument.priceScale, to: &out)
      out.append(",")
      number(level.size, instrument.sizeScale, to: &out)
      out.append(level.size > 0 ? #","0","3"]"# : #","0","0"]"#)
    }
    out.append("]")
  }

  private func head(_ channel: StaticString, _ index: Int, to out: inout ByteBuffer) {
    out.append(#"{"arg":{"channel":""#)
    out.append(channel)
    out.append(#"","instId":""#)
    out.append(market.instruments[index].instrument.venueSymbol)
    out.append(#""},"#)
  }

  private func append(
    _ index: Int, _ action: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel], previous: Int64,
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    head("books", index, to: &out)
    out.append(#""action":""#)
    out.append(action)
    out.append(#"","data":[{"asks":"#)
    levels(asks, instrument, to: &out)
    out.append(#","bids":"#)
    levels(bids, instrument, to: &out)
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#"","checksum":0,"seqId":"#)
    out.append(integer: books[index].number)
    out.append(#","prevSeqId":"#)
    out.append(integer: previous)
    out.append("}]}")
  }

  private func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    head("bbo-tbt", index, to: &out)
    out.append(#""data":[{"asks":"#)
    levels(state.book.top(.ask, 1), state.instrument, to: &out)
    out.append(#","bids":"#)
    levels(state.book.top(.bid, 1), state.instrument, to: &out)
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#"","seqId":"#)
    out.append(integer: state.sequence)
    out.append("}]}")
  }

  private func appendTrade(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    head("trades", index, to: &out)
    out.append(#""data":[{"instId":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","tradeId":""#)
    out.append(integer: trade.id)
    out.append(#"","px":"#)
    number(trade.price, instrument.priceScale, to: &out)
    out.append(#","sz":"#)
    number(trade.size, instrument.sizeScale, to: &out)
    out.append(trade.side == .buy ? #","side":"buy","ts":""# : #","side":"sell","ts":""#)
    out.append(integer: trade.time.rawValue / 1_000)
    out.append(#"","count":"1","source":"0","seqId":"#)
    out.append(integer: market.instruments[index].sequence)
    out.append("}]}")
  }

  private func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let instrument = state.instrument
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      number(value, scale, to: &out)
    }
    head("tickers", index, to: &out)
    out.append(
      instrument.kind == .spot ? #""data":[{"instType":"SPOT","instId":""# : #""data":[{"instType":"SWAP","instId":""#)
    out.append(instrument.venueSymbol)
    field(#"","last":"#, state.day.last, price)
    field(#","lastSz":"#, state.recentTrades.last?.size ?? 0, size)
    field(#","askPx":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","askSz":"#, state.book.bestAsk?.size ?? 0, size)
    field(#","bidPx":"#, state.book.bestBid?.price ?? 0, price)
    field(#","bidSz":"#, state.book.bestBid?.size ?? 0, size)
    field(#","open24h":"#, state.day.open, price)
    field(#","high24h":"#, state.day.high, price)
    field(#","low24h":"#, state.day.low, price)
    field(#","vol24h":"#, state.day.volume, size)
    if instrument.kind == .spot {
      let digits = price + size > 8 ? price + size - 8 : 0
      field(
        #","volCcy24h":"#, Int64(clamping: state.day.turnover / Int128(DecimalText.power(digits))),
        price + size - digits)
    } else {
      let contract = instrument.contractSize
      field(#","volCcy24h":"#, state.day.volume * contract.mantissa, size + contract.scale)
    }
    out.append(#","sodUtc0":"0","sodUtc8":"0","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#""}]}"#)
  }

  // MARK: - REST

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    guard path == "/api/v5/public/instruments" || path == "/api/v5/market/tickers" else {
      return SimulatedResponse(status: 404, body: #"{"code":"404","msg":"Not Found","data":[]}"#)
    }
    guard let type = query.first(where: { $0.name == "instType" })?.value, ["SPOT", "SWAP", "FUTURES"].contains(type)
    else {
      return SimulatedResponse(
        status: 400, body: #"{"code":"50014","msg":"Parameter instType can not be empty.","data":[]}"#)
    }
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"code":"0","msg":"","data":["#)
    if path == "/api/v5/market/tickers" {
      for (index, state) in market.instruments.filter({ Self.type($0.instrument) == type }).enumerated() {
        if index > 0 { out.append(",") }
        append(tickerOf: state, type, to: &out)
      }
      out.append("]}")
      return SimulatedResponse(body: out.description)
    }
    let list = market.instruments.map(\.instrument).filter { Self.type($0) == type }
    for (index, instrument) in list.enumerated() {
      if index > 0 { out.append(",") }
      append(instrument, type, to: &out)
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }

  /// Volumes as in the channel: `volCcy24h` is in the quote currency on spot and in base units on contracts.
  private func append(tickerOf state: InstrumentMarket, _ type: String, to out: inout ByteBuffer) {
    let instrument = state.instrument
    out.append(#"{"instType":""#)
    out.append(type)
    out.append(#"","instId":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","last":"#)
    out.append(quoted: state.day.last, scale: instrument.priceScale)
    out.append(#","vol24h":"#)
    out.append(quoted: state.day.volume, scale: instrument.sizeScale)
    out.append(#","volCcy24h":"#)
    if instrument.kind == .spot {
      out.append(quoteVolumeOf: state)
    } else {
      let contract = instrument.contractSize
      out.append(quoted: state.day.volume * contract.mantissa, scale: instrument.sizeScale + contract.scale)
    }
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#""}"#)
  }

  private static func type(_ instrument: SimulatedInstrument) -> String {
    switch instrument.kind {
    case .spot: "SPOT"
    case .perpetual: "SWAP"
    case .future: "FUTURES"
    }
  }

  private func append(_ instrument: SimulatedInstrument, _ type: String, to out: inout ByteBuffer) {
    out.append(#"{"instType":""#)
    out.append(type)
    out.append(#"","instId":""#)
    out.append(instrument.venueSymbol)
    if instrument.kind == .spot {
      out.append(#"","baseCcy":""#)
      out.append(instrument.base)
      out.append(#"","quoteCcy":""#)
      out.append(instrument.quote)
      out.append(#"","ctVal":"","ctMult":"","ctType":"","ctValCcy":"","settleCcy":"","tickSz":"#)
    } else {
      out.append(#"","baseCcy":"","quoteCcy":"","ctVal":"#)
      number(instrument.contractSize.mantissa, instrument.contractSize.scale, to: &out)
      out.append(#","ctMult":"1","ctType":"linear","ctValCcy":""#)
      out.append(instrument.base)
      out.append(#"","settleCcy":""#)
      out.append(instrument.quote)
      for name in [#"","instFamily":""#, #"","uly":""#] {
        out.append(name)
        out.append("\(instrument.base)-\(instrument.quote)")
      }
      out.append(#"","tickSz":"#)
    }
    number(instrument.tick, instrument.priceScale, to: &out)
    out.append(#","lotSz":"#)
    number(instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","minSz":"#)
    number(instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","state":"live","instIdCode":10458}"#)
  }
}

/// A client's request.
struct OKXRequest {
  /// Arguments of one request; further ones are ignored.
  static let argumentLimit = 1_000

  var id = ""
  var operation = ""
  var arguments: [(channel: String, name: String)] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "op") {
        operation = try json.decoded(try json.string())
      } else if json.equals(key, "id") {
        id = try json.decoded(try json.string())
      } else if json.equals(key, "args") {
        try json.arrayStart()
        while try json.nextElement() {
          var channel = ""
          var name = ""
          try json.objectStart()
          while let key = try json.nextKey() {
            if json.equals(key, "channel") {
              channel = try json.decoded(try json.string())
            } else if json.equals(key, "instId") {
              name = try json.decoded(try json.string())
            } else {
              try json.skipValue()
            }
          }
          if arguments.count < Self.argumentLimit { arguments.append((channel, name)) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}

extension Decimal64 {
  /// 0.0100 is 0.01, as OKX prints numbers.
  fileprivate var withoutTrailingZeros: Decimal64 {
    var result = self
    while result.scale > 0, result.mantissa % 10 == 0 {
      result.mantissa /= 10
      result.scale -= 1
    }
    return result
  }
}
