import Foundation
import Testing

@testable import Venues

/// What is said of a venue is said everywhere in the same words.
@Suite("Profiles of venues")
struct VenueProfileTests {
  private static var connections: [Venue] { VenueRegistry.venues.flatMap { $0.parts.isEmpty ? [$0] : $0.parts } }

  @Test("every connection says of each channel how its silence is told from death, and how its books are checked")
  func complete() throws {
    for venue in Self.connections {
      let profile = try #require(venue.profile, "\(venue.label) has no profile")
      #expect(profile.channels.contains { $0.content == .book } && profile.channels.contains { $0.content == .trades })
      #expect(Set(profile.channels.map(\.name)).count == profile.channels.count, "\(venue.label)")
      #expect(!profile.bookCheck.isEmpty && !profile.connectionLife.isEmpty && !profile.limits.isEmpty)
      for channel in profile.channels {
        #expect(!channel.silence.isEmpty)
        for case .atLeast(let every) in channel.silence {
          #expect(every > 0 && every <= 60_000_000, "\(venue.label) \(channel.name)")
        }
      }
    }
  }

  @Test("the table of the documentation is what the profiles say")
  func documented() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Venues/Venues.docc/Staleness.md")
    let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.contains("| `") }
      .map(String.init)
    var expected: [String] = []
    for venue in Self.connections {
      for channel in venue.profile?.channels ?? [] {
        let silence = channel.silence.map(\.words).joined(separator: "; ")
        expected.append("| \(venue.label) | `\(channel.name)` | \(channel.content.rawValue) | \(silence) |")
      }
    }
    for row in expected where !rows.contains(row) { Issue.record("Staleness.md lacks the row \(row)") }
    for row in rows where !expected.contains(row) { Issue.record("Staleness.md has a row of nothing: \(row)") }
  }
}
