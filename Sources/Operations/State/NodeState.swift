import Bytes
import Feeds
import MarketData
import PubSub
import Venues

/// One loop's part of the `StateDocument`.
package struct NodeState: Sendable {
  /// The state of one loop.
  package struct Loop: Sendable {
    let index: Int
    let clients: Int
    let feeds: Int
    /// 0…1, of the last second.
    let busy: Double
    /// Recent times, ns; nil: there were none.
    let turn: Double?
    let lag: Double?

    package init(index: Int, clients: Int, feeds: Int, busy: Double, turn: Double?, lag: Double?) {
      self.index = index
      self.clients = clients
      self.feeds = feeds
      self.busy = busy
      self.turn = turn
      self.lag = lag
    }
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
  package struct FeedState: Sendable {
    let report: FeedConnectionReport
    let indicator: String
    let since: Timestamp
    let source: DataSource
    let messages: SecondCounts
    let arrival: Histogram?

    package init(_ report: FeedConnectionReport, _ status: FeedStatus, messages: SecondCounts, arrival: Histogram?) {
      self.report = report
      indicator = report.isStopped ? "disconnected" : status.state.indicator
      since = status.since
      source = status.source
      self.messages = messages
      self.arrival = arrival
    }
  }

  /// A book that clients cannot use, and why.
  package struct BookState: Sendable {
    let connection: String
    let symbol: String
    let reason: String

    /// All such books of a feed, on its loop. O(instruments).
    package static func all(of feed: any Feed) -> [BookState] {
      var reasons = feed.status.notLive
      for state in feed.pipeline.market.instruments where state.isCrossedForNow {
        reasons[state.instrument.symbol] = "bids and asks overlap"
      }
      let connection = feed.pipeline.venue.label
      return reasons.map { BookState(connection: connection, symbol: $0.key, reason: $0.value) }
    }
  }

  /// - Parameters:
  ///   - books: all such books of the loop's running feeds.
  ///   - slow: all slow clients of the loop.
  package init(
    loop: Loop, feeds: [FeedState], books: [BookState], slow: [ClientReport], metrics: NodeMetrics, hub: HubFigures,
    frames: SecondCounts, delivery: Histogram
  ) {
    self.loop = loop
    self.feeds = feeds
    self.books = Array(books.sorted { $0.symbol < $1.symbol }.prefix(Self.bookLimit))
    booksNotLive = books.count
    self.slow = Array(slow.sorted(by: ClientReport.isSlower).prefix(Self.slowLimit))
    slowCount = slow.count
    self.metrics = metrics
    self.hub = hub
    self.frames = frames
    self.delivery = delivery
  }
}

extension ClientReport {
  /// The order in which slow clients are shown: by their queued bytes, then by their ids.
  static func isSlower(_ one: ClientReport, _ other: ClientReport) -> Bool {
    one.figures.queuedBytes != other.figures.queuedBytes
      ? one.figures.queuedBytes > other.figures.queuedBytes : one.id < other.id
  }
}
