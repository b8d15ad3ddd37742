import MarketData
import TestSupport
import Testing

@testable import Venues

/// What is said of a venue is said everywhere in the same words.
@Suite("Profiles of venues")
struct VenueProfileTests {
  private static var connections: [Venue] { VenueRegistry.connections }

  @Test("every connection names how its books are checked, and for each channel what shows that it is dead")
  func complete() throws {
    for venue in Self.connections {
      let profile = try #require(venue.profile, "\(venue.label) has no profile")
      #expect(profile.channels.contains { $0.content == .book } && profile.channels.contains { $0.content == .trades })
      #expect(Set(profile.channels.map(\.name)).count == profile.channels.count, "\(venue.label)")
      #expect(!profile.bookCheck.isEmpty && !profile.limits.isEmpty)
      for channel in profile.channels {
        #expect(!channel.silence.isEmpty)
        for case .atLeast(let every) in channel.silence {
          #expect(every > 0 && every <= 60_000_000, "\(venue.label) \(channel.name)")
        }
      }
    }
  }

  @Test("a connection is stale after three times what its venue promises, and not before 10 s")
  func cadences() {
    for venue in Self.connections {
      #expect(venue.staleAfter == max(3 * venue.cadence.every, 10 * Microseconds.second), "\(venue.label)")
      #expect(venue.staleAfter <= 45 * Microseconds.second, "\(venue.label)")
    }
  }

  @Test("the tables of the documentation are what the profiles say")
  func documented() throws {
    var connections = ["| connection | what shows that it lives | stale after | replaced after |", "|---|---|---|---|"]
    var channels = [
      "| connection | channel | carries | what shows that a silent channel is dead |", "|---|---|---|---|",
    ]
    for venue in Self.connections.sorted(by: { $0.label < $1.label }) {
      let seconds = venue.staleAfter / Microseconds.second
      connections.append("| \(venue.label) | \(venue.cadence.words) | \(seconds) s | \(2 * seconds) s |")
      for channel in venue.profile?.channels ?? [] {
        let silence = channel.silenceWords.joined(separator: "; ")
        channels.append("| \(venue.label) | `\(channel.name)` | \(channel.content.rawValue) | \(silence) |")
      }
    }
    for (name, lines) in [("connections", connections), ("channels", channels)] {
      let (document, code) = try GeneratedPart(name, in: "Sources/Venues/Venues.docc/Staleness.md")
        .compare(with: lines)
      #expect(document == code, "\(name)")
    }
  }
}
