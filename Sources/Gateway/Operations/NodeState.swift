import Bytes
import Feeds
import MarketData
import PubSub
import Transport
import Venues

/// One loop's part of the `StateDocument`. Made on the loop while there are viewers: O(clients + instruments).
struct NodeState: Sendable {
  /// The state of one loop.
  struct Loop: Sendable {
    let index: Int
    let clients: Int
    let feeds: Int
    /// 0…1, of the last second.
    let busy: Double
    /// Recent times, ns; nil: there were none.
    let turn: Double?
    let lag: Double?
  }

  /// The most slow clients that are named.
  static let slowLimit = 20
  /// The most books that are named, of each loop.
  static let bookLimit = 100

  let loop: Loop
  let feeds: [FeedState]
  /// Books of running feeds that failed, are out of sync or are crossed; the first `bookLimit` by symbol.
  let books: [BookState]
  /// The number of all such books.
  let booksNotLive: Int
  /// Slow clients, those with the most queued bytes first.
  let slow: [ClientReport]
  let slowCount: Int
  let metrics: NodeMetrics
  let hub: HubFigures
  let frames: SecondCounts
  let delivery: Histogram

  /// A feed and its present state.
  struct FeedState: Sendable {
    let report: FeedReport
    let indicator: String
    let since: Timestamp
    let source: DataSource
    let messages: SecondCounts
    let arrival: Histogram?
  }

  /// A book that clients cannot use, and why.
  struct BookState: Sendable {
    let connection: String
    let symbol: String
    let reason: String
  }

  /// On the loop.
  init(_ node: LoopNode, _ pace: NodePace) {
    node.loop.assertOnLoop()
    let reports = FeedReport.all(of: node)
    feeds = zip(node.feeds.all, reports).map { feed, report in
      FeedState(
        report: report, indicator: report.isStopped ? "disconnected" : feed.status.state.indicator,
        since: feed.status.since, source: feed.status.source,
        messages: feed.slot < pace.messages.count ? pace.messages[feed.slot] : SecondCounts(),
        arrival: pace.arrival(of: feed.slot))
    }
    var books: [BookState] = []
    for (feed, report) in zip(node.feeds.all, reports) where !report.isStopped {
      var reasons = feed.status.failed.merging(feed.status.syncing) { failed, _ in failed }
        .merging(feed.status.silenceReasons) { book, _ in book }
      for state in feed.pipeline.market.instruments where state.isCrossedForNow {
        reasons[state.instrument.symbol] = "bids and asks overlap"
      }
      books += reasons.map { BookState(connection: report.connection, symbol: $0.key, reason: $0.value) }
    }
    booksNotLive = books.count
    self.books = Array(books.sorted { $0.symbol < $1.symbol }.prefix(Self.bookLimit))
    let slow = node.clients.sessions.lazy.compactMap { $0?.client }.filter {
      node.hub.isWatched($0) || node.hub.isDegraded($0)
    }
    .compactMap { ClientReport.one($0, of: node) }
    slowCount = slow.count
    self.slow = Array(slow.sorted(by: ClientReport.isSlower).prefix(Self.slowLimit))
    metrics = node.metrics
    hub = HubFigures(node.hub)
    frames = pace.frames
    delivery = pace.delivery
    loop = Loop(
      index: node.loop.index, clients: node.clients.openCount, feeds: node.feeds.running.count,
      busy: pace.busy, turn: pace.turns.quantile(0.99), lag: pace.lag.quantile(0.99))
  }
}

extension ClientReport {
  /// The order in which slow clients are shown: by their queued bytes, then by their ids.
  static func isSlower(_ one: ClientReport, _ other: ClientReport) -> Bool {
    one.figures.queuedBytes != other.figures.queuedBytes
      ? one.figures.queuedBytes > other.figures.queuedBytes : one.id < other.id
  }
}
