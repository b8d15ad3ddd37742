import Bytes
import MarketData

/// A client of the simulated Gemini.
final class GeminiSession: SimulatedSession {
  /// Levels of the snapshot that a book begins with; nil for all, 0 for none.
  var snapshotDepth: Int?
  var subscriptions: [GeminiSubscription] = []
  var lastPing: Timestamp
  /// Weight of requests in the ten seconds under way.
  var weight = 0
  var weightStart: Timestamp

  required init(id: Int, faults: FaultInjector) {
    lastPing = faults.now
    weightStart = faults.now
    super.init(id: id, faults: faults)
  }
}

/// A stream: `btcusd@depth@100ms`.
struct GeminiSubscription: Hashable {
  enum Stream: String, CaseIterable {
    case fastBook = "depth@100ms"
    case slowBook = "depth"
    case trade
    case quote = "bookTicker"

    var isBook: Bool { self == .fastBook || self == .slowBook }
  }
  let stream: Stream
  let instrument: Int
}

/// Gemini's WebSocket: `depth` and `depth@100ms`, `trade`, `bookTicker`, the methods `ping`, `list_subscriptions` and `depth`; REST
/// `symbols`, `symbols/details`, `v2/ticker`, `pubticker`. The archived socket of older clients is `GeminiArchive`.
///
/// Names are in lower case, times are nanoseconds, numbers are strings with zeros behind them. The first message of a book is the whole of it
/// if the URL asked for that, and comes before the acknowledgement; each further one begins at the number that the one before ended at. The
/// numbers are of one sequence for all markets.
final class GeminiProtocol: VenueProtocol {
  static let pingInterval = 20 * Microseconds.second
  /// Weight of requests in ten seconds, one each.
  static let weightLimit = 7_000
  /// REST requests in a minute.
  static let restLimit = 120

  private struct Book {
    var batch = LevelBatch()
    /// `u` of what was sent last.
    var number: Int64
    var subscribers = Subscribers<GeminiSession>()
  }

  /// By stream × instrument.
  private var books: [GeminiSubscription.Stream: [Book]] = [:]
  private var streams: [GeminiSubscription.Stream: [Subscribers<GeminiSession>]] = [:]
  /// The number of the latest change of any market.
  var number: Int64 = 1_764_527_605_000_000
  private var ticks = 0
  var restRequests: [Timestamp] = []
  private var archive: GeminiArchive

  init(market: SimulatedMarket, faults: FaultInjector) {
    archive = GeminiArchive(market: market, faults: faults)
    for stream in GeminiSubscription.Stream.allCases {
      if stream.isBook {
        books[stream] = market.instruments.map { _ in Book(number: 0) }
      } else {
        streams[stream] = Array(repeating: Subscribers(), count: market.instruments.count)
      }
    }
    super.init(name: "gemini", market: market, faults: faults)
  }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    if path == GeminiArchive.path || path == GeminiArchive.path + "/" { return archive.open(id: id) }
    guard path == "/" || path.isEmpty else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let wanted = query.first { $0.name == "snapshot" }.map { Int($0.value) } ?? 0
    guard let wanted, wanted >= -1 else { throw SimulatedRefusal(status: 400, reason: "Bad Request") }
    let session = GeminiSession(id: id, faults: faults)
    session.snapshotDepth = wanted == -1 ? nil : wanted
    return session
  }

  override func closed(_ session: SimulatedSession) {
    if let session = session as? GeminiArchiveSession { archive.closed(session) }
    guard let session = session as? GeminiSession else { return }
    for subscription in session.subscriptions { remove(subscription, session) }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    archive.tick(now, sessions)
    for index in market.instruments.indices {
      if ticks % 2 == 0 {
        flush(.fastBook, index)
        archive.flush(index)
      }
      if ticks % 20 == 0 { flush(.slowBook, index) }
    }
    for case let session as GeminiSession in sessions where now - session.lastPing >= Self.pingInterval {
      session.lastPing = now
      session.ping(Array("\(now.rawValue / 1_000)".utf8))
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    if let session = session as? GeminiArchiveSession { archive.receive(text, from: session) }
    guard let session = session as? GeminiSession else { return }
    let request: GeminiRequest
    do throws(JSONError) {
      request = try GeminiRequest(text)
    } catch {
      return fail("null", 400, -1000, "Malformed request", session)
    }
    if faults.now - session.weightStart >= 10 * Microseconds.second {
      session.weightStart = faults.now
      session.weight = 0
    }
    session.weight += 1
    guard session.weight <= Self.weightLimit else {
      return fail(request.id, 429, -1003, "Too many requests", session)
    }
    switch request.method {
    case "subscribe": subscribe(request, session)
    case "unsubscribe":
      guard let wanted = subscriptions(of: request, session) else { return }
      session.subscriptions.removeAll { wanted.contains($0) }
      for subscription in wanted { remove(subscription, session) }
      succeed(request.id, session)
    case "list_subscriptions":
      let names = session.subscriptions.map { "\"\(name($0))\"" }
      session.send { $0.append("{\"id\":\(request.id),\"status\":200,\"result\":[\(names.joined(separator: ","))]}") }
    case "ping": succeed(request.id, session)
    case "depth": sendDepth(request, session)
    default: fail(request.id, 400, -1020, "Unsupported operation", session)
    }
  }

  private func succeed(_ id: String, _ session: GeminiSession) {
    session.send { $0.append("{\"id\":\(id),\"status\":200}") }
  }

  private func fail(_ id: String, _ status: Int, _ code: Int, _ message: String, _ session: GeminiSession) {
    session.send { out in
      out.append("{\"id\":\(id),\"status\":\(status),\"error\":{\"code\":\(code),\"msg\":")
      out.append(json: message)
      out.append("}}")
    }
  }

  private func name(_ subscription: GeminiSubscription) -> String {
    market.instruments[subscription.instrument].instrument.venueSymbol + "@" + subscription.stream.rawValue
  }

  /// Nil, and answered, if one of them is bad.
  private func subscriptions(of request: GeminiRequest, _ session: GeminiSession) -> [GeminiSubscription]? {
    var wanted: [GeminiSubscription] = []
    for text in request.streams {
      let parts = text.split(separator: "@", maxSplits: 1)
      guard parts.count == 2, let stream = GeminiSubscription.Stream(rawValue: String(parts[1])),
        let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == parts[0].lowercased() }),
        !isRefused(index) || request.method == "unsubscribe"
      else {
        fail(request.id, 400, -1013, "Invalid stream name: \(text)", session)
        return nil
      }
      wanted.append(GeminiSubscription(stream: stream, instrument: index))
    }
    return wanted
  }

  private func subscribe(_ request: GeminiRequest, _ session: GeminiSession) {
    guard let wanted = subscriptions(of: request, session) else { return }
    for subscription in wanted where !session.subscriptions.contains(subscription) {
      session.subscriptions.append(subscription)
      let index = subscription.instrument
      guard subscription.stream.isBook else {
        streams[subscription.stream]![index].insert(session)
        continue
      }
      // What is gathered belongs to those who were there before; the snapshot has it already.
      flush(subscription.stream, index)
      if books[subscription.stream]![index].subscribers.isEmpty { books[subscription.stream]![index].number = number }
      books[subscription.stream]![index].subscribers.insert(session)
      sendSnapshot(subscription.stream, index, session)
    }
    succeed(request.id, session)
  }

  private func remove(_ subscription: GeminiSubscription, _ session: GeminiSession) {
    if subscription.stream.isBook {
      books[subscription.stream]![subscription.instrument].subscribers.remove(session)
      if books[subscription.stream]![subscription.instrument].subscribers.isEmpty {
        books[subscription.stream]![subscription.instrument].batch.removeAll()
      }
    } else {
      streams[subscription.stream]![subscription.instrument].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    archive.publish(change)
    number += max(1, change.lastUpdateID - change.firstUpdateID + 1)
    for stream in [GeminiSubscription.Stream.fastBook, .slowBook] where !books[stream]![index].subscribers.isEmpty {
      books[stream]![index].batch.add(change)
    }
    for trade in change.trades {
      streams[.trade]![index].send(.trade, instrument: index) { appendTrade(trade, index, to: &$0) }
    }
    if change.isTopChanged {
      streams[.quote]![index].send(.quote, instrument: index) { appendQuote(index, to: &$0) }
    }
  }

  private func sendSnapshot(_ stream: GeminiSubscription.Stream, _ index: Int, _ session: GeminiSession) {
    guard session.snapshotDepth != 0 else { return }
    let book = market.instruments[index].book
    let depth = session.snapshotDepth ?? max(book.bids.count, book.asks.count)
    let last = books[stream]![index].number
    session.send(.bookSnapshot, instrument: index) { out in
      appendBook(index, last, last, book.top(.bid, depth), book.top(.ask, depth), to: &out)
    }
  }

  private func flush(_ stream: GeminiSubscription.Stream, _ index: Int) {
    guard !books[stream]![index].batch.isEmpty else { return }
    let (bids, asks) = (books[stream]![index].batch.sortedBids, books[stream]![index].batch.sortedAsks)
    books[stream]![index].batch.removeAll()
    let previous = books[stream]![index].number
    books[stream]![index].number = number
    books[stream]![index].subscribers.send(.book(isVisible: true), instrument: index) { out in
      // Changes are in no order: worst first here.
      appendBook(index, previous, number, bids.reversed(), asks.reversed(), to: &out)
    }
  }

  private func sendDepth(_ request: GeminiRequest, _ session: GeminiSession) {
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == request.symbol }) else {
      return fail(request.id, 400, -1121, "Invalid symbol: \(request.symbol)", session)
    }
    let depth = min(max(request.limit, 1), 5_000)
    let book = market.instruments[index].book
    session.send { out in
      out.append("{\"id\":\(request.id),\"status\":200,\"result\":{\"lastUpdateId\":\(number),\"bids\":")
      append(book.top(.bid, depth), index, to: &out)
      out.append(#","asks":"#)
      append(book.top(.ask, depth), index, to: &out)
      out.append("}}")
    }
  }
}
