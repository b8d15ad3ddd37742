import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

/// A backend that has died behind a socket that lives, at every connection of every venue: the feed is stale within the
/// venue's bound, has another connection within twice that, and is live again; and a quiet market is none of it.
@Suite("Dead backends", .longComputation)
struct DeadBackendTests {
  typealias Setup = BookPropertyTests.Setup
  private static let start = Timestamp(microseconds: 1_795_000_000_000_000)
  /// Between two looks at the connection.
  private static let tick = 300 * Microseconds.millisecond

  /// What is followed: the setup's own markets in a lively venue, or one of them that hardly moves while the others are
  /// followed by nobody.
  enum Following: CaseIterable { case busy, quiet }

  private static func connection(_ setup: Setup, _ following: Following) throws -> WatchedConnection {
    let rate = 4.0
    if following == .busy {
      let simulated = try SimulatedVenue(
        venue: setup.name, seed: 5, rate: rate, faults: [], start: start,
        excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels))
      return WatchedConnection(setup.venue, symbols: setup.symbols, simulated)
    }
    // The last of the setup's markets; beside it those that a canary may be of.
    let quiet = [setup.symbols.last!]
    var others: [String] = []
    if case .canary(let markets, _) = setup.venue.cadence.source {
      let listing = SimulatedVenue.kinds.first { $0.name == setup.name }!.listing
      others = listing.filter { markets.contains($0.venueSymbol) && $0.symbol != quiet[0] }.map(\.symbol)
      #expect(!others.isEmpty, "\(setup.venue.label) has a canary that is not listed")
    }
    let symbols = quiet + others
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: 5, rate: rate, faults: [], start: start,
      excerpt: SimulatedExcerpt(
        symbols: symbols, levels: symbols.map { _ in 20 }, busyness: symbols.map { $0 == quiet[0] ? 1e-5 : 1 }))
    return WatchedConnection(setup.venue, symbols: quiet, simulated)
  }

  @Test(
    "are found within the bound, left within twice the bound, and forgotten", arguments: BookPropertyTests.setups,
    [Fault.Kind.pongsOnly, .answersOnly])
  func dead(_ setup: Setup, _ kind: Fault.Kind) throws {
    for following in Following.allCases {
      let name = "\(setup.venue.label) \(kind.rawValue) \(following)"
      let connection = try Self.connection(setup, following)
      connection.run(30) { connection.isLive }
      try #require(connection.isLive, "\(name): \(connection.events)")
      connection.run(5)
      try #require(connection.isLive && connection.events.isEmpty, "\(name): \(connection.events)")

      let struck = connection.now
      try connection.simulated.inject(Fault(kind))
      let pongs = connection.pongs
      let bound = setup.venue.staleAfter
      #expect(bound >= 10 * Microseconds.second)
      connection.run(200) { !connection.events.isEmpty }
      let stale = try #require(connection.events.first, "\(name): called live for 200 s")
      #expect(stale.kind == .stale && stale.reason.contains("no market data"), "\(name): \(stale)")
      #expect(stale.at - struck <= bound + Self.tick, "\(name): stale after \((stale.at - struck) / 1_000) ms")

      connection.run(200) { connection.events.count > 1 }
      let dead = try #require(connection.events.dropFirst().first, "\(name): kept for 200 s")
      #expect(dead.kind == .dead && dead.reason.contains("no market data"), "\(name): \(dead)")
      #expect(dead.at - struck <= 2 * bound + Self.tick, "\(name): left after \((dead.at - struck) / 1_000) ms")
      if kind == .pongsOnly { #expect(connection.pongs - pongs >= 3, "\(name): the fault hit the socket") }

      connection.run(40) { connection.isLive }
      #expect(connection.isLive, "\(name): not live again")
      connection.run(60)
      #expect(connection.isLive && connection.events.count == 2, "\(name): \(connection.events)")
    }
  }

  @Test("that take new connections, too, are never called live", arguments: BookPropertyTests.setups)
  func lasting(_ setup: Setup) throws {
    let connection = try Self.connection(setup, .busy)
    connection.run(30) { connection.isLive }
    try #require(connection.isLive)
    try connection.simulated.inject(Fault(.answersOnly, seconds: 300))
    connection.run(Double(2 * setup.venue.staleAfter) / 1e6 + 1) { connection.connects > 1 }
    let before = connection.connects
    connection.run(200) { connection.isLive }
    #expect(!connection.isLive, "\(setup.venue.label)")
    #expect(connection.connects > before, "\(setup.venue.label): one connection for 200 s")
    connection.run(240) { connection.isLive }
    #expect(connection.isLive, "\(setup.venue.label): \(connection.events.suffix(3))")
  }

  @Test("half-open connections are left within 15 s", arguments: BookPropertyTests.setups)
  func halfOpen(_ setup: Setup) throws {
    for following in Following.allCases {
      let connection = try Self.connection(setup, following)
      connection.run(30) { connection.isLive }
      try #require(connection.isLive, "\(setup.venue.label) \(following)")
      connection.run(5)
      let struck = connection.now
      try connection.simulated.inject(Fault(.halfOpen))
      connection.run(60) { connection.events.contains { $0.kind == .dead } }
      let dead = try #require(connection.events.last)
      #expect(
        dead.at - struck <= 15 * Microseconds.second,
        "\(setup.venue.label) \(following): \((dead.at - struck) / 1_000) ms, \(dead.reason)")
      connection.run(40) { connection.isLive }
      #expect(connection.isLive, "\(setup.venue.label) \(following)")
    }
  }

  @Test("a quiet market at a venue that lives is live, and only it is shown", arguments: BookPropertyTests.setups)
  func quiet(_ setup: Setup) throws {
    let connection = try Self.connection(setup, .quiet)
    connection.run(30) { connection.isLive }
    try #require(connection.isLive, "\(setup.venue.label): \(connection.events)")
    for _ in 0..<120 {
      connection.run(5)
      guard connection.isLive else { break }
    }
    #expect(connection.isLive && connection.events.isEmpty, "\(setup.venue.label): \(connection.events)")
    #expect(connection.connects == 1)
    let shown = connection.pipeline.market.instruments.map(\.instrument.symbol)
    #expect(shown == ["\(setup.venue.name):\(setup.symbols.last!)"])
    // What comes of the canary is no message that could not be read.
    #expect(connection.pipeline.engine.counts.rejected == 0, "\(connection.pipeline.errors.counts)")
  }
}
