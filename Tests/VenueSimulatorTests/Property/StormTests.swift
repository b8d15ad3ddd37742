import MarketData
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// A book whose messages cannot be read, again and again: it costs few requests and no other book, at every venue.
@Suite("A book that fails again and again", .longComputation)
struct StormTests {
  @Test(
    "is asked for ever more rarely, and the others go on", arguments: BookPropertyTests.chosen)
  func unreadable(_ setup: BookPropertyTests.Setup) throws {
    let start = Timestamp(microseconds: 1_795_000_000_000_000)
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: 7, rate: 20, faults: [], start: start,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels))
    let pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
    let line = WiredLine(pipeline, simulated, latency: 20_000, restLatency: 100_000)
    let failing = setup.symbols[0]
    var resets: [String: Int] = [:]
    line.settled = { [unowned line] in
      for change in line.pipeline.changes.items {
        guard case .bookState(let id, .syncing) = change else { continue }
        resets[line.pipeline.market[id].instrument.symbol, default: 0] += 1
      }
      line.pipeline.clear()
    }
    func isLive() -> Bool {
      line.pipeline.market.instruments.count == setup.symbols.count
        && line.pipeline.market.instruments.allSatisfy { $0.bookState == .live }
    }
    func run(_ seconds: Int64, until isDone: () -> Bool = { false }) {
      let end = simulated.now + seconds * Microseconds.second
      while simulated.now < end, !isDone() {
        simulated.advance(to: simulated.now + 25 * Microseconds.millisecond)
        line.advance(to: simulated.now)
      }
    }
    run(60, until: isLive)
    try #require(isLive(), "\(setup.testDescription): \(line.problems)")
    resets = [:]
    let (sent, asked) = (line.messagesSent.count, line.requests.count)
    try simulated.inject(Fault(.unreadable, symbol: failing, at: 0, every: 1))
    run(120)
    let name = try #require(simulated.market.index(named: failing))
    let word = simulated.market.instruments[name].instrument.venueSymbol.lowercased()
    let messages = line.messagesSent.dropFirst(sent).count { $0.text.lowercased().contains(word) }
    let requests = line.requests.dropFirst(asked).count { $0.path.lowercased().contains(word) }
    let label = "\(setup.venue.name):\(failing)"
    #expect((3...200).contains(resets[label] ?? 0), "\(setup.testDescription): \(resets)")
    // Ten attempts, with waits of 1, 2, 4 … 30 s, of an end and a beginning each.
    #expect(messages <= 20 && requests <= 10, "\(setup.testDescription): \(messages) messages, \(requests) requests")
    #expect(resets.allSatisfy { $0.key == label }, "\(setup.testDescription): \(resets)")
    print("\(setup.testDescription): \(resets[label] ?? 0) resets, \(messages) messages, \(requests) requests")
  }
}
