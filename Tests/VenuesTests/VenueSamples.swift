import Testing

@testable import Venues

/// What the tests of all venues need of one venue. Each venue's is in its own folder here.
protocol VenueSamples: RegisteredVenue {
  /// How each connection says what `OddInputTests` wants said, in the formats of its tests.
  static var speakers: [OddInputTests.Speaker] { get }
  /// A feed, and a message of each kind, for `MutationTests` to damage.
  static func toDamage(_ venue: Venue) -> (EngineHarness, [String])
  /// Of each connection.
  static var candleSamples: [CandleFormatTests.Sample] { get }
  /// Of each market that recordings name.
  static var replaySamples: [VenueReplayTests.Sample] { get }
  /// Answers that are no sign of a market, where the venue sends any.
  static var marketSign: MarketSignTests.Sample? { get }
  /// What the venue answers to a subscription that it takes; nothing where its tests say it themselves.
  static func acknowledgements(of request: RequestText) -> [String]
}

extension VenueSamples {
  static var marketSign: MarketSignTests.Sample? { nil }
  static func acknowledgements(of request: RequestText) -> [String] { [] }
}

extension VenueRegistry {
  static let samples: [any VenueSamples.Type] = dialects.compactMap { $0 as? any VenueSamples.Type }
  static func samples(of name: String) -> (any VenueSamples.Type)? { samples.first { $0.venue.name == name } }
}

/// A request, for answers that are made of it.
struct RequestText {
  let text: String

  func after(_ key: String) -> Substring? { text.firstRange(of: key).map { text[$0.upperBound...] } }
  func number(_ key: String) -> String { after(key).map { String($0.prefix(while: \.isNumber)) } ?? "0" }
  func list(_ key: String) -> String { after(key + "[").map { String($0.prefix { $0 != "]" }) } ?? "" }
}

@Suite("Samples of venues")
struct VenueSamplesTests {
  @Test("every venue of the registry has them", arguments: VenueRegistry.venues.map(\.name))
  func complete(_ name: String) {
    let type = VenueRegistry.dialects.first { $0.venue.name == name }.map { "\($0)" } ?? ""
    #expect(
      VenueRegistry.samples(of: name) != nil,
      "no `extension \(type): VenueSamples`: it belongs into Tests/VenuesTests/\(type)/\(type)Samples.swift")
  }
}
