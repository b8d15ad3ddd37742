import Feeds
import HTTPAPI
import MarketData
import Operations
import PubSub
import Transport
import Venues

/// What operators ask of feeds, and what a reload changes.
extension LoopFeeds {
  /// The reports of this loop's feeds, with entries where the venue or the connection is called `name`. On the loop.
  func errors(of name: String) -> [FeedErrorReport] {
    node.loop.assertOnLoop()
    return all.map { feed in
      let venue = feed.pipeline.venue
      let isAsked = venue.name == name || venue.label == name
      return FeedErrorReport(
        venue: venue.name, connection: venue.label, counts: isAsked ? feed.pipeline.errors.counts : [],
        entries: isAsked ? feed.pipeline.errors.entries : [])
    }
  }

  private func session(of connection: String) -> FeedSession? {
    slot(of: connection).flatMap { self[$0] as? FeedSession }
  }

  /// Makes a feed follow other symbols, or use another endpoint. On the loop.
  func change(_ connection: String, to configuration: FeedConfiguration) {
    guard let session = session(of: connection) else { return }
    let now = node.clock.now()
    session.follow(configuration, now)
    settle(session, now)
  }

  /// Ends a feed's connection and opens another; false if the feed is not on this loop. On the loop.
  func reconnect(_ connection: String) -> Bool {
    guard let session = session(of: connection) else { return false }
    let now = node.clock.now()
    session.lost("an operator requested a new connection", now)
    settle(session, now)
    return true
  }

  /// Rebuilds every book of a feed; false if the feed is not on this loop. On the loop.
  func resync(_ connection: String) -> Bool {
    guard let session = session(of: connection) else { return false }
    let now = node.clock.now()
    session.pipeline.lostTrack(now: now)
    settle(session, now)
    return true
  }

  /// Performs an order about one symbol; nil if the feed is not on this loop. On the loop.
  func order(_ order: SymbolOrder, symbol: String, of connection: String) -> FeedSession.SymbolOutcome? {
    guard let session = session(of: connection) else { return nil }
    let now = node.clock.now()
    defer { settle(session, now) }
    switch order {
    case .stop: return session.stop(symbol: symbol, now)
    case .start: return session.start(symbol: symbol, now)
    case .resync: return session.resync(symbol: symbol, now)
    }
  }
}
