import Bytes
import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

/// Every venue that is carried lists what its simulation trades, with increments, contract sizes and volumes.
@Suite("Listings", .longComputation)
struct ListingTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private static var connections: [(venue: Venue, configuration: FeedConfiguration)] {
    VenueRegistry.venues.flatMap { $0.connections(for: FeedConfiguration(symbols: [], listing: .volumes)) }
  }

  /// Prepares an engine, and connects it where the list is in the stream, until there is a listing.
  private func listing(of venue: Venue, _ configuration: FeedConfiguration) throws -> [ListedMarket] {
    let simulated = try SimulatedVenue(venue: venue.name, seed: 5, rate: 2, faults: [], start: Self.start)
    let pipeline = FeedPipeline(venue: venue, configuration: configuration)
    var now = Self.start
    var session: SimulatedSession?
    func perform() {
      for _ in 0..<40 {
        let actions = pipeline.takeActions()
        guard !actions.isEmpty else { return }
        for action in actions {
          if case .get(let request, let text, _) = action {
            let (path, query) = VenueTrial.target(of: text)
            let response = simulated.respond(path: path, query: query)
            let body = Array(response.body.utf8)
            pipeline.response(to: request, status: response.status, body: body.span.bytes, now: now)
          }
          if case .send(let text) = action, let session { simulated.receive(text, from: session) }
        }
      }
    }
    pipeline.prepare(now: now)
    for _ in 0..<200 where pipeline.engine.listing.isEmpty {
      perform()
      now = now + 250_000
      simulated.advance(to: now)
      if pipeline.engine.isPrepared, session == nil {
        let (path, query) = VenueTrial.target(of: pipeline.engine.url)
        session = try simulated.open(path: path, query: query)
        pipeline.connected(now: now)
      }
      for output in session?.takeOutput() ?? [] {
        if case .text(let bytes) = output {
          pipeline.receive(RawSpan(_unsafeBytes: bytes.unsafeBytes), now: now)
        }
      }
      pipeline.tick(now: now)
    }
    return pipeline.engine.listing
  }

  @Test("a venue's listing is what it trades, with what it says of each market", arguments: connections.indices)
  func complete(_ index: Int) throws {
    let (venue, configuration) = Self.connections[index]
    let simulated = try SimulatedVenue(venue: venue.name, seed: 5, rate: 2, faults: [], start: Self.start)
    let expected = simulated.market.instruments.filter { venue.kinds.contains($0.instrument.kind.family) }
    let listing = try listing(of: venue, configuration)
    #expect(listing.map(\.symbol.text).sorted() == expected.map(\.instrument.symbol).sorted(), "\(venue.label)")
    for market in listing {
      let state = try #require(expected.first { $0.instrument.symbol == market.symbol.text }, "\(venue.label)")
      let instrument = state.instrument
      #expect(market.venueSymbol == instrument.venueSymbol)
      #expect(market.state == .trading)
      let name: Comment = "\(venue.label) \(market.symbol.text)"
      // A venue may have no steps; those that it says are true ones.
      if let step = market.priceIncrement {
        #expect(value(step) == Double(instrument.tick) / Double(DecimalText.power(instrument.priceScale)), name)
      }
      #expect(market.contractSize.map(value) == value(instrument.contractSize), name)
      if let step = market.sizeIncrement {
        let lots = Double(instrument.lot) / Double(DecimalText.power(instrument.sizeScale))
        #expect(abs(value(step) / (lots * value(instrument.contractSize)) - 1) < 1e-9, name)
      }
      // Some say volumes in base units, which the last price turns: within the day's range.
      guard let volume = market.quoteVolume else {
        #expect(venue.name == "gemini", "it has no request for the volumes of all markets: \(name)")
        continue
      }
      let power = Double(DecimalText.power(instrument.priceScale)) * Double(DecimalText.power(instrument.sizeScale))
      let turnover = Double(state.day.turnover) / power * value(instrument.contractSize)
      #expect(value(volume) > turnover * 0.5 && value(volume) < turnover * 2, name)
    }
  }

  private func value(_ number: Decimal64) -> Double {
    Double(number.mantissa) / Double(DecimalText.power(number.scale))
  }
}
