import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

/// Two connections of a feed against a simulated venue, and a third that sees everything at once: what the feed shows
/// while one takes over from the other must be what the third saw, in its order, each trade once.
@Suite("A connection is replaced before it is left", .longComputation)
struct HandoverTests {
  struct Setup: Sendable, CustomTestStringConvertible {
    let name: String
    let venue: Venue
    let symbols: [String]
    var testDescription: String { venue.label }

    init(_ name: String, _ symbols: [String]) {
      self.name = name
      self.symbols = symbols
      venue = VenueRegistry.venue(named: name)!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
    }
  }

  /// Each connection with examples of what it carries, and its dated future where it has one.
  static let setups = VenueRegistry.connections.map { connection in
    let future = SimulatedVenue.symbols(of: connection.name).first { symbol in
      if case .future? = FeedSymbol(symbol)?.kind { connection.kinds.contains(.future) } else { false }
    }
    return Setup(connection.name, SimulatedVenue.examples(of: connection) + (future.map { [$0] } ?? []))
  }

  @Test("no trade is lost or doubled, and books are continuous and true, under light and heavy load", arguments: setups)
  func planned(_ setup: Setup) throws {
    for (number, seed) in testSeeds(3).enumerated() {
      let trial = try HandoverTrial(setup, seed: seed, isBusy: number == 0)
      trial.warmUp()
      // The second begins from what the first made.
      for _ in 0..<2 {
        trial.replace()
        trial.run(2.5)
      }
      trial.finish()
      #expect(trial.problems == [], "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
      #expect(trial.changes == 2 && trial.resets == 0, "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
      #expect(trial.tradesSeen > 20, "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
    }
  }

  @Test("a successor that fails costs nothing, and the next one takes over", arguments: setups)
  func failing(_ setup: Setup) throws {
    for seed in testSeeds(2) {
      let trial = try HandoverTrial(setup, seed: seed)
      trial.warmUp()
      // Once before it has anything, once when it is nearly there.
      for seconds in [0.05, 0.6] {
        trial.begin()
        trial.run(seconds)
        trial.abandon()
        trial.run(0.5)
      }
      trial.replace()
      trial.run(1)
      trial.finish()
      #expect(trial.problems == [], "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
      #expect(trial.changes == 1 && trial.resets == 0, "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
    }
  }

  @Test(
    "the old connection ends before the new one has everything: what it has goes on, the rest is called out of sync and comes back",
    arguments: setups)
  func early(_ setup: Setup) throws {
    for seed in testSeeds(2) {
      let trial = try HandoverTrial(setup, seed: seed)
      trial.warmUp()
      trial.begin()
      trial.run { $0.booksInSync > 0 }
      trial.takeOver()
      trial.run(6)
      trial.finish()
      #expect(trial.problems == [], "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
      #expect(trial.changes == 1, "\(setup.venue.label), TIDEGATE_SEED=\(seed)")
    }
  }

  @Test("instruments keep their places where the new connection's come in another order, and others may come along")
  func indices() throws {
    let setup = Setup("kraken", ["ZEC-USD", "BTC-USD"])
    for seed in testSeeds(3) {
      let trial = try HandoverTrial(setup, seed: seed)
      trial.warmUp()
      trial.begin(symbols: ["ETH-USD", "BTC-USD", "ZEC-USD"], reordered: true)
      trial.run(until: .ready)
      trial.takeOver()
      trial.run(3)
      let names = trial.active.market.instruments.map(\.instrument.symbol)
      #expect(names == ["kraken:ZEC-USD", "kraken:BTC-USD", "kraken:ETH-USD"])
      #expect(trial.active.market.instruments.allSatisfy { $0.bookState == .live })
      #expect(trial.active.symbolCounts.count == 3)
      trial.finish()
      #expect(trial.problems == [] && trial.resets == 0, "TIDEGATE_SEED=\(seed)")
    }
  }
}

/// One seeded life of a feed with changes of connection.
final class HandoverTrial {
  private static let step = 5 * Microseconds.millisecond

  let active: FeedPipeline
  private(set) var problems: [String] = []
  private(set) var changes = 0
  /// Books that left sync after the warm-up.
  private(set) var resets = 0
  private(set) var tradesSeen = 0

  private let setup: HandoverTests.Setup
  private let simulated: SimulatedVenue
  private let witness: WiredLine
  private var line: WiredLine!
  private var next: (core: FeedHandover, line: WiredLine)?
  private var random: SeededGenerator
  private var now: Timestamp
  private let start: Timestamp
  private var isWarm = false
  private var isEarly = false

  /// What the witness saw: fingerprints of each book in turn, and trades.
  private var history: [String: [Int: [Int]]] = [:]
  private var historyCount: [String: Int] = [:]
  private var reached: [String: Int] = [:]
  private var truth: [String: [String]] = [:]
  private var published: [String: [String]] = [:]

  init(_ setup: HandoverTests.Setup, seed: UInt64, isBusy: Bool = false) throws {
    self.setup = setup
    var random = SeededGenerator(seed: seed)
    start = Timestamp(microseconds: 1_795_000_000_000_000)
    let listed = SimulatedVenue.symbols(of: setup.name).filter { setup.symbols.contains($0) || $0 == "ETH-USD" }
    simulated = try SimulatedVenue(
      venue: setup.name, seed: random.next(), rate: isBusy ? 150 : Double.random(in: 4...40, using: &random),
      faults: [],
      start: start, excerpt: SimulatedExcerpt(symbols: listed, levels: listed.map { _ in 20 }))
    let all = FeedConfiguration(
      symbols: setup.symbols + (listed.contains("ETH-USD") && !setup.symbols.contains("ETH-USD") ? ["ETH-USD"] : []))
    witness = WiredLine(
      FeedPipeline(venue: setup.venue, configuration: all), simulated, latency: 0, restLatency: 2_000)
    active = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
    now = start
    self.random = random
    witness.settled = { [unowned self] in see() }
  }

  // MARK: Running

  /// The witness first, then the feed, until all books are live.
  func warmUp() {
    run(upTo: 90) { [unowned self] in
      witness.pipeline.market.instruments.count >= setup.symbols.count && isLive(witness.pipeline)
    }
    line = makeLine(active)
    line.settled = { [unowned self] in show() }
    run(upTo: 90) { [unowned self] in active.market.instruments.count == setup.symbols.count && isLive(active) }
    run(1)
    isWarm = true
  }

  private func isLive(_ pipeline: FeedPipeline) -> Bool {
    pipeline.market.instruments.allSatisfy { $0.bookState == .live }
  }

  private func makeLine(_ pipeline: FeedPipeline) -> WiredLine {
    WiredLine(
      pipeline, simulated, latency: Int64.random(in: 1_000...80_000, using: &random),
      restLatency: Int64.random(in: 20_000...400_000, using: &random))
  }

  func run(_ seconds: Double) {
    let end = now + Int64(seconds * 1e6)
    while now < end { advance() }
  }

  private func run(upTo seconds: Int64, until isDone: () -> Bool) {
    let end = now + seconds * Microseconds.second
    while now < end, problems.isEmpty {
      if isDone() { return }
      advance()
    }
    if problems.isEmpty { problems.append("at \(at) nothing had come of it in \(seconds) s") }
  }

  func run(until standing: FeedHandover.Standing) {
    run(upTo: 30) { [unowned self] in next?.core.standing(now: now) == standing }
  }

  func run(until isDone: (FeedHandover) -> Bool) {
    run(upTo: 30) { [unowned self] in next.map { isDone($0.core) } ?? true }
  }

  private var at: String { "\(Double(now - start) / 1e6) s" }

  private func advance() {
    now = now + Self.step
    simulated.advance(to: now)
    witness.advance(to: now)
    line?.advance(to: now)
    next?.line.advance(to: now)
    for other in [witness, line, next?.line] {
      if let problem = other?.problems.first, problems.isEmpty { problems.append("at \(at): \(problem)") }
    }
  }

  // MARK: Changing lines

  func begin(symbols: [String]? = nil, reordered: Bool = false) {
    let core = FeedHandover(
      of: active, configuration: FeedConfiguration(symbols: symbols ?? setup.symbols), keepsOrder: !reordered)
    let line = makeLine(core.successor)
    line.settled = { core.collect() }
    next = (core, line)
  }

  func abandon() {
    next?.core.cancel()
    next?.line.close()
    next = nil
  }

  /// A whole planned change.
  func replace() {
    begin()
    run(until: .ready)
    takeOver()
  }

  func takeOver() {
    guard let next, problems.isEmpty else { return }
    if next.core.standing(now: now) != .ready { isEarly = true }
    line.close()
    guard next.core.takeOver(now: now) else {
      problems.append("at \(at): the change could not be made")
      return
    }
    changes += 1
    line = next.line
    line.pipeline = active
    line.settled = { [unowned self] in show() }
    self.next = nil
    show()
  }

  /// The market stands still, everything arrives, and what was shown is compared with what was to be seen.
  func finish() {
    guard problems.isEmpty else { return }
    simulated.market.shift(by: Microseconds.hour)
    run(3)
    for state in active.market.instruments {
      let symbol = state.instrument.symbol
      guard let other = witness.pipeline.market.instruments.first(where: { $0.instrument.symbol == symbol }) else {
        continue
      }
      if state.bookState != .live { problems.append("\(symbol) is \(state.bookState) at the end") }
      if fingerprint(state) != fingerprint(other) {
        problems.append("\(symbol) has another book than the venue at the end")
      }
    }
    for (symbol, trades) in published {
      tradesSeen += trades.count
      guard let first = trades.first, let from = truth[symbol]?.firstIndex(of: first) else {
        problems.append("\(symbol)'s first trade was not the venue's")
        continue
      }
      let expected = Array(truth[symbol]![from...])
      if isEarly {
        // What neither connection brought is missing, and nothing else is wrong.
        var rest = expected[...]
        let isInOrder = trades.allSatisfy { trade in
          guard let index = rest.firstIndex(of: trade) else { return false }
          rest = rest[(index + 1)...]
          return true
        }
        if !isInOrder { problems.append("\(symbol): trades came twice or out of order") }
        continue
      }
      if trades != expected {
        let index =
          zip(trades, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(trades.count, expected.count)
        problems.append(
          "\(symbol): \(trades.count) trades instead of \(expected.count); from the \(index)th on: "
            + "\(trades[index...].prefix(4)) instead of \(expected[index...].prefix(4))")
      }
    }
  }

  // MARK: What is seen

  private func see() {
    let pipeline = witness.pipeline
    for trade in pipeline.changes.trades {
      truth[pipeline.market[trade.instrument].instrument.symbol, default: []].append(trade.id.text)
    }
    for (symbol, state) in touched(pipeline) {
      let count = historyCount[symbol, default: 0]
      history[symbol, default: [:]][fingerprint(state), default: []].append(count)
      historyCount[symbol] = count + 1
    }
    pipeline.clear()
  }

  private func show() {
    for trade in active.changes.trades {
      published[active.market[trade.instrument].instrument.symbol, default: []].append(trade.id.text)
    }
    for change in active.changes.items {
      guard isWarm, case .bookState(let id, let state) = change, state != .live else { continue }
      resets += 1
      if !isEarly { problems.append("at \(at): \(active.market[id].instrument.symbol) is \(state)") }
    }
    for (symbol, state) in touched(active) where isWarm && !isEarly && state.bookState == .live && problems.isEmpty {
      let indices = history[symbol]?[fingerprint(state)] ?? []
      guard let index = indices.first(where: { $0 >= reached[symbol, default: 0] }) else {
        problems.append(
          indices.isEmpty
            ? "at \(at): \(symbol) shows a book that the venue never had"
            : "at \(at): \(symbol) goes back from the \(reached[symbol]!)th book to the \(indices.last!)th")
        return
      }
      reached[symbol] = index
    }
    active.clear()
  }

  /// The instruments whose books the pipeline's changes moved.
  private func touched(_ pipeline: FeedPipeline) -> [(String, InstrumentState)] {
    var indices: Set<Int> = []
    for change in pipeline.changes.items {
      switch change {
      case .bookDelta(let id, _, _, _), .bookSnapshot(let id): indices.insert(id.index)
      default: break
      }
    }
    return indices.sorted().map { index in
      let state = pipeline.market.instruments[index]
      return (state.instrument.symbol, state)
    }
  }

  /// Without zeros at the end.
  private static func plain(_ mantissa: Int64, _ scale: UInt8) -> Decimal64 {
    var value = Decimal64(mantissa: mantissa, scale: scale)
    while value.scale > 0, value.mantissa % 10 == 0 {
      value.mantissa /= 10
      value.scale -= 1
    }
    return value
  }

  /// Equal for equal books, whatever their scales.
  private func fingerprint(_ state: InstrumentState) -> Int {
    var hasher = Hasher()
    for side in [state.book.bids, state.book.asks] {
      hasher.combine(side.count)
      for level in side {
        hasher.combine(Self.plain(level.price, state.instrument.priceScale))
        hasher.combine(Self.plain(level.size, state.instrument.sizeScale))
      }
    }
    return hasher.finalize()
  }
}
