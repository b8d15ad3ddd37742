import Bytes
import Feeds
import MarketData
import Operations
import PubSub
import Transport
import Venues

extension NodeState {
  /// On the loop. O(clients + instruments).
  init(_ node: LoopNode, _ pace: LoopPace) {
    node.loop.assertOnLoop()
    let totals = LoopTotals(node)
    let reports = FeedReport.all(of: node)
    let feeds = zip(node.feeds.all, reports).map { feed, report in
      FeedState(
        report, indicator: report.isStopped ? "disconnected" : feed.status.state.indicator,
        since: feed.status.since, source: feed.status.source, messages: pace.messages(of: feed.slot),
        arrival: pace.recentArrival(totals, of: feed.slot))
    }
    var books: [BookState] = []
    for (feed, report) in zip(node.feeds.all, reports) where !report.isStopped {
      var reasons = feed.status.troubles
      for state in feed.pipeline.market.instruments where state.isCrossedForNow {
        reasons[state.instrument.symbol] = "bids and asks overlap"
      }
      books += reasons.map { BookState(connection: report.connection, symbol: $0.key, reason: $0.value) }
    }
    let slow = node.clients.sessions.lazy.compactMap { $0?.client }.filter {
      node.hub.isWatched($0) || node.hub.isDegraded($0)
    }
    .compactMap { ClientReport.one($0, of: node) }
    self.init(
      loop: Loop(
        index: node.loop.index, clients: node.clients.openCount, feeds: node.feeds.running.count, busy: pace.busy,
        turn: pace.recentTurns(totals).quantile(0.99), lag: pace.recentLag(totals).quantile(0.99)),
      feeds: feeds, books: books, slow: Array(slow), metrics: node.metrics, hub: HubFigures(node.hub),
      frames: pace.frames, delivery: pace.recentDelivery(totals))
  }
}

extension ClientReport {
  private init?(_ session: StreamSession, of node: LoopNode) {
    guard let figures = ClientFigures(session.client, of: node.hub) else { return nil }
    self.init(
      ID(loop: node.loop.index, client: session.client), peer: session.address.description,
      isTLS: session.connection.isTLS, encoding: session.encoding, connected: node.loop.moment - session.openedAt,
      bytes: session.connection.bytesWritten, pace: session.pace.rates, figures: figures)
  }

  /// A page of a loop's clients, in the order of their slots. On the loop. O(slots).
  static func page(of node: LoopNode, from slot: Int, limit: Int) -> [ClientReport] {
    node.loop.assertOnLoop()
    guard slot < node.clients.sessions.count else { return [] }
    return Array(
      node.clients.sessions[slot...].lazy.compactMap { $0 }.compactMap { ClientReport($0, of: node) }.prefix(limit))
  }

  /// One client; nil if it has gone. On the loop.
  static func one(_ client: ClientID, of node: LoopNode) -> ClientReport? {
    node.loop.assertOnLoop()
    guard Int(client.slot) < node.clients.sessions.count, let session = node.clients.sessions[Int(client.slot)],
      session.client == client
    else { return nil }
    return ClientReport(session, of: node)
  }
}

extension FeedReport {
  /// All of a loop's feeds, those that were stopped included. On the loop. O(instruments).
  static func all(of node: LoopNode) -> [FeedReport] {
    node.feeds.all.map { feed in
      FeedReport(
        FeedMetrics(feed, of: node), reason: feed.status.reason, isStopped: node.feeds.ended.contains(feed.slot),
        troubles: feed.status.troubles)
    }
  }
}

extension FeedStatus {
  /// The symbols that are not live, each with its reason.
  fileprivate var troubles: [String: String] {
    failed.merging(syncing) { failed, _ in failed }.merging(silenceReasons) { book, _ in book }
  }
}
