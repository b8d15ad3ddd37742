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

  required init(id: Int, faults: FaultInjector) {
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
  /// Of candles.
  var candleBudget = RequestBudget(30, perSecond: 0.5, penalty: Microseconds.minute)

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    books = market.instruments.flatMap { _ in Self.lengths.map { Stream(window: BookWindow(depth: $0)) } }
    trades = Array(repeating: Subscribers(), count: count)
    tickers = Array(repeating: Subscribers(), count: count)
    tickerDue = faults.now + Self.tickerInterval
    super.init(name: "bitfinex", market: market, faults: faults)
  }

  override var webSocketPath: String { "/ws/2" }

  override class var special: Set<Fault.Kind> { [.checksum, .plannedShutdown] }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
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
      let changes = bids.map { (level: $0, sign: Int64(1)) } + asks.map { (level: $0, sign: Int64(-1)) }
      // What has gone before what has come, so that the book is crossed after no message: in the recorded sessions it never is.
      let levels = changes.filter { $0.level.size == 0 } + changes.filter { $0.level.size != 0 }
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
}
