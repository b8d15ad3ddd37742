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
  private static let hours: Int64 = 3

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
    let pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
    var now = Self.start
    var session: SimulatedSession?
    var heard = now
    var longest: Int64 = 0
    var resets: [String] = []
    func settle() {
      for change in pipeline.changes.items {
        if case .bookState(let id, .syncing(let reason?)) = change {
          resets.append("\(pipeline.market[id].instrument.symbol) \(reason) after \((now - Self.start) / 1_000_000) s")
        }
        if case .channel(let id, let channel, .silent) = change {
          let seconds = (now - Self.start) / Microseconds.second
          resets.append("\(pipeline.market[id].instrument.symbol) \(channel.name) after \(seconds) s")
        }
      }
      pipeline.clear()
      for action in pipeline.takeActions() {
        switch action {
        case .get(let request, let text, _):
          let (path, query) = VenueTrial.target(of: text)
          let response = simulated.respond(path: path, query: query)
          let body = Array(response.body.utf8)
          pipeline.response(to: request, status: response.status, body: body.span.bytes, now: now)
        case .send(let text): if let session { simulated.receive(text, from: session) }
        case .reconnect(let reason): resets.append("reconnect: \(reason)")
        case .symbolFailed(let symbol, let reason): resets.append("\(symbol): \(reason)")
        case .renew(let reason, _): resets.append("renew: \(reason)")
        case .symbolAccepted, .maintenance: break
        }
      }
    }
    pipeline.prepare(now: now)
    settle()
    let end = Self.start + Self.hours * Microseconds.hour
    while now < end {
      now = now + 250 * Microseconds.millisecond
      simulated.advance(to: now)
      if session == nil, pipeline.engine.isPrepared {
        let (path, query) = VenueTrial.target(of: pipeline.engine.url)
        session = try simulated.open(path: path, query: query)
        heard = now
        pipeline.connected(now: now)
        settle()
      }
      for output in session?.takeOutput() ?? [] {
        switch output {
        case .text(let bytes):
          pipeline.receive(RawSpan(_unsafeBytes: bytes.unsafeBytes), now: now)
          if pipeline.engine.marketHeard == now {
            longest = max(longest, now - heard)
            heard = now
          }
          settle()
        case .ping(let payload):
          if let session { payload.withUnsafeBytes { simulated.receivedPong($0, from: session) } }
        case .close(let code, let reason): resets.append("closed \(code) \(reason)")
        case .abort: resets.append("cut")
        case .witness: break
        }
      }
      pipeline.tick(now: now)
      settle()
      if pipeline.market.nextDeadline <= now {
        pipeline.advance(now: now)
        settle()
      }
    }
    #expect(resets == [], "\(venue.label)")
    #expect(longest < venue.staleAfter, "\(venue.label)")
    #expect(pipeline.market.instruments.count == symbols.count, "\(venue.label)")
    for state in pipeline.market.instruments { #expect(state.bookState == .live, "\(state.instrument.symbol)") }
  }
}
