import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// What each simulated venue sends, with one number of each kind of message and answer after the other at both ends of
/// its range. Trades are lost and channels are mute, so that single trades and figures are asked for, too.
/// `TIDEGATE_EXTREMES=all` puts every extreme in every number, else the seed picks some.
@Suite("Any number in any message of a venue", .longComputation)
struct NumericExtremesTests {
  @Test("is read, bounded or refused, and the feed goes on", arguments: BookPropertyTests.setups, testSeeds(1))
  func messages(_ setup: BookPropertyTests.Setup, seed: UInt64) throws {
    let trial = try ExtremesTrial(setup, seed: seed)
    try trial.run()
    #expect(trial.varied.count >= 3 && trial.variants > 100, "\(trial.story)")
    // Or the market stood still, and no update or trade was varied.
    #expect(trial.moves > 50 && trial.trades > 5, "\(trial.story)")
  }

  @Test("of an answer with candles makes no impossible candle", arguments: BookPropertyTests.setups, testSeeds(1))
  func candles(_ setup: BookPropertyTests.Setup, seed: UInt64) throws {
    let format = try #require(setup.venue.candles, "\(setup.venue.label) has no candles")
    var random = SeededGenerator(seed: seed)
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: seed, rate: 8, faults: [], start: testStart,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels.map { min($0, ExtremesTrial.depth) }))
    simulated.advance(to: testStart + 90 * Microseconds.second)
    let symbol = try #require(FeedSymbol(setup.symbols[0]))
    let market = try #require(
      simulated.market.instruments.map(\.instrument).first {
        $0.base == symbol.base && $0.quote == symbol.quote && $0.kind == symbol.kind
      })
    let instrument = Instrument(
      id: InstrumentID(0), venue: setup.name, venueSymbol: market.venueSymbol, base: market.base, quote: market.quote,
      kind: market.kind, contractSize: market.contractSize, priceScale: market.priceScale,
      sizeScale: market.sizeScale + market.contractSize.scale)
    var variants = 0
    for interval in CandleInterval.allCases where format.has(interval) {
      let end = interval.start(of: simulated.now)
      let query = CandleQuery(instrument: instrument, interval: interval, window: (end - 3 * interval.length)..<end)
      let wanted = format.request(query)
      let (path, parameters) = VenueTrial.target(of: wanted.target)
      let answer = CandleSheet.answer(simulated, .init(path: path, query: parameters, body: wanted.body))
      let body = Array(answer.body.utf8)
      let untouched = try format.read(body.span.bytes, status: answer.status, to: query, now: simulated.now)
      #expect(untouched.rejected == 0, "\(setup.venue.label) \(interval): \(answer.body.prefix(200))")
      for number in NumericExtremes.numbers(in: body).prefix(40) {
        for extreme in NumericExtremes.texts.shuffled(using: &random).prefix(ExtremesTrial.isWhole ? .max : 4) {
          let damaged = NumericExtremes.replacing(number, of: body, by: extreme)
          variants += 1
          let read = try? format.read(damaged.span.bytes, status: 200, to: query, now: simulated.now)
          for candle in read?.candles ?? [] {
            #expect(query.window.contains(candle.time), "\(extreme.prefix(40)): \(candle)")
            #expect(candle.low > 0 && candle.high >= candle.low && candle.volume <= Candle.volumeLimit)
          }
        }
      }
    }
    #expect(variants > 20)
  }

  @Test("of an answer with assets' names is no one's name", arguments: VenueRegistry.venues.map(\.name))
  func names(_ name: String) throws {
    let venue = try #require(VenueRegistry.venue(named: name))
    guard let format = venue.assetNames else { return }
    let answer = try makeVenue(name).venueProtocol.respond(SimulatedRequest(path: format.path, query: []))
    let body = Array(answer.body.utf8)
    let known = try format.read(body.span.bytes)
    for number in NumericExtremes.numbers(in: body).prefix(40) {
      for extreme in NumericExtremes.texts {
        let damaged = NumericExtremes.replacing(number, of: body, by: extreme)
        guard let read = try? format.read(damaged.span.bytes) else { continue }
        #expect(read.count <= known.count + 1)
      }
    }
  }
}

private final class ExtremesTrial {
  static let isWhole = environment("TIDEGATE_EXTREMES") == "all"
  /// Variants of one kind of message.
  private static let quota = isWhole ? 4_000 : 20
  private static let kindLimit = isWhole ? 400 : 100
  /// Levels of a side, at most: enough for a market that moves, which one of 12 does not, and few in a message.
  static let depth = 24
  /// Feeds, one after the other, each from its list on: a varied answer may refuse a symbol for good.
  private static let feeds = isWhole ? 12 : 3
  private static let timeOfFeed = 30 * Microseconds.second

  private let setup: BookPropertyTests.Setup
  private let simulated: SimulatedVenue
  private var pipeline: FeedPipeline
  private var session: SimulatedSession?
  private var random: SeededGenerator
  private var now: Timestamp
  /// How often a kind of message was varied: what is left of one without its numbers.
  private(set) var varied: [[UInt8]: Int] = [:]
  private(set) var variants = 0
  /// What came of the messages as the venue sends them, between the variants.
  private(set) var moves = 0
  private(set) var trades = 0
  private var connections = 0
  private var messages = 0
  private var refusal = "none"

  /// For a failure.
  var story: String {
    "\(varied.count) kinds, \(variants) variants, \(connections) connections, \(messages) messages, \(moves) changes of books, \(trades) trades; refused: \(refusal)"
  }

  init(_ setup: BookPropertyTests.Setup, seed: UInt64) throws {
    self.setup = setup
    random = SeededGenerator(seed: seed)
    now = testStart
    simulated = try SimulatedVenue(
      venue: setup.name, seed: seed, rate: 8,
      faults: ["lost-trades=2@9/30", "mute=trades:9@15/50", "mute=ticker:9@35/50"].map { try Fault(parsing: $0) },
      start: testStart,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels.map { min($0, ExtremesTrial.depth) }))
    pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
  }

  func run() throws {
    for _ in 0..<Self.feeds {
      pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
      pipeline.prepare(now: now)
      settle()
      let end = now + Self.timeOfFeed
      while now < end { try step() }
      if let session { simulated.close(session) }
      session = nil
    }
  }

  private func step() throws {
    now = now + 50 * Microseconds.millisecond
    simulated.advance(to: now)
    if session == nil, pipeline.engine.isPrepared {
      let (path, query) = VenueTrial.target(of: pipeline.engine.url)
      do throws(SimulatedRefusal) {
        session = try simulated.open(path: path, query: query)
      } catch {
        refusal = "\(error.status) \(error.reason)"
        return
      }
      connections += 1
      pipeline.connected(now: now)
      settle()
    }
    for output in session?.takeOutput() ?? [] {
      switch output {
      case .text(let text): receive(Array(text.unsafeBytes))
      case .close(let code, let reason):
        refusal = "closed with \(code) \(reason)"
        reconnect()
      case .abort: reconnect()
      case .ping, .witness: break
      }
    }
    pipeline.tick(now: now)
    pipeline.advance(now: now)
    settle()
    for state in pipeline.market.instruments {
      try #require(state.book.invariantsHold, "the book of \(state.instrument.symbol) is out of order")
    }
  }

  private func reconnect() {
    if let session { simulated.close(session) }
    session = nil
    pipeline.disconnected(now: now)
    pipeline.prepare(now: now)
  }

  private func receive(_ message: [UInt8]) {
    messages += 1
    let kind = Self.kind(message)
    for variant in variations(of: message, kind) {
      // Some end the connection; the rest comes with the next message of the kind.
      guard session != nil else { return }
      count(kind)
      pipeline.receive(variant.span.bytes, now: now)
      settle()
    }
    guard session != nil else { return }
    let books = pipeline.market.instruments.map { [$0.book.bids, $0.book.asks] }
    pipeline.receive(message.span.bytes, now: now)
    if pipeline.market.instruments.map({ [$0.book.bids, $0.book.asks] }) != books { moves += 1 }
    trades += pipeline.changes.trades.count
    settle()
  }

  private func answer(_ request: Int, _ path: String) {
    let (path, query) = VenueTrial.target(of: path)
    let response = simulated.respond(path: path, query: query)
    let body = Array(response.body.utf8)
    let kind = Self.kind(body)
    // A request has one answer, which is as the venue sends it or one of these. Lists are read without it, too.
    let all = variations(of: body, kind)
    if let reader = pipeline.engine.listReader(for: request) {
      for variant in all {
        count(kind)
        _ = reader.read(variant)
      }
    }
    var answer = body
    if let variant = all.first, Bool.random(using: &random) {
      count(kind)
      answer = variant
    }
    pipeline.response(
      to: request, status: response.status, body: answer.span.bytes, now: now, retryAfter: response.retryAfter)
  }

  /// A message without its numbers, as far as it tells messages apart.
  private static func kind(_ message: [UInt8]) -> [UInt8] {
    Array(message.lazy.filter { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: ".") }.prefix(80))
  }

  private func count(_ kind: [UInt8]) {
    varied[kind, default: 0] += 1
    variants += 1
  }

  /// The next variants of a message of a kind: each with one of its numbers replaced.
  private func variations(of message: [UInt8], _ kind: [UInt8]) -> [[UInt8]] {
    let numbers = NumericExtremes.numbers(in: message)
    let done = varied[kind]
    guard !numbers.isEmpty, done ?? 0 < Self.quota, done != nil || varied.count < Self.kindLimit else { return [] }
    varied[kind] = done ?? 0
    let all = (done ?? 0)..<min(Self.quota, Self.isWhole ? numbers.count * NumericExtremes.texts.count : Self.quota)
    // Each extreme for each number in turn; or any for any.
    return all.prefix(Self.isWhole ? 200 : 10).map { index in
      let number = Self.isWhole ? numbers[index % numbers.count] : numbers.randomElement(using: &random)!
      let text =
        Self.isWhole
        ? NumericExtremes.texts[index / numbers.count] : NumericExtremes.texts.randomElement(using: &random)!
      return NumericExtremes.replacing(number, of: message, by: text)
    }
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
        case .reconnect, .renew: reconnect()
        case .maintenance: break
        }
      }
    }
  }
}
