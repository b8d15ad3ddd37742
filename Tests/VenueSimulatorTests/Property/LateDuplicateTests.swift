import MarketData
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

@Suite("A book message that comes again after its successor", .longComputation)
struct LateDuplicateTests {
  typealias Setup = BookPropertyTests.Setup

  /// Where nothing numbers a book's messages, one that is late and one that comes again look alike. At Bitfinex a
  /// number that goes back is a gap.
  private static func isNumbered(_ setup: Setup) -> Bool {
    !setup.oversight.blindTo.contains(.lateDuplicate) && setup.name != "bitfinex"
  }

  @Test(
    "rebuilds nothing where numbers tell it, and is counted", arguments: BookPropertyTests.setups.filter(isNumbered))
  func late(_ setup: Setup) throws {
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: 11, rate: 8, faults: [], start: Timestamp(microseconds: 1_795_000_000_000_000),
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels))
    var resyncs = 0
    let connection = WatchedConnection(setup.venue, symbols: setup.symbols, simulated) { pipeline in
      for case .bookState(_, .syncing(_?)) in pipeline.changes.items { resyncs += 1 }
    }
    connection.run(30) { connection.isLive }
    try #require(connection.isLive)
    // Every update has joined by then.
    connection.run(5)
    resyncs = 0
    for symbol in setup.symbols + setup.symbols {
      try simulated.inject(Fault(.lateDuplicate, symbol: symbol))
      connection.run(3)
    }
    let struck = simulated.faultsInjected
    #expect(struck >= setup.symbols.count, "\(struck) faults")
    #expect(resyncs == 0 && connection.isLive && connection.connects == 1, "\(setup.testDescription): \(resyncs)")
    for (index, symbol) in setup.symbols.enumerated() {
      let own = simulated.market.index(named: symbol).map { simulated.market.instruments[$0].book }
      guard let own, own.count(.bid) > 0 else { continue }
      #expect(connection.pipeline.market.instruments[index].book.bids.count > 0)
    }
  }
}
