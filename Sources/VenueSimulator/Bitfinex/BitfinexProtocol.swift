import Bytes
import MarketData

/// A client of the simulated Bitfinex.
final class BitfinexSession: SimulatedSession {
  enum Kind: Hashable {
    /// Which of `BitfinexProtocol.lengths`.
    case book(length: Int)
    case trades
    case ticker
  }

  struct Channel {
    let number: Int64
    let kind: Kind
    let instrument: Int
    var heartbeat: Timestamp
  }

  var flags: Int64 = 0
  /// Data messages since the flag was set that asks for their count.
  var count: Int64 = 0
  var channels: [Channel] = []
  var idleSince: Timestamp
  var subscriptions = 0
  /// The number of the channel that was left last, which may be given again.
  var freed: Int64?

  override init(id: Int, faults: FaultInjector) {
    idleSince = faults.now
    super.init(id: id, faults: faults)
  }

  func has(_ flag: Int64) -> Bool { flags & flag != 0 }
}

/// Bitfinex' public v2 socket: `book` (P0, F0) of 1, 25, 100 and 250 levels, `trades`, `ticker`, ping, `conf` with counts, times and
/// checksums; REST `conf`.
///
/// A message carries one level. Every channel has a number of the connection and a heartbeat each 15 s. Levels that fall out of the
/// window come as removals.
final class BitfinexProtocol: VenueProtocol {
  static let timeFlag: Int64 = 32_768
  static let countFlag: Int64 = 65_536
  static let checksumFlag: Int64 = 131_072

  static let lengths = [1, 25, 100, 250]
  /// Channels of a connection; one more is refused.
  static let channelLimit = 36
  /// Connections a minute, beyond which an address is shut out for a minute.
  static let connectionLimit = 20
  static let heartbeatInterval = 15 * Microseconds.second
  static let checksumInterval = 2_500 * Microseconds.millisecond
  static let tickerInterval = 5 * Microseconds.second
  /// A connection without a channel is closed after it.
  static let idleLimit = 60 * Microseconds.second
  /// How long maintenance takes.
  static let maintenance = 500 * Microseconds.millisecond

  /// A book of one length, as its subscribers know it.
  private struct Stream {
    var window: BookWindow
    var isChanged = false
    var checked = Timestamp.distantPast
    var subscribers = Subscribers<BitfinexSession>()
  }

  /// By instrument × lengths.
  private var books: [Stream]
  private var trades: [Subscribers<BitfinexSession>]
  private var tickers: [Subscribers<BitfinexSession>]
  /// Trades that were told with `te` and are still to be told with `tu`.
  private var untold: [(instrument: Int, trade: SimulatedTrade)] = []
  private var tickerDue: Timestamp
  private var opened: [Timestamp] = []
  private var shutUntil = Timestamp.distantPast
  private var announcements = 0
  private var announcedAt = Timestamp.distantPast
  private var maintainedUntil: Timestamp?
  private var scratch = ByteBuffer(capacity: 4096)

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = market.instruments.flatMap { _ in Self.lengths.map { Stream(window: BookWindow(depth: $0)) } }
    trades = Array(repeating: Subscribers(), count: count)
    tickers = Array(repeating: Subscribers(), count: count)
    tickerDue = faults.now + Self.tickerInterval
    super.init(name: "bitfinex", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws/2" }

  override class func objection(to kind: Fault.Kind) -> String? {
    kind == .staleSnapshot ? "its books come in the stream" : nil
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/ws/2" || path == "/ws/2/" else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let now = faults.now
    opened.removeAll { now - $0 >= Microseconds.minute }
    if opened.count >= Self.connectionLimit { shutUntil = now + Microseconds.minute }
    guard now >= shutUntil else { throw SimulatedRefusal(status: 429, reason: "Too Many Requests") }
    opened.append(now)
    let session = BitfinexSession(id: id, faults: faults)
    session.send { out in
      out.append(
        #"{"event":"info","version":2,"serverId":"fb5877a3-6a46-4b4d-a7f1-6d8d1d9c3b52","platform":{"status":"#)
      out.append(maintainedUntil == nil ? "1}}" : "0}}")
    }
    return session
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BitfinexSession else { return }
    for channel in session.channels { leave(channel, session) }
  }

  /// A restart one time, maintenance and its end the other.
  override func announceShutdown(to session: SimulatedSession) {
    if announcedAt != faults.now { announcements += 1 }
    announcedAt = faults.now
    if announcements % 2 == 1 {
      inform(20_051, "Stopping. Please try to reconnect", session)
    } else {
      inform(20_060, "Entering in Maintenance mode. Please pause any activity", session)
      maintainedUntil = faults.now + Self.maintenance
    }
  }

  private func inform(_ code: Int64, _ message: String, _ session: SimulatedSession) {
    session.send { out in
      out.append(#"{"event":"info","code":"#)
      out.append(integer: code)
      out.append(#","msg":"#)
      out.append(json: message)
      out.append("}")
    }
  }

  /// What happened meanwhile is told to nobody: whoever goes on with the old books has wrong ones.
  private func endMaintenance(_ sessions: [SimulatedSession]) {
    maintainedUntil = nil
    for stream in books.indices { _ = books[stream].window.move(to: book(of: stream)) }
    for session in sessions { inform(20_061, "Maintenance ended. You can resume normal activity", session) }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BitfinexSession else { return }
    // What is no JSON is not answered.
    guard let request = try? BitfinexRequest(text) else { return }
    switch request.event {
    case "ping":
      session.send { out in
        out.append(#"{"event":"pong","ts":"#)
        out.append(integer: faults.now.rawValue / 1_000)
        if let id = request.id {
          out.append(#","cid":"#)
          out.append(id)
        }
        out.append("}")
      }
    case "conf":
      session.flags = request.flags
      session.send { out in
        out.append(#"{"event":"conf","status":"OK","flags":"#)
        out.append(integer: request.flags)
        out.append("}")
      }
    case "subscribe": subscribe(request, session)
    case "unsubscribe": unsubscribe(request, session)
    default: fail("event: unknown", 10_000, request, session)
    }
  }

  private func fail(_ message: String, _ code: Int64, _ request: BitfinexRequest, _ session: BitfinexSession) {
    session.send { out in
      out.append("{")
      if request.event == "subscribe" {
        out.append(#""channel":"#)
        out.append(json: request.channel)
        out.append(#","symbol":"#)
        out.append(json: request.symbol)
        if request.channel == "book" {
          out.append(#","prec":"#)
          out.append(json: request.precision)
          out.append(#","len":"#)
          out.append(json: request.length)
        }
        out.append(",")
      }
      out.append(#""event":"error","msg":"#)
      out.append(json: message)
      out.append(#","code":"#)
      out.append(integer: code)
      if request.event == "subscribe" {
        out.append(#","pair":"#)
        out.append(json: String(request.symbol.dropFirst()))
      }
      out.append("}")
    }
  }

  private func subscribe(_ request: BitfinexRequest, _ session: BitfinexSession) {
    let kind: BitfinexSession.Kind
    switch request.channel {
    case "book":
      guard request.precision == "P0", request.frequency == "F0", let length = Int(request.length),
        let index = Self.lengths.firstIndex(of: length)
      else { return fail("prec, freq or len: invalid", 10_300, request, session) }
      kind = .book(length: index)
    case "trades": kind = .trades
    case "ticker": kind = .ticker
    default: return fail("channel: unknown", 10_300, request, session)
    }
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == request.symbol }),
      !isRefused(index)
    else { return fail("symbol: invalid", 10_300, request, session) }
    guard !session.channels.contains(where: { $0.kind == kind && $0.instrument == index }) else {
      return fail("subscribe: dup", 10_301, request, session)
    }
    guard session.channels.count < Self.channelLimit else {
      return fail("subscribe: limit", 10_305, request, session)
    }
    add(kind, index, request, session)
  }

  private func add(
    _ kind: BitfinexSession.Kind, _ index: Int, _ request: BitfinexRequest, _ session: BitfinexSession
  ) {
    session.subscriptions += 1
    var number = 1_000 * Int64(session.id) + 7 * Int64(session.subscriptions)
    if session.subscriptions % 3 == 0, let freed = session.freed {
      number = freed
      session.freed = nil
    }
    let channel = BitfinexSession.Channel(number: number, kind: kind, instrument: index, heartbeat: faults.now)
    // A heartbeat has been seen before the acknowledgement of its channel.
    if session.subscriptions % 4 == 1 { send(channel, .heartbeat, session) { $0.append(#""hb""#) } }
    session.channels.append(channel)
    acknowledge(channel, request, session)
    switch kind {
    case .book(let length):
      let stream = index * Self.lengths.count + length
      if books[stream].subscribers.isEmpty {
        _ = books[stream].window.move(to: market.instruments[index].book)
        books[stream].isChanged = false
        books[stream].checked = faults.now
      }
      books[stream].subscribers.insert(session)
      send(channel, .bookSnapshot, session) { appendBook(index, Self.lengths[length], to: &$0) }
    case .trades:
      trades[index].insert(session)
      let list = market.instruments[index].recentTrades.suffix(30).reversed()
      send(channel, .trade, session) { out in
        out.append("[")
        for (position, trade) in list.enumerated() {
          if position > 0 { out.append(",") }
          append(trade, index, to: &out)
        }
        out.append("]")
      }
    case .ticker:
      tickers[index].insert(session)
      send(channel, .ticker, session) { appendTicker(index, to: &$0) }
    }
  }

  private func acknowledge(
    _ channel: BitfinexSession.Channel, _ request: BitfinexRequest, _ session: BitfinexSession
  ) {
    session.send { out in
      out.append(#"{"event":"subscribed","channel":"#)
      out.append(json: request.channel)
      out.append(#","chanId":"#)
      out.append(integer: channel.number)
      out.append(#","symbol":"#)
      out.append(json: request.symbol)
      if request.channel == "book" {
        out.append(#","prec":"P0","freq":"F0","len":"#)
        out.append(json: request.length)
      }
      out.append(#","pair":"#)
      out.append(json: String(request.symbol.dropFirst()))
      out.append("}")
    }
  }

  private func unsubscribe(_ request: BitfinexRequest, _ session: BitfinexSession) {
    guard let place = session.channels.firstIndex(where: { $0.number == request.number }) else {
      return fail("unsubscribe: invalid", 10_400, request, session)
    }
    leave(session.channels.remove(at: place), session)
    session.freed = request.number
    session.idleSince = faults.now
    session.send { out in
      out.append(#"{"event":"unsubscribed","status":"OK","chanId":"#)
      out.append(integer: request.number)
      out.append("}")
    }
  }

  private func leave(_ channel: BitfinexSession.Channel, _ session: BitfinexSession) {
    switch channel.kind {
    case .book(let length): books[channel.instrument * Self.lengths.count + length].subscribers.remove(session)
    case .trades: trades[channel.instrument].remove(session)
    case .ticker: tickers[channel.instrument].remove(session)
    }
  }

  // MARK: - Data

  /// Sends `[number,…]` with the count and the time that the session asked for.
  private func send(
    _ channel: BitfinexSession.Channel, _ kind: SimulatedFrameKind, _ session: BitfinexSession,
    _ body: (inout ByteBuffer) -> Void
  ) {
    if session.has(Self.countFlag) { session.count += 1 }
    session.send(kind, instrument: channel.instrument) { out in
      out.append("[")
      out.append(integer: channel.number)
      out.append(",")
      body(&out)
      if session.has(Self.countFlag) {
        out.append(",")
        out.append(integer: session.count)
      }
      if session.has(Self.timeFlag) {
        out.append(",")
        out.append(integer: faults.now.rawValue / 1_000)
      }
      out.append("]")
    }
  }

  /// Sends to all subscribers of a channel, to each with its own number and count.
  private func send(
    _ kind: BitfinexSession.Kind, _ index: Int, _ frame: SimulatedFrameKind,
    to subscribers: Subscribers<BitfinexSession>,
    _ body: (inout ByteBuffer) -> Void
  ) {
    for session in subscribers.sessions {
      guard let channel = session.channels.first(where: { $0.kind == kind && $0.instrument == index }) else { continue }
      send(channel, frame, session, body)
    }
  }

  private func book(of stream: Int) -> SimulatedBook { market.instruments[stream / Self.lengths.count].book }

  override func publish(_ change: SimulatedChange) {
    guard maintainedUntil == nil else { return }
    let index = change.instrument
    for trade in change.trades {
      untold.append((index, trade))
      send(.trades, index, .trade, to: trades[index]) { out in
        out.append(#""te","#)
        append(trade, index, to: &out)
      }
    }
    guard !change.bids.isEmpty || !change.asks.isEmpty else { return }
    for length in Self.lengths.indices {
      let stream = index * Self.lengths.count + length
      guard !books[stream].subscribers.isEmpty else { continue }
      let (bids, asks) = books[stream].window.move(to: market.instruments[index].book)
      let levels = bids.map { (level: $0, sign: Int64(1)) } + asks.map { (level: $0, sign: Int64(-1)) }
      for (position, item) in levels.enumerated() {
        let isLast = position == levels.count - 1
        send(
          .book(length: length), index, isLast ? .book(isVisible: true) : .bookPart, to: books[stream].subscribers
        ) { append(item.level, sign: item.sign, index, to: &$0) }
      }
      if !levels.isEmpty { books[stream].isChanged = true }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    if let until = maintainedUntil {
      guard now >= until else { return }
      endMaintenance(sessions)
    }
    for (index, trade) in untold {
      send(.trades, index, .trade, to: trades[index]) { out in
        out.append(#""tu","#)
        append(trade, index, to: &out)
      }
    }
    untold.removeAll(keepingCapacity: true)
    for stream in books.indices where books[stream].isChanged && now - books[stream].checked >= Self.checksumInterval {
      sendChecksum(stream, now)
    }
    if now >= tickerDue {
      tickerDue = now + Self.tickerInterval
      for index in tickers.indices {
        send(.ticker, index, .ticker, to: tickers[index]) { appendTicker(index, to: &$0) }
      }
    }
    for case let session as BitfinexSession in sessions {
      for place in session.channels.indices where now - session.channels[place].heartbeat >= Self.heartbeatInterval {
        session.channels[place].heartbeat = now
        send(session.channels[place], .heartbeat, session) { $0.append(#""hb""#) }
      }
      if session.channels.isEmpty, now - session.idleSince >= Self.idleLimit { session.abort() }
    }
  }

  private func sendChecksum(_ stream: Int, _ now: Timestamp) {
    books[stream].isChanged = false
    books[stream].checked = now
    let index = stream / Self.lengths.count
    let length = stream % Self.lengths.count
    // Over what the subscribers have, which may be fewer levels than it would cover.
    guard Self.lengths[length] >= BitfinexChecksum.depth else { return }
    let checksum = BitfinexChecksum.of(book(of: stream), market.instruments[index].instrument, scratch: &scratch)
    for session in books[stream].subscribers.sessions where session.has(Self.checksumFlag) {
      guard
        let channel = session.channels.first(where: { $0.kind == .book(length: length) && $0.instrument == index })
      else { continue }
      send(channel, .book(isVisible: true), session) { out in
        out.append(#""cs","#)
        out.append(integer: Int64(checksum))
      }
    }
  }

  // MARK: - Texts

  private func appendBook(_ index: Int, _ length: Int, to out: inout ByteBuffer) {
    let book = market.instruments[index].book
    out.append("[")
    let bids = book.top(.bid, length)
    for (position, level) in bids.enumerated() {
      if position > 0 { out.append(",") }
      append(level, sign: 1, index, to: &out)
    }
    for (position, level) in book.top(.ask, length).enumerated() {
      if position > 0 || !bids.isEmpty { out.append(",") }
      append(level, sign: -1, index, to: &out)
    }
    out.append("]")
  }

  /// `[price,orders,amount]`; a removal has no orders, and an amount of 1 that only says the side.
  private func append(_ level: PriceLevel, sign: Int64, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append("[")
    out.append(script: level.price, scale: instrument.priceScale)
    out.append(",")
    out.append(integer: level.size == 0 ? 0 : 1 + level.size % 5)
    out.append(",")
    if level.size == 0 {
      out.append(integer: sign)
    } else {
      out.append(script: level.size * sign, scale: instrument.sizeScale)
    }
    out.append("]")
  }

  private func append(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append("[")
    out.append(integer: trade.id)
    out.append(",")
    out.append(integer: trade.time.rawValue / 1_000)
    out.append(",")
    out.append(script: trade.side == .buy ? trade.size : -trade.size, scale: instrument.sizeScale)
    out.append(",")
    out.append(script: trade.price, scale: instrument.priceScale)
    out.append("]")
  }

  private func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    out.append("[")
    appendFigures(index, to: &out)
    // Fields have been added behind these.
    out.append(",null]")
  }

  private func appendFigures(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let day = state.day
    func sum(_ side: BookSide) -> Int64 { state.book.top(side, 25).reduce(0) { $0 + $1.size } }
    out.append(script: state.book.bestBid?.price ?? 0, scale: price)
    out.append(",")
    out.append(script: sum(.bid), scale: size)
    out.append(",")
    out.append(script: state.book.bestAsk?.price ?? 0, scale: price)
    out.append(",")
    out.append(script: sum(.ask), scale: size)
    out.append(",")
    out.append(script: day.last - day.open, scale: price)
    out.append(",")
    out.append(script: Int64(Int128(day.last - day.open) * 10_000 / Int128(day.open)), scale: 4)
    out.append(",")
    out.append(script: day.last, scale: price)
    out.append(",")
    out.append(script: day.volume, scale: size)
    out.append(",")
    out.append(script: day.high, scale: price)
    out.append(",")
    out.append(script: day.low, scale: price)
  }

  // MARK: - REST

  /// `/v2/conf/a,b`: an array with the answer to each.
  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if path == "/v2/tickers" { return allTickers() }
    let prefix = "/v2/conf/"
    guard path.hasPrefix(prefix) else {
      return SimulatedResponse(status: 404, body: #"["error",10020,"path: invalid"]"#)
    }
    let listed = market.instruments.indices.filter { !isRefused($0) }.map { market.instruments[$0].instrument }
    var out = ByteBuffer(capacity: 1024)
    out.append("[")
    for (position, name) in path.dropFirst(prefix.count).split(separator: ",").enumerated() {
      if position > 0 { out.append(",") }
      switch name {
      case "pub:list:pair:exchange": Self.append(listed.map { String($0.venueSymbol.dropFirst()) }, to: &out)
      case "pub:list:currency":
        var names: [String] = []
        for instrument in listed {
          for name in [Self.currency(instrument.base), Self.currency(instrument.quote)] where !names.contains(name) {
            names.append(name)
          }
        }
        Self.append(names, to: &out)
      case "pub:map:currency:sym": out.append(#"[["UST","USDt"],["ALG","ALGO"]]"#)
      case "pub:info:pair":
        out.append("[")
        for (index, instrument) in listed.enumerated() {
          if index > 0 { out.append(",") }
          out.append("[")
          out.append(json: String(instrument.venueSymbol.dropFirst()))
          out.append(#",[null,null,null,""#)
          out.append(script: instrument.minimumSize, scale: instrument.sizeScale)
          out.append(#"","100000.0",null,null,null,null,null,null,null]]"#)
        }
        out.append("]")
      default: out.append("[]")
      }
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  /// Of all pairs: as a ticker in the stream, behind the name.
  private func allTickers() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 2 << 10)
    out.append("[")
    for index in market.instruments.indices where !isRefused(index) {
      out.append("[")
      out.append(json: market.instruments[index].instrument.venueSymbol)
      out.append(",")
      appendFigures(index, to: &out)
      out.append("],")
    }
    out.append(
      #"["fUSD",0.0003,0.0002,30,3939629.6,0.00019,2,307776.1,-0.00005,-0.2344,0.00019,122156333.4,0.0002,6.8e-7]]"#)
    return SimulatedResponse(body: out.description)
  }

  private static func currency(_ name: String) -> String { name == "USDT" ? "UST" : name }

  private static func append(_ names: [String], to out: inout ByteBuffer) {
    out.append("[")
    for (index, name) in names.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: name)
    }
    out.append("]")
  }
}
