import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("The table of venues")
struct VenueTableTests {
  @Test("the README lists every venue, its markets and how its books are checked")
  func readme() throws {
    var lines = ["| venue | name | markets | how the gateway checks a book |", "|---|---|---|---|"]
    for venue in VenueRegistry.venues.sorted(by: { $0.title < $1.title }) {
      let connections = venue.parts.isEmpty ? [venue] : venue.parts
      let kinds = Instrument.Kind.Family.allCases.filter { venue.kinds.contains($0) }.map(\.rawValue)
      var checks: [String] = []
      for check in connections.compactMap({ $0.profile?.bookCheck }) where !checks.contains(check) {
        checks.append(check)
      }
      lines.append(
        "| \(venue.title) | `\(venue.name)` | \(kinds.joined(separator: ", ")) | \(checks.joined(separator: "; ")) |")
    }
    let (document, code) = try GeneratedPart("venues", in: "README.md").compare(with: lines)
    #expect(document == code)
  }
}
