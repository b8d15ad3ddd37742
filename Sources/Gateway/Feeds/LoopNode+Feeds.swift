import MarketData
import PubSub
import Transport
import Venues

/// The feeds of a loop: what operators ask of them, and what a reload changes.
extension LoopNode {
  /// Goes on with a feed that ran before its node was there; `number` is its place among all feeds of the gateway. On
  /// the loop. O(instruments).
  /// - Parameter share: connections to the venue, this one included.
  func adopt(
    _ session: FeedSession, number: Int, tls: TLSClientContext?, recorder: (any FeedRecorder)?, share: Int
  ) {
    let (pipeline, configuration) = (session.pipeline, session.configured)
    let slot = publisher.add(market: pipeline.market, venue: pipeline.venue.name)
    session.move(to: self, slot: slot, recorder: recorder)
    pipeline.market.bridgesTrades = history != nil
    follow(session, configuration: configuration, tls: tls, share: share)
    begin(session, number: number)
    var changes = MarketChanges()
    pipeline.market.appendPresent(to: &changes)
    if history == nil {
      for state in pipeline.market.instruments {
        pipeline.market.beginWithoutPast(of: state.instrument.id, into: &changes)
      }
    }
    feed(session, changed: changes, at: clock.now())
  }

  /// Has history kept of a feed, and asks its venue what its assets are called.
  func follow(_ session: FeedSession, configuration: FeedConfiguration, tls: TLSClientContext?, share: Int) {
    history?.add(session, configuration: configuration, tls: tls, share: share)
    let (node, venue) = (nodes[0], session.pipeline.venue)
    node.loop.execute { node.names?.add(venue, configuration: configuration, tls: tls) }
  }

  /// The reports of this loop's feeds, with entries where the venue or the connection is called `name`. On the loop.
  func feedErrors(of name: String) -> [FeedErrorReport] {
    loop.assertOnLoop()
    return feeds.map { feed in
      let venue = feed.pipeline.venue
      let isAsked = venue.name == name || venue.label == name
      return FeedErrorReport(
        venue: venue.name, connection: venue.label, counts: isAsked ? feed.pipeline.errors.counts : [],
        entries: isAsked ? feed.pipeline.errors.entries : [])
    }
  }

  /// The slot of the feed of a connection; nil if it is not on this loop, or was ended.
  private func slot(of connection: String) -> Int? {
    loop.assertOnLoop()
    return feeds.indices.first { feeds[$0].pipeline.venue.label == connection && !endedFeeds.contains($0) }
  }

  /// Has a feed follow other symbols, or another endpoint. On the loop.
  func change(feed connection: String, to configuration: FeedConfiguration) {
    guard let slot = slot(of: connection) else { return }
    (feeds[slot] as? FeedSession)?.follow(configuration)
  }

  /// Ends a feed: its venue, where it has no other connection, and its instruments are listed no more. On the loop.
  /// Returns false if it is not here.
  @discardableResult
  func end(feed connection: String) -> Bool {
    guard let slot = slot(of: connection) else { return false }
    let feed = feeds[slot]
    feed.stop()
    endedFeeds.insert(slot)
    let number = feedNumbers[slot]
    let symbols = feed.pipeline.market.instruments.map(\.instrument.symbol)
    for node in nodes { node.loop.execute { node.forget(symbols, feed: number) } }
    return true
  }

  /// Ends a feed's connection and makes another; false if it is not here. On the loop.
  func reconnect(feed connection: String) -> Bool {
    guard let slot = slot(of: connection), let session = feeds[slot] as? FeedSession else { return false }
    session.lost("an operator asked for another connection", clock.now())
    return true
  }

  /// Has every book of a feed rebuilt; false if it is not here. On the loop.
  func resync(feed connection: String) -> Bool {
    guard let slot = slot(of: connection), let session = feeds[slot] as? FeedSession else { return false }
    session.pipeline.lostTrack(now: clock.now())
    session.settle(clock.now())
    return true
  }

  /// Does something with one symbol of a feed; nil if the feed is not here. On the loop.
  func order(
    _ order: SymbolOrder, symbol: String, feed connection: String
  ) -> FeedSession.SymbolOutcome? {
    guard let slot = slot(of: connection), let session = feeds[slot] as? FeedSession else { return nil }
    switch order {
    case .stop: return session.stop(symbol: symbol)
    case .start: return session.start(symbol: symbol)
    case .resync: return session.resync(symbol: symbol, clock.now())
    }
  }

  /// What may be asked of a single symbol.
  enum SymbolOrder: Sendable { case stop, start, resync }

  /// Begins a feed again that was ended, with what it is to follow now; false if there is none. On the loop.
  func begin(feed connection: String, _ configuration: FeedConfiguration) -> Bool {
    loop.assertOnLoop()
    guard let slot = feeds.indices.first(where: { feeds[$0].pipeline.venue.label == connection }),
      let session = feeds[slot] as? FeedSession
    else { return false }
    endedFeeds.remove(slot)
    session.start()
    session.follow(configuration)
    announceAll(of: slot)
    return true
  }

  func feed(_ feed: any Feed, leftOut symbols: [String]) {
    for node in nodes { node.loop.execute { node.forget(symbols) } }
  }

  /// Lists symbols no more, and a feed's state, where it has ended.
  private func forget(_ symbols: [String], feed number: Int? = nil) {
    for symbol in symbols { hub.directory.entries[symbol] = nil }
    alerts.forget(symbols)
    if let number { forgetStatus(of: number) }
  }

  /// Takes over settings that may change while the gateway runs. On the loop.
  func apply(_ settings: NodeSettings) {
    loop.assertOnLoop()
    self.settings = settings
    hub.apply(settings.clientLimits)
  }
}
