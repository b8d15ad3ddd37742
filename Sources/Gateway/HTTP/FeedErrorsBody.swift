import Bytes
import MarketData
import PubSub
import Transport
import Venues

/// The rejected messages of one connection of a feed.
struct FeedErrorReport: Sendable {
  var venue: String
  /// The connection's name: `binance-usdm`.
  var connection: String
  var counts: [(kind: FeedError.Kind, count: Int)]
  /// Newest first; empty if the request does not include this connection.
  var entries: [FeedErrorRing.Entry]
}

/// `GET /v1/feeds/{venue}/errors` on the internal port.
enum FeedErrorsBody {
  /// The answer for the venue or connection called `name`; 404 with similar names if no feed has this name.
  static func response(_ name: String, _ reports: [FeedErrorReport], now: Timestamp) -> HTTPResponse {
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
    var out = ByteBuffer(capacity: 4096)
    out.append("{\"venue\":")
    out.append(json: reports[0].venue)
    out.append(",\"connections\":[")
    for (index, connection) in reports.map(\.connection).sorted().enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: connection)
    }
    let counts = FeedError.Kind.allCases.map { kind in
      (kind, reports.reduce(0) { $0 + $1.counts.reduce(0) { $1.kind == kind ? $0 + $1.count : $0 } })
    }
    out.append("],\"time\":")
    out.append(integer: now.microseconds)
    out.append(",\"total\":")
    out.append(integer: Int64(counts.reduce(0) { $0 + $1.1 }))
    out.append(",\"counts\":{")
    for (index, (kind, count)) in counts.filter({ $0.1 > 0 }).enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: kind.rawValue)
      out.append(UInt8(ascii: ":"))
      out.append(integer: Int64(count))
    }
    out.append("},\"kept_per_connection\":")
    out.append(integer: Int64(FeedErrorRing.entryLimit))
    out.append(",\"text_bytes\":")
    out.append(integer: Int64(FeedErrorRing.textLimit))
    out.append(",\"errors\":[")
    let entries = reports.flatMap { report in report.entries.map { (report.connection, $0) } }
      .enumerated().sorted { ($1.element.1.time, $0.offset) < ($0.element.1.time, $1.offset) }.map(\.element)
    for (index, (connection, entry)) in entries.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(entry, connection, to: &out)
    }
    out.append("]}")
    return out.takeBytes()
  }

  private static func append(_ entry: FeedErrorRing.Entry, _ connection: String, to out: inout ByteBuffer) {
    out.append("{\"time\":")
    out.append(integer: entry.time.microseconds)
    out.append(",\"connection\":")
    out.append(json: connection)
    out.append(",\"kind\":")
    out.append(json: entry.kind.rawValue)
    out.append(",\"detail\":")
    out.append(json: entry.detail)
    out.append(",\"bytes\":")
    out.append(integer: Int64(entry.length))
    out.append(",\"text\":")
    out.append(json: entry.text)
    out.append(entry.isCut ? ",\"cut\":true}" : "}")
  }
}
