import Testing

@testable import Venues

@Suite("Venue registry")
struct VenueRegistryTests {
  @Test("every venue is found by its name and can make an engine")
  func venues() {
    let names = VenueRegistry.venues.map(\.name)
    #expect(names == names.sorted() && Set(names).count == names.count, "a venue a line, in order")
    for venue in VenueRegistry.venues {
      #expect(VenueRegistry.venue(named: venue.name)?.title == venue.title)
      #expect(venue.makeEngine(FeedConfiguration(symbols: [])).url == venue.endpoint)
      #expect(
        venue.makeEngine(FeedConfiguration(symbols: [], endpoint: "ws://localhost:1")).url == "ws://localhost:1")
    }
    #expect(VenueRegistry.venue(named: "Kraken") == nil)
  }

  @Test("a misspelled venue is told its near name, another one all names")
  func nearNames() {
    #expect(VenueRegistry.unknownVenue("krakne").contains("did you mean kraken?"))
    #expect(VenueRegistry.unknownVenue("binanse").contains("did you mean binance?"))
    #expect(!VenueRegistry.unknownVenue("nyse").contains("did you mean"))
    let names = VenueRegistry.venues.map(\.name).joined(separator: ", ")
    #expect(VenueRegistry.unknownVenue("nyse").hasSuffix("there are \(names)"))
  }
}
