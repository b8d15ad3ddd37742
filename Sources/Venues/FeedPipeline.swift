import MarketData

/// The path of a tick, once:
///
///     message → FeedEngine.receive → events → Market.apply → changes → the caller publishes them
///
/// One pipeline per feed, owned by the loop of its connection. It knows neither the socket nor the publisher: the
/// caller passes the bytes, takes `changes` and `takeActions()` after every call, and then calls `clear()`.
package final class FeedPipeline {
  /// Another one after a planned change of connection.
  package internal(set) var engine: FeedEngine
  package let venue: Venue
  package let market: Market
  /// What the calls since `clear()` changed, in order.
  package internal(set) var changes = MarketChanges()
  /// Why the last message that was refused was refused.
  package private(set) var lastError: FeedError?
  /// The rejected messages.
  package internal(set) var errors = FeedErrorRing()
  var batch = EventBatch()

  private var refusals = SymbolRefusals()
  /// The on-demand data that clients want, by the market's instruments.
  var wishes: [InstrumentID: MarketWishes] = [:]

  // Of a planned change of connection, see `FeedHandover`.
  /// The trades of both connections; nil but for the while around a change.
  var overlap: TradeOverlap?
  /// The market's indices by those of the engine; nil while they are the same.
  var indices: [InstrumentID]?
  var lagging: LaggingBooks?
  /// What earlier engines counted, less what the present one had counted before it took over.
  var transferredCounts = FeedCounts()
  var transferredSymbolCounts: [SymbolCounts] = []

  /// A book that is rebuilt may be reset again by what its rebuild brings (a snapshot with a wrong checksum): each
  /// round takes at least one book out of sync for a while, so this only guards against an engine that does not.
  private static let rounds = 8

  package init(venue: Venue, configuration: FeedConfiguration) {
    self.venue = venue
    engine = venue.makeEngine(configuration)
    market = Market(configuration: venue.market)
    market.numbersTrades = engine.countsTrades
  }

  /// Takes one message of the venue. A message that cannot be read changes nothing but the book it belonged to; the
  /// reason stands in `lastError`, and the message in `errors`.
  /// - Parameter isBinary: whether it came in a binary frame. It is read all the same; only if that fails does it
  ///   count as `binary`.
  package func receive(_ message: RawSpan, isBinary: Bool = false, now: Timestamp) {
    batch.removeAll()
    do throws(FeedError) {
      try engine.receive(message, now: now, into: &batch)
    } catch {
      lastError = error
      note(isBinary ? FeedError(.binary, "binary frame: \(error.detail)") : error, message, now: now)
    }
    apply(now)
  }

  /// Notes something of the venue's that never got to the engine.
  package func note(_ error: FeedError, _ message: RawSpan, now: Timestamp) { errors.note(error, message, now: now) }

  package func prepare(now: Timestamp) {
    batch.removeAll()
    engine.prepare(now: now, into: &batch)
    apply(now)
  }

  package func connected(now: Timestamp) {
    batch.removeAll()
    engine.connected(now: now, into: &batch)
    apply(now)
  }

  package func disconnected(now: Timestamp) {
    batch.removeAll()
    engine.disconnected(now: now, into: &batch)
    engine.forgetConnection()
    lagging = nil
    apply(now)
    market.disconnect(into: &changes)
  }

  /// The answer to a `.get`; status 0 if there is none, then `body` is the reason as text.
  /// - Parameters:
  ///   - path: the requested path, for the report of an answer that cannot be used.
  ///   - retryAfter: how long the venue asks to wait before the next request, µs.
  ///   - readAhead: what a `ListReader` has made of the body.
  package func response(
    to request: Int, status: Int, body: RawSpan, now: Timestamp, path: String? = nil, retryAfter: Int64? = nil,
    readAhead: Result<ListPage, FeedError>? = nil
  ) {
    batch.removeAll()
    let error = engine.response(
      to: request, status: status, body: body, now: now, retryAfter: retryAfter, readAhead: readAhead, into: &batch)
    noteAnswer(status, body, error, path, now)
    apply(now)
  }

  private func noteAnswer(_ status: Int, _ body: RawSpan, _ error: FeedError?, _ path: String?, _ now: Timestamp) {
    guard status != 200 || error != nil else { return }
    let request = path.map { "GET \($0)" } ?? "request"
    switch status {
    case 0:
      let words = body.withUnsafeBytes { String(decoding: $0.prefix(FeedErrorRing.detailLimit), as: UTF8.self) }
      errors.note(FeedError(.answer, "\(request): no answer: \(words)"), body.extracting(first: 0), now: now)
    case 200: errors.note(FeedError(.answer, "\(request): \(error?.detail ?? "could not be read")"), body, now: now)
    default: errors.note(FeedError(.answer, "\(request): status \(status)"), body, now: now)
    }
  }

  /// Moves the engine's time on; about four times a second.
  package func tick(now: Timestamp) {
    batch.removeAll()
    engine.tick(now: now, into: &batch)
    if !engine.notices.isEmpty { takeNotices(now) }
    if !refusals.isEmpty { askAgain(now) }
    apply(now)
    if lagging != nil { catchUp(now) }
  }

  private func takeNotices(_ now: Timestamp) {
    for notice in engine.notices {
      let text = Array(notice.text.utf8)
      errors.note(notice.error, text.span.bytes, now: now)
    }
    engine.notices.removeAll()
  }

  /// The venue refused a symbol. Returns when it is asked for again, without another connection; nil if it is not.
  package func refused(_ symbol: String, now: Timestamp) -> Timestamp? {
    engine.isAskedAgain(symbol) ? refusals.note(symbol, now: now) : nil
  }

  /// A symbol that had been refused is followed.
  package func accepted(_ symbol: String) { refusals.forget(symbol) }

  private func askAgain(_ now: Timestamp) {
    let symbols = refusals.takeDue(now: now)
    if !symbols.isEmpty { engine.retry(symbols, now: now, into: &batch) }
  }

  /// Moves the market's time on; when `market.nextDeadline` has come.
  package func advance(now: Timestamp) {
    let start = changes.items.count
    market.advance(to: now, into: &changes)
    rebuild(from: start, now)
  }

  /// Messages are missing here, and nobody knows of which symbols: every book is out of sync until it has a snapshot.
  package func lostTrack(now: Timestamp) {
    batch.removeAll()
    for state in market.instruments where state.isKept {
      batch.events.append(.bookReset(state.instrument.id, .gap))
    }
    apply(now)
  }

  /// The book of one symbol, `kraken:BTC-USD`, is out of sync until it has another snapshot. False if it is not
  /// followed, or has no book.
  package func lostTrack(of symbol: String, now: Timestamp) -> Bool {
    guard let state = market.instruments.first(where: { $0.instrument.symbol == symbol }), state.isKept else {
      return false
    }
    batch.removeAll()
    batch.events.append(.bookReset(state.instrument.id, .gap))
    apply(now)
    return true
  }

  /// Why the book of an instrument is left alone for now; nil unless it has failed too often.
  package func failure(of instrument: InstrumentID) -> BookFailure? {
    index(of: instrument).flatMap { engine.failure(of: $0) }
  }

  /// What the engine wants done, in order; it is handed over once.
  package func takeActions() -> [FeedAction] {
    guard !engine.actions.isEmpty else { return [] }
    defer { engine.actions.removeAll(keepingCapacity: true) }
    return engine.actions
  }

  /// Empties `changes` and keeps its memory.
  package func clear() { changes.removeAll() }

  func apply(_ now: Timestamp) {
    guard !batch.events.isEmpty else { return }
    if isAdapting { adapt(now) }
    let start = changes.items.count
    market.apply(batch, now: now, into: &changes)
    rebuild(from: start, now)
    if lagging != nil { catchUp(now) }
  }

  /// Tells the engine of every book that the market took out of sync and of every channel that it found dead, and
  /// applies what that comes to.
  func rebuild(from start: Int, _ now: Timestamp) {
    var next = start
    for _ in 0..<Self.rounds {
      let end = changes.items.count
      guard next < end else { return }
      batch.removeAll()
      while next < end {
        if case .bookState(let instrument, .syncing(let reason?)) = changes.items[next], reason != .disconnected,
          !market[instrument].isCrossedForNow
        {
          if let index = index(of: instrument) { engine.resync(index, reason: reason, now: now, into: &batch) }
        } else if case .channel(let instrument, let channel, let state) = changes.items[next],
          let index = index(of: instrument)
        {
          switch state {
          case .live: break
          case .doubted: engine.askForFigures(of: index, now: now)
          case .silent(let attempt): engine.revive(index, channel, attempt: attempt, now: now)
          }
        }
        next += 1
      }
      guard !batch.events.isEmpty else { return }
      if isAdapting { adapt(now) }
      market.apply(batch, now: now, into: &changes)
    }
  }
}
