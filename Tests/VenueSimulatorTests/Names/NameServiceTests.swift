import MarketData
import Testing
import Venues

@testable import VenueSimulator

@Suite("Names that simulated venues say")
struct NameServiceTests {
  private static let venues = VenueRegistry.venues.filter { $0.assetNames != nil }.map(\.name)

  private static func answer(_ venue: SimulatedVenue, _ format: AssetNameFormat) -> SimulatedResponse {
    venue.venueProtocol.respond(SimulatedRequest(path: format.path, query: []))
  }

  private static func format(_ name: String) throws -> AssetNameFormat {
    try #require(VenueRegistry.venue(named: name)?.assetNames)
  }

  @Test("are read by the gateway's reader, in the codes of symbols", arguments: venues)
  func read(name: String) throws {
    let format = try Self.format(name)
    let answer = Self.answer(try makeVenue(name), format)
    #expect(answer.status == 200)
    let names = try format.read(Array(answer.body.utf8).span.bytes)
    #expect(names["BTC"] == "Bitcoin")
    #expect(names["UST"] == nil)
  }

  @Test("go wrong once each time that they are told to, and never reach a page as markup", arguments: venues)
  func faults(name: String) throws {
    let format = try Self.format(name)
    let venue = try makeVenue(name)
    for fault in NameFault.allCases {
      try venue.inject(Fault(.names, names: fault))
      let answer = Self.answer(venue, format)
      let list = try? format.read(Array(answer.body.utf8).span.bytes)
      var names = AssetNames()
      if let list { names.set(list, of: name) }
      switch fault {
      case .limited: #expect(answer.status == 429)
      case .cut: #expect(list == nil)
      case .empty: #expect(list == [:])
      case .ragged:
        #expect(names.name(of: "BTC", at: name) == "Bitcoin")
        #expect(names.name(of: "NUL", at: name) == nil && names.name(of: "NUM", at: name) == nil)
      case .hostile:
        #expect(names.name(of: "BTC", at: name) == "Bitcoin")
        for code in ["CTL", "RTL", "LNG", "<B>"] { #expect(names.name(of: code, at: name) == nil, "\(code)") }
      }
      #expect(Self.answer(venue, format).status == 200)
    }
    #expect(try Fault(parsing: "names=hostile@5/10") == Fault(.names, names: .hostile, at: 5, every: 10))
    #expect(throws: SimulatorError.self) { try makeVenue("kraken", faults: ["names=empty"]) }
  }
}
