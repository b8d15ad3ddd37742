import MarketData

/// The path of a tick, once:
///
///     message → FeedHandler.receive → events → Market.apply → changes → the caller publishes them
///
/// One pipeline per feed, owned by the loop of its connection. It knows neither the socket nor the hub: whoever has the bytes
/// hands them in, takes `changes` and `takeActions()` after every call, and then calls `clear()`.
package final class FeedPipeline {
  package let handler: FeedHandler
  package let market: Market
  /// What the calls since `clear()` changed, in order.
  package private(set) var changes = MarketChanges()
  /// Why the last message that was refused was refused.
  package private(set) var lastError: FeedError?
  private var batch = EventBatch()

  /// A book that is rebuilt may be reset again by what its rebuild brings (a snapshot with a wrong checksum): each round takes
  /// at least one book out of sync for a while, so this only guards against a handler that does not.
  private static let rounds = 8

  package init(venue: Venue, configuration: FeedConfiguration) {
    handler = venue.makeHandler(configuration)
    market = Market(configuration: venue.market)
  }

  package var counts: FeedCounts { handler.counts }

  /// Takes one text message of the venue. A message that cannot be read changes nothing but the book it belonged to; the
  /// reason stands in `lastError`.
  package func receive(_ message: RawSpan, now: Timestamp) {
    batch.removeAll()
    do throws(FeedError) {
      try handler.receive(message, now: now, into: &batch)
    } catch {
      lastError = error
    }
    apply(now)
  }

  package func prepare(now: Timestamp) {
    batch.removeAll()
    handler.prepare(now: now, into: &batch)
    apply(now)
  }

  package func connected(now: Timestamp) {
    batch.removeAll()
    handler.connected(now: now, into: &batch)
    apply(now)
  }

  package func disconnected(now: Timestamp) {
    batch.removeAll()
    handler.disconnected(now: now, into: &batch)
    apply(now)
    market.disconnect(into: &changes)
  }

  /// The answer to a `.get`; status 0 if there is none.
  package func response(to request: Int, status: Int, body: RawSpan, now: Timestamp) {
    batch.removeAll()
    handler.response(to: request, status: status, body: body, now: now, into: &batch)
    apply(now)
  }

  /// Moves the handler's time on; about four times a second.
  package func tick(now: Timestamp) {
    batch.removeAll()
    handler.tick(now: now, into: &batch)
    apply(now)
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
    for state in market.instruments where state.bookState == .live {
      batch.events.append(.bookReset(state.instrument.id, .gap))
    }
    apply(now)
  }

  /// What the handler wants done, in order; it is handed over once.
  package func takeActions() -> [FeedAction] {
    guard !handler.actions.isEmpty else { return [] }
    defer { handler.actions.removeAll(keepingCapacity: true) }
    return handler.actions
  }

  /// Empties `changes` and keeps its memory.
  package func clear() { changes.removeAll() }

  private func apply(_ now: Timestamp) {
    guard !batch.events.isEmpty else { return }
    let start = changes.items.count
    market.apply(batch, now: now, into: &changes)
    rebuild(from: start, now)
  }

  /// Tells the handler of every book that the market took out of sync, and applies what that comes to.
  private func rebuild(from start: Int, _ now: Timestamp) {
    var next = start
    for _ in 0..<Self.rounds {
      let end = changes.items.count
      guard next < end else { return }
      batch.removeAll()
      while next < end {
        if case .bookState(let instrument, .syncing(let reason?)) = changes.items[next], reason != .disconnected {
          handler.resync(instrument, reason: reason, now: now, into: &batch)
        }
        next += 1
      }
      guard !batch.events.isEmpty else { return }
      market.apply(batch, now: now, into: &changes)
    }
  }
}
