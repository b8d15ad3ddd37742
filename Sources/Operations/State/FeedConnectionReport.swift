import Bytes
import MarketData
import PubSub

/// A connection to a venue, as operators see it.
package struct FeedConnectionReport: Sendable {
  let reason: String?
  package let isStopped: Bool
  let figures: FeedMetrics
  /// Symbols that are not live, each with its reason.
  let notLive: [(symbol: String, reason: String)]

  /// The most symbols that one report names.
  private static let symbolLimit = 100

  package init(_ figures: FeedMetrics, _ status: FeedStatus, isStopped: Bool) {
    self.figures = figures
    self.isStopped = isStopped
    reason = status.reason
    notLive = status.notLive.sorted { $0.key < $1.key }.prefix(Self.symbolLimit).map { ($0.key, $0.value) }
  }

  var connection: String { figures.connection }
  var lastMessage: Timestamp? { figures.lastMessage.map { Timestamp(microseconds: $0) } }

  /// - Parameter now: UTC.
  func append(to writer: inout JSONObjectWriter, now: Timestamp) {
    writer.field("connection", connection)
    writer.field("venue", figures.venue)
    writer.field("state", figures.state)
    writer.field("reason", reason)
    writer.field("stopped", isStopped)
    writer.field("age_ms", lastMessage.map { max(0, now - $0) / Microseconds.millisecond })
    writer.field("messages", figures.messages)
    writer.field("connects", figures.connects)
    writer.field("gaps", figures.gaps)
    writer.field("rejected", figures.rejected)
    writer.object("books") { writer in
      for (condition, count) in zip(FeedMetrics.BookCondition.allCases, figures.books) {
        writer.field(condition.rawValue, count)
      }
    }
    writer.object("not_live") { writer in
      for entry in notLive { writer.field(entry.symbol, entry.reason) }
    }
  }
}

extension FeedStatus {
  /// The symbols that are not live, each with its reason.
  var notLive: [String: String] {
    failed.merging(syncing) { failed, _ in failed }.merging(silenceReasons) { book, _ in book }
  }
}
