import Bytes
import MarketData

/// A connection to a venue, as operators see it.
package struct FeedReport: Sendable {
  let reason: String?
  package let isStopped: Bool
  package let figures: FeedMetrics
  /// Symbols that are not live, each with its reason.
  let notLive: [(symbol: String, reason: String)]

  /// The most symbols that one report names.
  private static let symbolLimit = 100

  /// - Parameter troubles: the reasons of all symbols that are not live.
  package init(
    _ figures: FeedMetrics, reason: String?, isStopped: Bool, troubles: [String: String]
  ) {
    self.figures = figures
    self.reason = reason
    self.isStopped = isStopped
    notLive = troubles.sorted { $0.key < $1.key }.prefix(Self.symbolLimit).map { ($0.key, $0.value) }
  }

  package var connection: String { figures.connection }
  var lastMessage: Timestamp? { figures.lastMessage.map { Timestamp(microseconds: $0) } }

  package func append(now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"connection\":")
    out.append(json: connection)
    out.append(",\"venue\":")
    out.append(json: figures.venue)
    out.append(",\"state\":")
    out.append(json: figures.state)
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
      ("messages", figures.messages), ("connects", figures.connects), ("gaps", figures.gaps),
      ("rejected", figures.rejected),
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
