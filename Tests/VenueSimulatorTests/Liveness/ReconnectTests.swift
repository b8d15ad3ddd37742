import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

@Suite("Reconnecting while a venue's REST refuses", .longComputation)
struct ReconnectTests {
  typealias Setup = BookPropertyTests.Setup

  /// Gate's older book and Binance's and Bitstamp's are joined to snapshots by REST.
  private static func needsSnapshots(_ setup: Setup) -> Bool {
    (setup.venue.profile?.requests.contains(.snapshots) ?? false)
      || setup.testDescription == "gate, bridged"
  }

  @Test(
    "uses the list that is there, asks for a newer one beside, and again when the venue said",
    arguments: BookPropertyTests.setups)
  func lists(_ setup: Setup) throws {
    let start = Timestamp(microseconds: 1_795_000_000_000_000)
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: 5, rate: 4, faults: [], start: start,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels))
    let connection = WatchedConnection(setup.venue, symbols: setup.symbols, simulated)
    connection.run(30) { connection.isLive }
    try #require(connection.isLive)
    let requests = connection.requests
    let lost = connection.now
    connection.limitedUntil = lost + 20 * Microseconds.second
    connection.lose("by the test")
    connection.run(1)
    #expect(connection.connects == 2, "\(setup.venue.label) waits for REST")
    if requests > 0 { #expect(connection.requests > requests, "\(setup.venue.label) asks for no list") }
    if !Self.needsSnapshots(setup) {
      connection.run(15) { connection.isLive }
      #expect(connection.isLive, "\(setup.venue.label): not without REST")
    }
    // The wait that was asked for, and the time that snapshots take; a minute is what it would be otherwise.
    connection.run(60) { connection.now - lost > 21 * Microseconds.second && connection.isLive }
    #expect(connection.isLive && connection.now - lost < 40 * Microseconds.second, "\(setup.venue.label)")
    let asked = connection.requests
    connection.run(120)
    #expect(connection.isLive && connection.connects == 2)
    // Bitstamp renews books by REST, Gemini asks for figures; nobody asks for lists without end.
    #expect(connection.requests - asked <= 130, "\(setup.venue.label): \(connection.requests - asked)")
  }
}
