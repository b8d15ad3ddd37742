import Bytes
import MarketData
import PubSub
import Transport
import Venues

/// The rejected messages of one connection of a feed.
package struct FeedErrorReport: Sendable {
  var venue: String
  /// The connection's name: `binance-usdm`.
  var connection: String
  var counts: [(kind: FeedError.Kind, count: Int)]
  /// Newest first; empty if the request does not include this connection.
  var entries: [FeedErrorRing.Entry]

  package init(
    venue: String, connection: String, counts: [(kind: FeedError.Kind, count: Int)], entries: [FeedErrorRing.Entry]
  ) {
    self.venue = venue
    self.connection = connection
    self.counts = counts
    self.entries = entries
  }
}

/// `GET /v1/feeds/{venue}/errors` on the internal port.
package enum FeedErrorsBody {
  /// The answer for the venue or connection called `name`; 404 with similar names if no feed has this name.
  package static func response(_ name: String, _ reports: [FeedErrorReport], now: Timestamp) -> HTTPResponse {
    let asked = reports.filter { $0.venue == name || $0.connection == name }
    guard !asked.isEmpty else {
      var names: [String] = []
      for report in reports {
        for known in [report.venue, report.connection] where !names.contains(known) { names.append(known) }
      }
      let near = NearNames.question(name, among: names)
      return .error(
        404, code: "unknown_venue", message: "no feed is called \(String(name.prefix(40)))\(near)",
        hint: names.isEmpty ? "there are no feeds" : "there are \(names.sorted().joined(separator: ", "))")
    }
    return .json(body(name, asked, now: now))
  }

  /// `{"venue":…,"connections":[…],"time":…,"total":…,"counts":{…},"kept":…,"text_bytes":…,"errors":[…]}`
  private static func body(_ name: String, _ reports: [FeedErrorReport], now: Timestamp) -> [UInt8] {
    let counts = FeedError.Kind.allCases.map { kind in
      (kind, reports.reduce(0) { $0 + $1.counts.reduce(0) { $1.kind == kind ? $0 + $1.count : $0 } })
    }
    let entries = reports.flatMap { report in report.entries.map { (report.connection, $0) } }
      .enumerated().sorted { ($1.element.1.time, $0.offset) < ($0.element.1.time, $1.offset) }.map(\.element)
    var writer = JSONObjectWriter(capacity: 4096)
    writer.object { writer in
      writer.field("venue", reports[0].venue)
      writer.field("connections", reports.map(\.connection).sorted())
      writer.field("time", now.microseconds)
      writer.field("total", counts.reduce(0) { $0 + $1.1 })
      writer.object("counts") { writer in
        for (kind, count) in counts where count > 0 { writer.field(kind.rawValue, count) }
      }
      writer.field("kept_per_connection", FeedErrorRing.entryLimit)
      writer.field("text_bytes", FeedErrorRing.textLimit)
      writer.array("errors") { writer in
        for (connection, entry) in entries { write(entry, connection, to: &writer) }
      }
    }
    return writer.takeBytes()
  }

  private static func write(_ entry: FeedErrorRing.Entry, _ connection: String, to writer: inout JSONObjectWriter) {
    writer.object { writer in
      writer.field("time", entry.time.microseconds)
      writer.field("connection", connection)
      writer.field("kind", entry.kind.rawValue)
      writer.field("detail", entry.detail)
      writer.field("bytes", entry.length)
      writer.field("text", entry.text)
      if entry.isCut { writer.field("cut", true) }
    }
  }
}
