import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Many symbols on two connections of one address: what goes out is paced, and no minute costs the address more than it
/// may spend. Venues are left out that a connection's symbols fit into one go of.
@Suite("A crowd of symbols", .longComputation)
struct CrowdTests {
  struct Crowd: Sendable, CustomTestStringConvertible {
    let venue: Venue
    let quote: String
    var kind = Instrument.Kind.spot
    /// Symbols of each connection.
    let count: Int
    /// What a request by REST costs, and what an address may spend in a minute; nil where it needs none.
    var budget: (perMinute: Int, weight: @Sendable (_ path: String) -> Int)?
    var testDescription: String { venue.label }

    init(
      _ name: String, _ quote: String, _ kind: Instrument.Kind = .spot, count: Int,
      perMinute: Int? = nil, weight: @escaping @Sendable (_ path: String) -> Int = { _ in 1 }
    ) {
      let symbol = FeedSymbol(base: "S0001", quote: quote, kind: kind).text
      let venue = VenueRegistry.venue(named: name)!.connections(for: FeedConfiguration(symbols: [symbol]))[0].venue
      self.init(venue, quote, kind, count: count, perMinute: perMinute, weight: weight)
    }

    init(
      _ venue: Venue, _ quote: String, _ kind: Instrument.Kind = .spot, count: Int, perMinute: Int? = nil,
      weight: @escaping @Sendable (_ path: String) -> Int = { _ in 1 }
    ) {
      self.venue = venue
      self.quote = quote
      self.kind = kind
      self.count = count
      budget = perMinute.map { ($0, weight) }
    }
  }

  static let crowds = SimulationRegistry.trials.flatMap { $0.crowds }

  static let chosen: [Crowd] = {
    guard let names = environment("TIDEGATE_VENUES")?.split(separator: ",").map(String.init) else { return crowds }
    return crowds.filter { names.contains($0.venue.name) }
  }()

  @Test("goes out at the venue's pace and within one budget, and again where it is lost", arguments: chosen)
  func pace(_ crowd: Crowd) throws {
    let (simulated, lines) = try Self.feed(crowd)
    let start = simulated.now
    let names = simulated.market.instruments.map { $0.instrument.venueSymbol.lowercased() }
    func isRequest(_ text: String) -> Bool {
      let text = text.lowercased()
      return names.contains { text.contains($0) }
    }
    // Of the first connection the second request is lost, while the others are answered.
    var requests = 0
    lines[0].isHeard = { text in
      requests += isRequest(text) ? 1 : 0
      return requests != 2 || !isRequest(text)
    }
    var now = start
    func booksLive() -> Int { lines.reduce(0) { $0 + $1.pipeline.market.instruments.count { $0.bookState == .live } } }
    while now - start < 4 * Microseconds.minute, booksLive() < 2 * crowd.count {
      now = now + 25 * Microseconds.millisecond
      simulated.advance(to: now)
      for line in lines { line.advance(to: now) }
    }
    #expect(lines.flatMap(\.problems) == [])
    #expect(booksLive() == 2 * crowd.count)

    let sent = lines.map { $0.messagesSent.filter { isRequest($0.text) }.map(\.at) }
    let pacing = lines[0].pipeline.engine.facts.pacing
    for times in sent {
      let most = Self.heaviest(times.map { ($0, 1) }, within: pacing.every)
      #expect(most <= pacing.atOnce, "\(crowd.venue.label): \(most) requests in \(pacing.every / 1_000) ms")
    }
    if pacing.isShared {
      let most = Self.heaviest(sent.joined().map { ($0, 1) }, within: 2 * pacing.every)
      #expect(most <= 2 * pacing.atOnce, "\(crowd.venue.label): \(most) requests of an address in two turns")
    }
    if let budget = crowd.budget {
      let spent = lines.flatMap { $0.requests.map { ($0.at, budget.weight($0.path)) } }
      let most = Self.heaviest(spent, within: Microseconds.minute)
      #expect(most <= budget.perMinute, "\(crowd.venue.label): weight \(most) in a minute")
    }
    print("\(crowd.venue.label): \(2 * crowd.count) books live after \(Double(now - start) / 1e6) s")
  }

  @Test("leaves a connection that never answers one request and answers all others", arguments: chosen)
  func unanswered(_ crowd: Crowd) throws {
    let (simulated, lines) = try Self.feed(crowd)
    let start = simulated.now
    let line = lines[0]
    let name = simulated.market.instruments[crowd.count - 1].instrument.venueSymbol.lowercased()
    line.isHeard = { !$0.lowercased().contains(name) }
    while simulated.now - start < 2 * Microseconds.minute, !line.isLeaving, line.problems.isEmpty {
      let now = simulated.now + 25 * Microseconds.millisecond
      simulated.advance(to: now)
      line.advance(to: now)
    }
    #expect(line.isLeaving, "\(crowd.venue.label): \(line.problems)")
    #expect(line.pipeline.errors.counts.contains { $0.kind == .unanswered }, "nobody was told")
  }

  /// A venue with nothing but the crowd, and its two connections.
  private static func feed(_ crowd: Crowd) throws -> (SimulatedVenue, [WiredLine]) {
    let start = Timestamp(microseconds: 1_795_000_000_000_000)
    let excerpt = SimulatedExcerpt(invented: 2 * crowd.count, quote: crowd.quote, kind: crowd.kind, levels: 3)
    let simulated = try SimulatedVenue(
      venue: crowd.venue.name, seed: 7, rate: 0.5, faults: [], start: start, excerpt: excerpt)
    let lines = [excerpt.symbols.prefix(crowd.count), excerpt.symbols.suffix(crowd.count)].map { symbols in
      var configuration = FeedConfiguration(symbols: Array(symbols))
      configuration.connections = 2
      let line = WiredLine(
        FeedPipeline(venue: crowd.venue, configuration: configuration), simulated, latency: 20_000, restLatency: 200_000
      )
      line.settled = { [unowned line] in line.pipeline.clear() }
      return line
    }
    return (simulated, lines)
  }

  /// What the heaviest span of that length has, wherever it begins.
  private static func heaviest(_ spent: [(at: Timestamp, weight: Int)], within span: Int64) -> Int {
    let spent = spent.sorted { $0.at < $1.at }
    var (most, sum, first) = (0, 0, 0)
    for request in spent {
      sum += request.weight
      while request.at - spent[first].at >= span {
        sum -= spent[first].weight
        first += 1
      }
      most = max(most, sum)
    }
    return most
  }
}
