import Bytes
import MarketData

/// A client of the simulated Crypto.com.
final class CryptoComSession: SimulatedSession {
  var nextHeartbeat = Timestamp.distantFuture
  /// Heartbeats in a row that were not answered.
  var unanswered = 0
}

enum CryptoComChannel: String { case book, trade, ticker }

/// Crypto.com's market socket of the Exchange API v1: `book` of 50 levels as a snapshot and changes, `trade`, `ticker`,
/// heartbeats; REST `get-instruments`, `get-tickers`, `get-candlestick`.
///
/// A book is acknowledged by itself, and its snapshot comes a second later. The first message of a ticker has the
/// number of the request in the place of an acknowledgement. How trades are acknowledged is not known: of every other
/// market by themselves, and of the rest not at all.
final class CryptoComProtocol: DeskProtocol<CryptoComSession, CryptoComChannel> {
  static let depth = 50
  /// Requests a second of a connection.
  static let requestLimit = 100
  static let channelLimit = 400
  static let heartbeatInterval = 30 * Microseconds.second
  /// A book without changes says so after this long.
  static let idleInterval = 5 * Microseconds.second

  private struct Book {
    var window = BookWindow(depth: CryptoComProtocol.depth)
    /// The number that was told last, and when.
    var number: Int64 = 0
    var told = Timestamp.distantPast
    /// Those who have their snapshot.
    var begun: [SimulatedSession] = []
  }

  private lazy var books = indices.map { _ in Book() }
  private lazy var trades = indices.map { _ in [SimulatedTrade]() }
  /// Whether the figures of a market differ from those that were told.
  private lazy var isTickerDue = indices.map { _ in false }
  /// Subscribed, but without their snapshot yet.
  private var waiting: [(due: Timestamp, session: CryptoComSession, instrument: Int)] = []
  /// Of candles.
  var candleBudget = RequestBudget(100, perSecond: 100)

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "crypto-com", paths: ["/exchange/v1/market"])
  }

  // MARK: - Connections

  override func welcome(_ session: CryptoComSession, _ request: SimulatedRequest) throws(SimulatedRefusal) {
    // The first came 5 to 27 s after the connection.
    session.nextHeartbeat = now + Int64(5 + session.id % 22) * Microseconds.second
  }

  override func left(_ streams: [Stream], _ session: CryptoComSession) {
    for stream in streams where stream.channel == .book {
      waiting.removeAll { $0.session === session && $0.instrument == stream.instrument }
      books[stream.instrument].begun.removeAll { $0 === session }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    let due = waiting.filter { $0.due <= now }
    waiting.removeAll { $0.due <= now }
    for entry in due { beginBook(entry.instrument, entry.session) }
    super.tick(now, sessions: sessions)
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    flush(index)
    if !trades[index].isEmpty {
      send(.trade, index, .trade, trades(trades[index], index))
      trades[index].removeAll(keepingCapacity: true)
    }
    if ticks % 10 == 0, isTickerDue[index] {
      isTickerDue[index] = false
      send(.ticker, index, .ticker, ticker(index))
    }
  }

  override func tend(_ session: CryptoComSession, _ now: Timestamp) {
    guard now >= session.nextHeartbeat else { return }
    // A client is not blamed for messages that a deaf venue has missed.
    guard session.unanswered < 2 || session.wasUnheard else { return session.close(1000, "") }
    session.nextHeartbeat = now + Self.heartbeatInterval
    session.unanswered += 1
    session.send(.heartbeat, #"{"id":\#(ms: now),"method":"public/heartbeat","code":0}"#)
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: CryptoComSession) {
    // The venue does not answer text that is not JSON.
    guard let request = try? ClientMessage(text) else { return }
    guard !session.exceeds(Self.requestLimit) else {
      answer(request, session, code: 42_901, message: "TOO_MANY_REQUESTS")
      return session.close(1008, "too many requests")
    }
    switch request["method"].text {
    case "public/respond-heartbeat": session.unanswered = 0
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      answer(request, session)
      for name in request["params"]["channels"].texts { if let stream = stream(name) { leave(stream, session) } }
    default: answer(request, session, code: 40_003, message: "No such method")
    }
  }

  private func answer(
    _ request: ClientMessage, _ session: CryptoComSession, code: Int = 0, channel: String? = nil,
    message: String? = nil
  ) {
    let id = request["id"].integer ?? -1
    let named: JSONText = channel.map { #","channel":\#(json: $0)"# } ?? ""
    let reason: JSONText = message.map { #","message":\#(json: $0)"# } ?? ""
    session.say(
      #"{"id":\#(id),"method":\#(json: request["method"].text),"code":\#(code)\#(named)\#(reason)}"#)
  }

  /// Nil for what there is not.
  private func stream(_ name: String) -> Stream? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let channel = CryptoComChannel(rawValue: String(parts[0])),
      let index = listed(parts[1], on: channel)
    else { return nil }
    return Stream(channel, index)
  }

  /// Why a channel cannot be had; nil if it can.
  private func objection(_ name: String, _ parameters: ClientMessage) -> String? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, CryptoComChannel(rawValue: String(parts[0])) != nil else { return "Unrecognized channel" }
    guard stream(name) != nil else { return "Unknown symbol" }
    guard parts[0] == "book" else { return nil }
    guard parts.count == 3, ["10", "50", "150"].contains(parts[2]) else { return "Invalid depth" }
    // Whole books every 500 ms are not simulated.
    guard parameters["book_subscription_type"].text == "SNAPSHOT_AND_UPDATE" else {
      return "Invalid book_subscription_type"
    }
    return parts[2] == "50" && [10, 100].contains(parameters["book_update_frequency"].integer)
      ? nil : "Unsupported depth/interval combination"
  }

  private func subscribe(_ request: ClientMessage, _ session: CryptoComSession) {
    let (parameters, id) = (request["params"], request["id"].integer ?? -1)
    for name in parameters["channels"].texts {
      if let objection = objection(name, parameters) {
        answer(request, session, code: 40_003, channel: name, message: objection)
        continue
      }
      guard let stream = stream(name) else { continue }
      let isNew = desk.add(session, stream)
      guard desk.streams(of: session).count <= Self.channelLimit else {
        leave(stream, session)
        return answer(request, session, code: 40_107, message: "Maximum subscriptions exceeded")
      }
      switch stream.channel {
      case .book:
        answer(request, session, channel: name)
        guard isNew else { continue }
        // About a second by measurement; half of it for every other market.
        let delay = Microseconds.second / (stream.instrument % 2 == 0 ? 2 : 1)
        waiting.append((now + delay, session, stream.instrument))
      case .trade:
        if stream.instrument % 2 == 0 {
          answer(request, session, channel: name)
        } else if isNew {
          // Whether it begins with old trades is not known either: here of the same markets.
          let old = Array(state(stream.instrument).recentTrades.suffix(3))
          session.send(.trade, instrument: stream.instrument, trades(old, stream.instrument, id: id))
        }
      case .ticker: session.send(.ticker, instrument: stream.instrument, ticker(stream.instrument, id: id))
      }
    }
  }

  /// Sends a newcomer its snapshot; those who are there get before it what they have still to be told.
  private func beginBook(_ index: Int, _ session: CryptoComSession) {
    guard !session.isEnded else { return }
    if books[index].begun.isEmpty {
      _ = books[index].window.move(to: state(index).book)
      books[index].number = number(index)
      books[index].told = now
    } else {
      flush(index)
    }
    books[index].begun.append(session)
    session.send(.bookSnapshot, instrument: index, whole(index, books[index].number))
  }

  // MARK: - The market

  /// Numbers rise by thousands.
  private func number(_ index: Int) -> Int64 { state(index).updateID * 4_096 + 1_024 }

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    trades[index] += change.trades
    if change.isTopChanged || !change.trades.isEmpty { isTickerDue[index] = true }
  }

  private func flush(_ index: Int) {
    guard !books[index].begun.isEmpty else { return }
    let previous = books[index].number
    let changed = number(index) > previous ? books[index].window.move(to: state(index).book) : BookSides()
    let isIdle = changed.isEmpty
    guard !isIdle || now - books[index].told >= Self.idleInterval else { return }
    if !isIdle { books[index].number = number(index) }
    let age = isIdle ? now - books[index].told : 5_000
    books[index].told = now
    let text = change(index, books[index].number, after: previous, changed, age: age).shared
    for session in books[index].begun { session.send(text, .book(isVisible: !isIdle), instrument: index) }
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
