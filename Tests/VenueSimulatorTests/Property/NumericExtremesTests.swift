import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// What each simulated venue sends, with one number of each kind of message and answer after the other at both ends of
/// its range. `TIDEGATE_EXTREMES=all` puts in every extreme, else the seed picks some.
@Suite("Any number in any message of a venue", .longComputation)
struct NumericExtremesTests {
  @Test("is read, bounded or refused, and the feed goes on", arguments: BookPropertyTests.setups, testSeeds(1))
  func messages(_ setup: BookPropertyTests.Setup, seed: UInt64) throws {
    let trial = try ExtremesTrial(setup, seed: seed)
    try trial.run()
    #expect(trial.kinds.count >= 3 && trial.variants > 100, "\(trial.kinds.count) kinds, \(trial.variants) variants")
  }
}

private final class ExtremesTrial {
  private static let isWhole = environment("TIDEGATE_EXTREMES") == "all"
  /// How many extremes take each number's place.
  private static let picks = isWhole ? NumericExtremes.texts.count : 2
  private static let numbersOfOne = isWhole ? Int.max : 10
  private static let kindLimit = isWhole ? 400 : 100

  private let simulated: SimulatedVenue
  private let pipeline: FeedPipeline
  private var session: SimulatedSession?
  private var random: SeededGenerator
  private var now: Timestamp
  /// The messages that have been varied, by what is left of them without numbers.
  private(set) var kinds: Set<[UInt8]> = []
  private(set) var variants = 0

  init(_ setup: BookPropertyTests.Setup, seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    now = testStart
    simulated = try SimulatedVenue(
      venue: setup.name, seed: seed, rate: 8, faults: [], start: testStart,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels.map { min($0, 12) }))
    pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
  }

  func run() throws {
    pipeline.prepare(now: now)
    settle()
    let end = now + 25 * Microseconds.second
    while now < end {
      now = now + 50 * Microseconds.millisecond
      simulated.advance(to: now)
      if session == nil, pipeline.handler.isPrepared {
        let (path, query) = VenueTrial.target(of: pipeline.handler.url)
        session = try? simulated.open(path: path, query: query)
        guard session != nil else { continue }
        pipeline.connected(now: now)
        settle()
      }
      for output in session?.takeOutput() ?? [] {
        guard case .text(let text) = output else { continue }
        receive(Array(text.unsafeBytes))
      }
      pipeline.tick(now: now)
      pipeline.advance(now: now)
      settle()
      for state in pipeline.market.instruments {
        try #require(state.book.invariantsHold, "the book of \(state.instrument.symbol) is out of order")
      }
    }
  }

  private func receive(_ message: [UInt8]) {
    for variant in variations(of: message) {
      pipeline.receive(variant.span.bytes, now: now)
      settle()
    }
    pipeline.receive(message.span.bytes, now: now)
    settle()
  }

  private func answer(_ request: Int, _ path: String) {
    let (path, query) = VenueTrial.target(of: path)
    let response = simulated.respond(path: path, query: query)
    let body = Array(response.body.utf8)
    // A request has one answer: it is any of them.
    let all = variations(of: body)
    let isVaried = !all.isEmpty && Int.random(in: 0..<3, using: &random) == 0
    let chosen = isVaried ? all.randomElement(using: &random) ?? body : body
    pipeline.response(
      to: request, status: response.status, body: chosen.span.bytes, now: now, retryAfter: response.retryAfter)
    for variant in all.prefix(Self.isWhole ? .max : 12) {
      // Answers to what was not asked are dropped; lists are read by parsers that keep nothing.
      pipeline.response(to: request, status: response.status, body: variant.span.bytes, now: now)
    }
  }

  private func variations(of message: [UInt8]) -> [[UInt8]] {
    let kind = message.filter { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: ".") }.prefix(160)
    guard kinds.count < Self.kindLimit,
      kinds.insert(Array(kind)).inserted || Int.random(in: 0..<40, using: &random) == 0
    else {
      return []
    }
    let numbers = NumericExtremes.numbers(in: message).shuffled(using: &random).prefix(Self.numbersOfOne)
    let made = numbers.flatMap { number in
      NumericExtremes.texts.shuffled(using: &random).prefix(Self.picks).map {
        NumericExtremes.replacing(number, of: message, by: $0)
      }
    }
    variants += made.count
    return made
  }

  private func settle() {
    var rounds = 0
    while rounds < 100 {
      rounds += 1
      pipeline.clear()
      let actions = pipeline.takeActions()
      guard !actions.isEmpty else { return }
      for action in actions {
        switch action {
        case .send(let text): if let session { simulated.receive(text, from: session) }
        case .get(let request, let path, _): answer(request, path)
        case .symbolFailed(let symbol, _): _ = pipeline.refused(symbol, now: now)
        case .symbolAccepted(let symbol): pipeline.accepted(symbol)
        case .reconnect, .renew:
          if let session { simulated.close(session) }
          session = nil
          pipeline.disconnected(now: now)
          pipeline.prepare(now: now)
        case .maintenance: break
        }
      }
    }
  }
}
