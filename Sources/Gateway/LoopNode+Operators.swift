import Bytes
import Feeds
import HTTPAPI
import Logging
import MarketData
import Operations
import PubSub
import Transport
import Venues
import WebSocket

/// The gateway as its operators see it from this loop.
extension LoopNode: OperatedGateway {
  var loops: [EventLoop] { nodes.map(\.loop) }
  var identity: (node: String, epoch: String) { (settings.node, settings.epoch) }
  var readyFeeds: Int { settings.readyFeeds }
  var internalHosts: [String] { settings.internalHosts }
  var log: Logger { settings.log }
  var refusalLog: RefusalLog? { settings.refusalLog }

  func keep(_ session: HTTPSession, for connection: Connection) { clients.add(session, for: connection) }
  func release(_ connection: Connection) { clients.remove(connection) }

  func askLoop<Value: Sendable>(
    _ loop: Int, _ question: @escaping @Sendable (any OperatedLoop) -> Value, then: @escaping (Value) -> Void
  ) { ask(loop, question, then: then) }
}

/// This loop as the questions of operators see it.
extension LoopNode: OperatedLoop {
  var totals: LoopTotals {
    loop.assertOnLoop()
    return LoopTotals(
      uptime: loop.uptime, turns: loop.times.turns, lag: loop.times.lag, delivery: delivery.toSocket,
      frames: metrics.framesSent, messages: feeds.all.map { UInt64($0.pipeline.counts.messages) },
      arrivals: delivery.toArrival)
  }

  var figures: LoopFigures {
    loop.assertOnLoop()
    var metrics = metrics
    let counts = compression.counts
    metrics.framesCompressed = counts.made
    metrics.compressedFramesSent = counts.frames
    metrics.bytesBeforeCompression = counts.bytesBefore
    metrics.bytesAfterCompression = counts.bytesAfter
    metrics.streams = publisher.subscribedStreams
    metrics.streamsKept = publisher.keptStreams - metrics.streams
    metrics.replayBytes = publisher.ringBytes
    metrics.delivery = delivery.toSocket
    metrics.hub = HubFigures(hub)
    return LoopFigures(
      metrics: metrics, feeds: feeds.running.map { feedMetrics($0) },
      loop: LoopMetrics(index: loop.index, times: loop.times), backfill: history?.backfillFigures ?? .init())
  }

  private func feedMetrics(_ feed: any Feed) -> FeedMetrics {
    let arrivals = delivery.toArrival
    return FeedMetrics(
      feed, startedAt: feeds.starts[feed.slot], arrival: feed.slot < arrivals.count ? arrivals[feed.slot] : nil)
  }

  func state(_ pace: LoopPace) -> NodeState {
    let totals = totals
    let reports = feedReports
    var states: [NodeState.FeedState] = []
    var books: [NodeState.BookState] = []
    for (feed, report) in zip(feeds.all, reports) {
      states.append(
        .init(
          report, feed.status, messages: pace.messages(of: feed.slot),
          arrival: pace.recentArrival(totals, of: feed.slot)))
      if !report.isStopped { books += NodeState.BookState.all(of: feed) }
    }
    let slow = clients.sessions.lazy.compactMap { $0?.client }.filter { [hub] in
      hub.isWatched($0) || hub.isDegraded($0)
    }
    .compactMap { self.clientReport(of: $0) }
    return NodeState(
      loop: NodeState.Loop(
        index: loop.index, clients: clients.openCount, feeds: feeds.running.count, busy: pace.busy,
        turn: pace.recentTurns(totals).quantile(0.99), lag: pace.recentLag(totals).quantile(0.99)),
      feeds: states, books: books, slow: Array(slow), metrics: metrics, hub: HubFigures(hub),
      frames: pace.frames, delivery: pace.recentDelivery(totals))
  }

  // MARK: Clients

  func clientReports(from slot: Int, limit: Int) -> [ClientReport] {
    loop.assertOnLoop()
    guard slot < clients.sessions.count else { return [] }
    return Array(clients.sessions[slot...].lazy.compactMap { $0 }.compactMap { self.report(of: $0) }.prefix(limit))
  }

  func clientReport(of client: ClientID) -> ClientReport? {
    loop.assertOnLoop()
    return clients.session(of: client).flatMap { report(of: $0) }
  }

  private func report(of session: StreamSession) -> ClientReport? {
    guard let figures = ClientFigures(session.client, of: hub) else { return nil }
    return ClientReport(
      ClientReport.ID(loop: loop.index, client: session.client), peer: session.address.description,
      isTLS: session.connection.isTLS, encoding: session.encoding, connected: loop.moment - session.openedAt,
      bytes: session.connection.bytesWritten, pace: session.pace.rates, figures: figures)
  }

  func disconnect(_ client: ClientID, reason: String) {
    hub.disconnect(client, code: CloseCode.disconnected, reason: reason, into: &work.actions)
  }

  // MARK: Feeds

  var feedReports: [FeedConnectionReport] {
    feeds.all.map { feed in
      FeedConnectionReport(feedMetrics(feed), feed.status, isStopped: feeds.ended.contains(feed.slot))
    }
  }

  func feedErrors(of name: String) -> [FeedErrorReport] { feeds.errors(of: name) }

  func perform(_ order: FeedOrder, on connection: String) -> Bool {
    switch order {
    case .reconnect: feeds.reconnect(connection)
    case .resync: feeds.resync(connection)
    case .stop: feeds.end(connection)
    }
  }

  func perform(_ order: SymbolOrder, on symbol: String, of connection: String) -> FeedSession.SymbolOutcome? {
    feeds.order(order, symbol: symbol, of: connection)
  }
}
