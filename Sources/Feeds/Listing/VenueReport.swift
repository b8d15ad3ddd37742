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
    var writer = JSONObjectWriter(capacity: 4 << 10)
    writer.object { writer in
      writer.array("venues") { writer in
        for venue in venues {
          writer.object { writer in
            writer.field("name", venue.name)
            writer.field("title", venue.title)
            writer.array("connections") { writer in
              for connection in connections(venue) { writer.object { append(connection, to: &$0) } }
            }
          }
        }
      }
    }
    return String(decoding: writer.takeBytes(), as: UTF8.self)
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

  private static func append(_ venue: Venue, to writer: inout JSONObjectWriter) {
    writer.field("label", venue.label)
    writer.field("kinds", kinds(venue))
    writer.field("websocket", venue.endpoint)
    writer.field("rest", venue.restEndpoint)
    writer.field("symbol_limit", venue.symbolLimit)
    writer.field("message_limit_bytes", venue.messageLimit)
    writer.field("stale_after_ms", venue.staleAfter / Microseconds.millisecond)
    writer.field("compression", venue.offersCompression)
    guard let profile = venue.profile else { return }
    writer.field("rest_requests", profile.requests.map(\.rawValue))
    writer.field("book_depth", profile.bookDepth.map { Int64($0) })
    writer.field("book_check", profile.bookCheck)
    writer.field("connection_life", venue.cadence.words)
    writer.field("limits", profile.limits)
    writer.array("channels") { writer in
      for channel in profile.channels {
        writer.object { writer in
          writer.field("name", channel.name)
          writer.field("content", channel.content.rawValue)
          writer.field("silence", channel.silenceWords)
        }
      }
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    count >= width ? self + " " : self + String(repeating: " ", count: width - count)
  }
}
