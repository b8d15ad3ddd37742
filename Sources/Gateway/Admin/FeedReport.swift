import Bytes
import Feeds
import MarketData
import PubSub
import Venues

/// A connection to a venue, as operators see it.
struct FeedReport: Sendable {
  let connection: String
  let venue: String
  let state: String
  let reason: String?
  let isStopped: Bool
  let lastMessage: Timestamp?
  let messages: Int
  let connects: Int
  let figures: FeedMetrics
  /// Symbols that are not live, each with its reason.
  let notLive: [(symbol: String, reason: String)]

  /// The most symbols that one report names.
  private static let symbolLimit = 100

  /// All of a loop's feeds, those that were stopped included. On the loop. O(instruments).
  static func all(of node: LoopNode) -> [FeedReport] {
    node.feeds.all.map { feed in
      let status = feed.status
      let troubles = status.failed.merging(status.syncing) { failed, _ in failed }
        .merging(status.silenceReasons) { book, _ in book }
      return FeedReport(
        connection: feed.pipeline.venue.label, venue: feed.pipeline.venue.name, state: status.state.rawValue,
        reason: status.reason, isStopped: node.feeds.ended.contains(feed.slot), lastMessage: status.lastMessage,
        messages: feed.pipeline.counts.messages, connects: feed.connects, figures: FeedMetrics(feed, of: node),
        notLive: troubles.sorted { $0.key < $1.key }.prefix(symbolLimit).map { ($0.key, $0.value) })
    }
  }

  func append(now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"connection\":")
    out.append(json: connection)
    out.append(",\"venue\":")
    out.append(json: venue)
    out.append(",\"state\":")
    out.append(json: state)
    if let reason {
      out.append(",\"reason\":")
      out.append(json: reason)
    }
    out.append(isStopped ? ",\"stopped\":true" : ",\"stopped\":false")
    if let lastMessage {
      out.append(",\"age_ms\":")
      out.append(integer: max(0, now - lastMessage) / Microseconds.millisecond)
    }
    for (name, value) in [
      ("messages", messages), ("connects", connects), ("gaps", figures.gaps), ("rejected", figures.rejected),
    ] {
      out.append(",\"\(name)\":")
      out.append(integer: Int64(value))
    }
    out.append(",\"books\":{")
    for (index, condition) in FeedMetrics.BookCondition.allCases.enumerated() {
      out.append(index > 0 ? ",\"\(condition.rawValue)\":" : "\"\(condition.rawValue)\":")
      out.append(integer: Int64(figures.books[index]))
    }
    out.append("},\"not_live\":{")
    for (index, entry) in notLive.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: entry.symbol)
      out.append(UInt8(ascii: ":"))
      out.append(json: entry.reason)
    }
    out.append("}}")
  }
}
