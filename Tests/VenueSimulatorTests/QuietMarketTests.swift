import Bytes
import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

/// Markets in which next to nothing happens for hours: no venue's rules may take that for the death of a feed, a
/// channel or a book.
@Suite("Quiet markets", .longComputation)
struct QuietMarketTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)

  /// The markets of the venue's canary, if it needs one: something goes on there, followed for its own sake by nobody.
  private static func canaries(of venue: Venue) -> [String] {
    guard case .canary(let markets, _) = venue.cadence.source else { return [] }
    return SimulatedVenue.kinds.first { $0.name == venue.name }!.listing.filter { markets.contains($0.venueSymbol) }
      .map(\.symbol)
  }

  private static var connections: [(venue: Venue, symbols: [String])] {
    VenueRegistry.venues.flatMap { venue in
      (venue.parts.isEmpty ? [venue] : venue.parts).map { part in
        let symbols = SimulatedVenue.symbols(of: venue.name).filter {
          FeedSymbol($0).map { part.kinds.contains($0.kind.family) } ?? false
        }
        let canaries = canaries(of: part)
        return (part, Array(symbols.filter { !canaries.contains($0) }.prefix(2)))
      }
    }
  }

  @Test(
    "no book is reset, no connection given up, and something always shows that it lives", arguments: connections.indices
  )
  func quiet(_ index: Int) throws {
    let (venue, symbols) = Self.connections[index]
    let canaries = Self.canaries(of: venue)
    let listed = symbols + canaries
    // A moment in about three hours and symbol, and one each second where the canary is.
    let simulated = try SimulatedVenue(
      venue: venue.name, seed: 11, rate: 0.0001, faults: [], start: Self.start,
      excerpt: SimulatedExcerpt(
        symbols: listed, levels: listed.map { _ in 8 },
        busyness: listed.map { canaries.contains($0) ? 10_000 : 1 }))
    let connection = WatchedConnection(venue, symbols: symbols, simulated)
    var resets: [String] = []
    connection.onChanges = { [unowned connection] changes, now in
      let seconds = (now - Self.start) / Microseconds.second
      for change in changes.items {
        let (id, what): (InstrumentID, String)
        switch change {
        case .bookState(let instrument, .syncing(let reason?)): (id, what) = (instrument, "\(reason)")
        case .channel(let instrument, let channel, .silent): (id, what) = (instrument, channel.name)
        default: continue
        }
        resets.append("\(connection.pipeline.market[id].instrument.symbol) \(what) after \(seconds) s")
      }
    }
    connection.run(3 * 3_600, step: 250 * Microseconds.millisecond)
    #expect(resets == [] && connection.failures == [], "\(venue.label): \(connection.failures)")
    // Its watch finds fault with a silence of `staleAfter`.
    #expect(connection.events.isEmpty && connection.connects == 1, "\(venue.label): \(connection.events)")
    let market = connection.pipeline.market
    #expect(market.instruments.count == symbols.count, "\(venue.label)")
    for state in market.instruments { #expect(state.bookState == .live, "\(state.instrument.symbol)") }
  }
}
