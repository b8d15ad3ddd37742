import Bytes
import MarketData
import Venues

/// Describes each venue as the gateway uses it, for people and for programs.
package enum VenueReport {
  /// A paragraph for each connection of each venue.
  package static func text(_ venues: [Venue]) -> String {
    venues.flatMap(connections).map(paragraph).joined(separator: "\n\n")
  }

  /// `{"venues":[{"name":"kraken","title":"Kraken","connections":[{…}]},…]}`
  package static func json(_ venues: [Venue]) -> String {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("{\"venues\":[")
    for (index, venue) in venues.enumerated() {
      out.append(index == 0 ? "{\"name\":" : ",{\"name\":")
      out.append(json: venue.name)
      out.append(",\"title\":")
      out.append(json: venue.title)
      out.append(",\"connections\":[")
      for (index, connection) in connections(venue).enumerated() {
        if index > 0 { out.append(",") }
        append(connection, to: &out)
      }
      out.append("]}")
    }
    out.append("]}")
    return out.description
  }

  private static func connections(_ venue: Venue) -> [Venue] { venue.parts.isEmpty ? [venue] : venue.parts }

  private static func kinds(_ venue: Venue) -> [String] {
    Instrument.Kind.Family.allCases.filter { venue.kinds.contains($0) }.map(\.rawValue)
  }

  private static func paragraph(_ venue: Venue) -> String {
    var lines: [(String, String)] = [
      ("markets", kinds(venue).joined(separator: ", ")), ("websocket", venue.endpoint), ("rest", rest(venue)),
    ]
    if let profile = venue.profile {
      for (index, channel) in profile.channels.enumerated() {
        let silence = channel.silenceWords.joined(separator: "; ")
        lines.append((index == 0 ? "channels" : "", "\(channel.name) (\(channel.content.rawValue)): \(silence)"))
      }
      lines.append(("book", "\(profile.bookDepth.map { "\($0) levels a side" } ?? "all levels"); \(profile.bookCheck)"))
      lines.append(("alive", "\(venue.cadence.words); stale after \(venue.staleAfter / Microseconds.second) s"))
      lines += profile.limits.enumerated().map { ($0 == 0 ? "limits" : "", $1) }
    }
    lines.append((venue.profile?.limits.isEmpty == false ? "" : "limits", "\(venue.symbolLimit) symbols a connection"))
    lines.append(("compression", venue.offersCompression ? "offered" : "not offered"))
    let text = lines.map { "  " + $0.padded(to: 13) + $1 }
    return (["\(venue.name.padded(to: 15))\(venue.title)"] + text).joined(separator: "\n")
  }

  private static func rest(_ venue: Venue) -> String {
    guard let requests = venue.profile?.requests else { return venue.restEndpoint }
    let always = requests.filter { $0 != .volumes }.map(\.words)
    let sometimes = requests.contains(.volumes) ? ["24 h volumes if requested"] : []
    let all = always + sometimes
    return all.isEmpty ? "not used" : "\(venue.restEndpoint) for \(all.joined(separator: ", "))"
  }

  private static func append(_ venue: Venue, to out: inout ByteBuffer) {
    func strings(_ name: StaticString, _ values: [String]) {
      out.append(",\"")
      out.append(name)
      out.append("\":[")
      for (index, value) in values.enumerated() {
        if index > 0 { out.append(",") }
        out.append(json: value)
      }
      out.append("]")
    }
    func number(_ name: StaticString, _ value: Int64) {
      out.append(",\"")
      out.append(name)
      out.append("\":")
      out.append(integer: value)
    }
    func field(_ name: StaticString, _ value: String) {
      out.append(",\"")
      out.append(name)
      out.append("\":")
      out.append(json: value)
    }
    out.append("{\"label\":")
    out.append(json: venue.label)
    strings("kinds", kinds(venue))
    field("websocket", venue.endpoint)
    field("rest", venue.restEndpoint)
    number("symbol_limit", Int64(venue.symbolLimit))
    number("message_limit_bytes", Int64(venue.messageLimit))
    number("stale_after_ms", venue.staleAfter / Microseconds.millisecond)
    out.append(venue.offersCompression ? ",\"compression\":true" : ",\"compression\":false")
    if let profile = venue.profile {
      strings("rest_requests", profile.requests.map(\.rawValue))
      if let depth = profile.bookDepth { number("book_depth", Int64(depth)) }
      field("book_check", profile.bookCheck)
      field("connection_life", venue.cadence.words)
      strings("limits", profile.limits)
      out.append(",\"channels\":[")
      for (index, channel) in profile.channels.enumerated() {
        out.append(index == 0 ? "{\"name\":" : ",{\"name\":")
        out.append(json: channel.name)
        field("content", channel.content.rawValue)
        strings("silence", channel.silenceWords)
        out.append("}")
      }
      out.append("]")
    }
    out.append("}")
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    count >= width ? self + " " : self + String(repeating: " ", count: width - count)
  }
}
