import Bytes
import MarketData

/// A client of the simulated Bitfinex.
final class BitfinexSession: SimulatedSession {
  struct Channel {
    let number: Int64
    let stream: SubscriberTable<BitfinexChannel>.Stream
    var heartbeat: Timestamp
  }

  var flags: Int64 = 0
  /// Data messages since the flag was set that asks for their count.
  var count: Int64 = 0
  /// The numbers of what it has subscribed to.
  var channels: [Channel] = []
  lazy var idleSince = opened
  var subscriptions = 0
  /// The number of the channel that was left last, which may be given again.
  var freed: Int64?

  func has(_ flag: Int64) -> Bool { flags & flag != 0 }
}

enum BitfinexChannel: Hashable {
  /// Which of `BitfinexProtocol.lengths`.
  case book(length: Int)
  case trades
  case ticker
}

/// Bitfinex' public v2 socket: `book` (P0, F0) of 1, 25, 100 and 250 levels, `trades`, `ticker`, ping, `conf` with
/// counts, times and checksums; REST `conf`.
///
/// A message carries one level. Every channel has a number of the connection and a heartbeat each 15 s. Levels that
/// fall out of the window come as removals.
final class BitfinexProtocol: DeskProtocol<BitfinexSession, BitfinexChannel> {
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
  private struct Book {
    var window: BookWindow
    var isChanged = false
    var checked = Timestamp.distantPast
  }

  /// By instrument × lengths.
  private var books: [Book]
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

  override init(market: SimulatedMarket, faults: FaultInjector) {
    books = market.instruments.flatMap { _ in Self.lengths.map { Book(window: BookWindow(depth: $0)) } }
    tickerDue = faults.now + Self.tickerInterval
    super.init(market: market, faults: faults)
  }

  override class var facts: SimulatedFacts {
    SimulatedFacts(
      name: "bitfinex", spelling: .script, paths: ["/ws/2", "/ws/2/"], special: [.checksum, .plannedShutdown, .names])
  }

  // MARK: - Connections

  override func welcome(_ session: BitfinexSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    let now = now
    opened.removeAll { now - $0 >= Microseconds.minute }
    if opened.count >= Self.connectionLimit { shutUntil = now + Microseconds.minute }
    guard now >= shutUntil else { throw SimulatedRefusal(status: 429, reason: "Too Many Requests") }
    opened.append(now)
    session.say(
      #"""
      {"event":"info","version":2,"serverId":"fb5877a3-6a46-4b4d-a7f1-6d8d1d9c3b52",\#
      "platform":{"status":\#(maintainedUntil == nil ? 1 : 0)}}
      """#)
  }

  /// A restart one time, maintenance and its end the other.
  override func announceShutdown(to session: SimulatedSession) {
    if announcedAt != now { announcements += 1 }
    announcedAt = now
    if announcements % 2 == 1 {
      inform(20_051, "Stopping. Please try to reconnect", session)
    } else {
      inform(20_060, "Entering in Maintenance mode. Please pause any activity", session)
      maintainedUntil = now + Self.maintenance
    }
  }

  /// Changes during the maintenance are not sent: a client that keeps its old books has wrong ones.
  private func endMaintenance(_ sessions: [SimulatedSession]) {
    maintainedUntil = nil
    for index in books.indices { _ = books[index].window.move(to: state(index / Self.lengths.count).book) }
    for session in sessions { inform(20_061, "Maintenance ended. You can resume normal activity", session) }
  }

  private func inform(_ code: Int, _ message: String, _ session: SimulatedSession) {
    session.say(#"{"event":"info","code":\#(code),"msg":\#(json: message)}"#)
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: BitfinexSession) {
    // What is no JSON is not answered.
    guard let request = try? ClientMessage(text) else { return }
    switch request["event"].text {
    case "ping":
      let id: JSONText = request["cid"].integer.map { #","cid":\#($0)"# } ?? ""
      session.say(#"{"event":"pong","ts":\#(ms: now)\#(id)}"#)
    case "conf":
      session.flags = request["flags"].integer ?? 0
      session.say(#"{"event":"conf","status":"OK","flags":\#(session.flags)}"#)
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      let number = request["chanId"].integer ?? 0
      guard let index = session.channels.firstIndex(where: { $0.number == number }) else {
        return fail("unsubscribe: invalid", 10_400, request, session)
      }
      leave(session.channels.remove(at: index).stream, session)
      session.freed = number
      session.idleSince = now
      session.say(#"{"event":"unsubscribed","status":"OK","chanId":\#(number)}"#)
    default: fail("event: unknown", 10_000, request, session)
    }
  }

  /// As text, or as a number, which is taken too.
  private static func length(_ request: ClientMessage) -> Int { Int(request["len"].integer ?? 25) }
  private static func precision(_ request: ClientMessage) -> String {
    request["prec"].isThere ? request["prec"].text : "P0"
  }

  private func subscribe(_ request: ClientMessage, _ session: BitfinexSession) {
    let kind: BitfinexChannel
    switch request["channel"].text {
    case "book":
      let frequency = request["freq"].isThere ? request["freq"].text : "F0"
      guard Self.precision(request) == "P0", frequency == "F0",
        let length = Self.lengths.firstIndex(of: Self.length(request))
      else { return fail("prec, freq or len: invalid", 10_300, request, session) }
      kind = .book(length: length)
    case "trades": kind = .trades
    case "ticker": kind = .ticker
    default: return fail("channel: unknown", 10_300, request, session)
    }
    guard let index = listed(request["symbol"].text, on: kind) else {
      return fail("symbol: invalid", 10_300, request, session)
    }
    let stream = Stream(kind, index)
    guard !desk.has(session, stream) else { return fail("subscribe: dup", 10_301, request, session) }
    guard session.channels.count < Self.channelLimit else {
      return fail("subscribe: limit", 10_305, request, session)
    }
    session.subscriptions += 1
    var number = 1_000 * Int64(session.id) + 7 * Int64(session.subscriptions)
    if session.subscriptions % 3 == 0, let freed = session.freed {
      number = freed
      session.freed = nil
    }
    let channel = BitfinexSession.Channel(number: number, stream: stream, heartbeat: now)
    // A heartbeat has been seen before the acknowledgement of its channel.
    if session.subscriptions % 4 == 1 { send(channel, .heartbeat, session, #""hb""#) }
    session.channels.append(channel)
    acknowledge(channel, request, session)
    join(stream, session)
  }

  override func begin(_ stream: Stream, _ session: BitfinexSession) {
    let (index, state) = (stream.instrument, state(stream.instrument))
    guard let channel = session.channels.first(where: { $0.stream == stream }) else { return }
    switch stream.channel {
    case .book(let length):
      let slot = index * Self.lengths.count + length
      if desk.isEmpty(stream.channel, index) {
        _ = books[slot].window.move(to: state.book)
        books[slot].isChanged = false
        books[slot].checked = now
      }
      send(channel, .bookSnapshot, session, book(index, Self.lengths[length]))
    case .trades:
      let rows = JSONText.list(state.recentTrades.suffix(30).reversed()) { trade($0, index) }
      send(channel, .trade, session, "[\(rows)]")
    case .ticker: send(channel, .ticker, session, ticker(index))
    }
  }

  private func fail(_ message: String, _ code: Int, _ request: ClientMessage, _ session: BitfinexSession) {
    let symbol = request["symbol"].text
    let isSubscription = request["event"].text == "subscribe"
    let book: JSONText =
      request["channel"].text == "book"
      ? #","prec":\#(json: Self.precision(request)),"len":\#(json: String(Self.length(request)))"# : ""
    let subject: JSONText =
      isSubscription ? #""channel":\#(json: request["channel"].text),"symbol":\#(json: symbol)\#(book),"# : ""
    let pair: JSONText = isSubscription ? #","pair":\#(json: String(symbol.dropFirst()))"# : ""
    session.say(#"{\#(subject)"event":"error","msg":\#(json: message),"code":\#(code)\#(pair)}"#)
  }

  private func acknowledge(
    _ channel: BitfinexSession.Channel, _ request: ClientMessage, _ session: BitfinexSession
  ) {
    let (name, symbol) = (request["channel"].text, request["symbol"].text)
    let book: JSONText =
      name == "book" ? #","prec":"P0","freq":"F0","len":\#(json: String(Self.length(request)))"# : ""
    session.say(
      #"""
      {"event":"subscribed","channel":\#(json: name),"chanId":\#(channel.number),"symbol":\#(json: symbol)\#(book),\#
      "pair":\#(json: String(symbol.dropFirst()))}
      """#)
  }

  // MARK: - Data

  /// Sends `[number,…]` with the count and the time that the session asked for.
  private func send(
    _ channel: BitfinexSession.Channel, _ kind: SimulatedFrameKind, _ session: BitfinexSession, _ text: JSONText
  ) {
    // A channel that has died counts nothing.
    guard !faults.isMuted(Self.content(channel.stream.channel), of: channel.stream.instrument) else { return }
    if session.has(Self.countFlag) { session.count += 1 }
    let count: JSONText = session.has(Self.countFlag) ? ",\(session.count)" : ""
    let time: JSONText = session.has(Self.timeFlag) ? ",\(ms: now)" : ""
    session.send(kind, instrument: channel.stream.instrument, "[\(channel.number),\(text)\(count)\(time)]")
  }

  private static func content(_ channel: BitfinexChannel) -> SimulatedContent {
    switch channel {
    case .book: .book
    case .trades: .trades
    case .ticker: .ticker
    }
  }

  /// Sends to all subscribers of a channel, to each with its own number and count.
  private func tell(
    _ kind: BitfinexChannel, _ index: Int, _ frame: SimulatedFrameKind, having flag: Int64 = 0,
    _ text: @autoclosure () -> JSONText
  ) {
    for case let session as BitfinexSession in desk.sessions(of: kind, index) where session.flags & flag == flag {
      guard let channel = session.channels.first(where: { $0.stream == Stream(kind, index) }) else { continue }
      send(channel, frame, session, text())
    }
  }

  override func publish(_ change: SimulatedChange) {
    guard maintainedUntil == nil else { return }
    let index = change.instrument
    for trade in change.trades {
      untold.append((index, trade))
      tell(.trades, index, .trade, #""te",\#(self.trade(trade, index))"#)
    }
    guard !change.bids.isEmpty || !change.asks.isEmpty else { return }
    for length in Self.lengths.indices where !desk.isEmpty(.book(length: length), index) {
      let slot = index * Self.lengths.count + length
      let changes = books[slot].window.move(to: state(index).book).labelled(Int64(1), -1)
      // What has gone before what has come, so that the book is crossed after no message: in the recorded sessions it
      // never is.
      let levels = changes.filter { $0.level.size == 0 } + changes.filter { $0.level.size != 0 }
      for (position, item) in levels.enumerated() {
        let isLast = position == levels.count - 1
        tell(
          .book(length: length), index, isLast ? .book(isVisible: true) : .bookPart, level(item.level, item.side, index)
        )
      }
      if !levels.isEmpty { books[slot].isChanged = true }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    if let until = maintainedUntil {
      guard now >= until else { return }
      endMaintenance(sessions)
    }
    for (index, trade) in untold { tell(.trades, index, .trade, #""tu",\#(self.trade(trade, index))"#) }
    untold.removeAll(keepingCapacity: true)
    for slot in books.indices where books[slot].isChanged && now - books[slot].checked >= Self.checksumInterval {
      sendChecksum(slot)
    }
    if now >= tickerDue {
      tickerDue = now + Self.tickerInterval
      for index in indices { tell(.ticker, index, .ticker, ticker(index)) }
    }
    for case let session as BitfinexSession in sessions {
      for slot in session.channels.indices where now - session.channels[slot].heartbeat >= Self.heartbeatInterval {
        session.channels[slot].heartbeat = now
        send(session.channels[slot], .heartbeat, session, #""hb""#)
      }
      if isIdle(session, since: session.idleSince, Self.idleLimit) { session.abort() }
    }
  }

  private func sendChecksum(_ slot: Int) {
    books[slot].isChanged = false
    books[slot].checked = now
    let (index, length) = (slot / Self.lengths.count, slot % Self.lengths.count)
    // Over what the subscribers have, which may be fewer levels than it would cover.
    guard Self.lengths[length] >= BitfinexChecksum.depth else { return }
    let checksum = BitfinexChecksum.of(state(index).book, state(index).instrument, scratch: &scratch)
    tell(
      .book(length: length), index, .book(isVisible: true), having: Self.checksumFlag, #""cs",\#(checksum)"#)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
