import Bytes
import MarketData

/// A client of the simulated Gemini.
final class GeminiSession: SimulatedSession {
  /// Whether it came by the archived socket.
  var isArchived = false
  /// Levels of the snapshot that a book begins with; nil for all, 0 for none.
  var snapshotDepth: Int?
  /// Of the archived socket a heartbeat.
  lazy var lastPing = opened
  /// The weight of requests, one each.
  lazy var weight = RequestCount(7_000, per: 10 * Microseconds.second, from: opened)
}

/// A stream: `btcusd@depth@100ms`; and `l2` of the archived socket.
enum GeminiChannel: String {
  case fastBook = "depth@100ms"
  case slowBook = "depth"
  case trade
  case quote = "bookTicker"
  case archive = "l2"

  var isBook: Bool { self == .fastBook || self == .slowBook || self == .archive }
}

/// Gemini's WebSocket: `depth` and `depth@100ms`, `trade`, `bookTicker`, the methods `ping`, `list_subscriptions` and
/// `depth`; REST `symbols`, `symbols/details`, `v2/ticker`, `pubticker`. The archived socket of older clients is in
/// `GeminiArchive`.
///
/// Names are in lower case, times are nanoseconds, numbers are strings with zeros behind them. The first message of a
/// book is the whole of it if the URL asked for that, and comes before the acknowledgement; each further one begins at
/// the number that the one before ended at. The numbers are of one sequence for all markets.
final class GeminiProtocol: DeskProtocol<GeminiSession, GeminiChannel> {
  static let pingInterval = 20 * Microseconds.second

  struct Book {
    var batch = LevelBatch()
    /// `u` of what was sent last.
    var number: Int64 = 0
  }

  /// By channel, of each instrument.
  lazy var books = Dictionary(
    uniqueKeysWithValues: [GeminiChannel.fastBook, .slowBook, .archive].map { ($0, indices.map { _ in Book() }) })
  /// The number of the latest change of any market.
  var number: Int64 = 1_764_527_605_000_000
  var restRequests: [Timestamp] = []

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "gemini", spelling: .padded, paths: ["/", "", archivePath, archivePath + "/"])
  }

  // MARK: - Connections

  override func welcome(_ session: GeminiSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    session.isArchived = request.path.hasPrefix(Self.archivePath)
    guard !session.isArchived else { return }
    guard let wanted = Int(request["snapshot"] ?? "0"), wanted >= -1 else {
      throw SimulatedRefusal(status: 400, reason: "Bad Request")
    }
    session.snapshotDepth = wanted == -1 ? nil : wanted
  }

  override func left(_ streams: [Stream], _ session: GeminiSession) {
    for stream in streams where stream.channel.isBook && desk.isEmpty(stream.channel, stream.instrument) {
      books[stream.channel]![stream.instrument].batch.removeAll()
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    for case let session as GeminiSession in sessions where session.isArchived { tendArchive(session, now) }
    super.tick(now, sessions: sessions)
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    if ticks % 2 == 0 {
      flush(.fastBook, index)
      flush(.archive, index)
    }
    if ticks % 20 == 0 { flush(.slowBook, index) }
  }

  override func tend(_ session: GeminiSession, _ now: Timestamp) {
    guard !session.isArchived, now - session.lastPing >= Self.pingInterval else { return }
    session.lastPing = now
    session.ping(Array("\(now.rawValue / 1_000)".utf8))
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: GeminiSession) {
    if session.isArchived { return receiveArchived(text, session) }
    guard let request = try? ClientMessage(text) else { return fail("null", 400, -1000, "Malformed request", session) }
    // As it stood, to be echoed.
    let id = request["id"].isThere ? request["id"].raw : "null"
    guard session.weight.take(at: now) else { return fail(id, 429, -1003, "Too many requests", session) }
    let method = request["method"].text.lowercased()
    switch method {
    case "subscribe", "unsubscribe": subscribe(request, id, session, isStart: method == "subscribe")
    case "list_subscriptions":
      let names = desk.streams(of: session).map { spell($0.instrument).name + "@" + $0.channel.rawValue }
      session.say(#"{"id":\#(id),"status":200,"result":[\#(names: names)]}"#)
    case "ping": session.say(#"{"id":\#(id),"status":200}"#)
    case "depth": sendDepth(request["params"], id, session)
    default: fail(id, 400, -1020, "Unsupported operation", session)
    }
  }

  private func fail(_ id: String, _ status: Int, _ code: Int, _ message: String, _ session: GeminiSession) {
    session.say(#"{"id":\#(id),"status":\#(status),"error":{"code":\#(code),"msg":\#(json: message)}}"#)
  }

  private func subscribe(_ request: ClientMessage, _ id: String, _ session: GeminiSession, isStart: Bool) {
    var wanted: [Stream] = []
    for text in request["params"].texts {
      let parts = text.split(separator: "@", maxSplits: 1)
      guard parts.count == 2, let channel = GeminiChannel(rawValue: String(parts[1])), channel != .archive,
        let index = index(of: parts[0].lowercased()), !isRefused(index, channel) || !isStart
      else { return fail(id, 400, -1013, "Invalid stream name: \(text)", session) }
      wanted.append(Stream(channel, index))
    }
    for stream in wanted {
      if !isStart { leave(stream, session) } else if !desk.has(session, stream) { join(stream, session) }
    }
    session.say(#"{"id":\#(id),"status":200}"#)
  }

  override func begin(_ stream: Stream, _ session: GeminiSession) {
    let (channel, index) = (stream.channel, stream.instrument)
    guard channel.isBook else { return }
    // What is gathered belongs to those who were there before; the snapshot has it already.
    flush(channel, index)
    guard channel != .archive else { return session.send(.bookSnapshot, instrument: index, whole(index)) }
    if desk.isEmpty(channel, index) { books[channel]![index].number = number }
    sendSnapshot(channel, index, session)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    publishArchived(change)
    number += max(1, change.lastUpdateID - change.firstUpdateID + 1)
    for channel in [GeminiChannel.fastBook, .slowBook] where !desk.isEmpty(channel, index) {
      books[channel]![index].batch.add(change)
    }
    for trade in change.trades { send(.trade, index, .trade, self.trade(trade, index)) }
    if change.isTopChanged { send(.quote, index, .quote, quote(index)) }
  }

  private func sendSnapshot(_ channel: GeminiChannel, _ index: Int, _ session: GeminiSession) {
    guard session.snapshotDepth != 0 else { return }
    let book = state(index).book
    let depth = session.snapshotDepth ?? max(book.bids.count, book.asks.count)
    let last = books[channel]![index].number
    session.send(.bookSnapshot, instrument: index, self.book(index, last, last, book.top(depth)))
  }

  func flush(_ channel: GeminiChannel, _ index: Int) {
    guard let changed = books[channel]![index].batch.take() else { return }
    guard channel != .archive else {
      return send(.archive, index, .book(isVisible: true), "\(changes(index, changed))}")
    }
    let previous = books[channel]![index].number
    books[channel]![index].number = number
    // Changes are in no order: worst first here.
    send(channel, index, .book(isVisible: true), book(index, previous, number, changed.reversed))
  }

  private func sendDepth(_ parameters: ClientMessage, _ id: String, _ session: GeminiSession) {
    let symbol = parameters["symbol"].text.lowercased()
    guard let index = index(of: symbol) else {
      return fail(id, 400, -1121, "Invalid symbol: \(symbol)", session)
    }
    let depth = Int(min(max(parameters["limit"].integer ?? 100, 1), 5_000))
    let (book, i) = (state(index).book, spell(index))
    session.say(
      #"""
      {"id":\#(id),"status":200,"result":{"lastUpdateId":\#(number),"bids":\#(i.pairs(book.top(.bid, depth))),\#
      "asks":\#(i.pairs(book.top(.ask, depth)))}}
      """#)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
