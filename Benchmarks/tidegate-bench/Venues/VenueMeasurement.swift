import CAllocations
import MarketData
import Venues

/// What the messages of one connection cost.
struct VenueMeasurement {
  /// What a message is mostly made of.
  enum Kind: Int, CaseIterable {
    case book, trade, quote, ticker, other
  }

  /// What a message says, as its engine reads it.
  struct Content {
    var kind: Kind
    var levels: Int
  }

  /// CPU time of a message, ns: the least and the median of the rounds' means.
  struct Cost {
    var least = 0.0
    var median = 0.0

    init(_ rounds: [Double]) {
      least = rounds.min() ?? 0
      median = rounds.isEmpty ? 0 : Table.median(rounds)
    }
  }

  /// Messages of a round.
  static let round = 1_000

  let bytes: Double
  /// Of all messages, by `Kind`.
  let share: [Double]
  /// Of a message that is mostly a book's.
  let levels: Double
  /// The venue's engine alone: text to events.
  let engine: Cost
  /// The whole path: text to events to books, rings, pulses and changes.
  let path: Cost
  /// The whole path, of messages that are mostly a book's.
  let book: Double
  /// In all measured messages, and of how many of them.
  let allocations: Int
  let engineAllocations: Int
  let allocatingMessages: Int
  let messages: Int

  /// - Parameters:
  ///   - warmUp: messages before the first that counts.
  ///   - traces: so many allocations of the whole path are told where they come from.
  init(_ setup: SimulatedFeed.Setup, _ script: FeedScript, warmUp: Int, traces: Int = 0) throws {
    let (contents, sizes) = try Self.contents(setup, script)
    let measured = contents[warmUp...]
    bytes = Double(sizes[warmUp...].reduce(0, +)) / Double(measured.count)
    share = Kind.allCases.map { kind in
      Double(measured.count { $0.kind == kind }) / Double(measured.count)
    }
    let books = measured.filter { $0.kind == .book }
    levels = Double(books.reduce(0) { $0 + $1.levels }) / Double(max(books.count, 1))
    messages = measured.count
    let alone = try Self.handlerAlone(setup, script, warmUp: warmUp)
    engine = Cost(alone.rounds)
    engineAllocations = alone.allocations
    let whole = Self.wholePath(setup, script, warmUp: warmUp, traces: traces)
    path = Cost(whole.rounds)
    allocations = whole.allocations
    allocatingMessages = whole.allocatingMessages
    book = Self.books(setup, script, contents, warmUp: warmUp)
  }

  /// What the messages are.
  private static func contents(
    _ setup: SimulatedFeed.Setup, _ script: FeedScript
  ) throws -> (contents: [Content], sizes: [Int]) {
    let engine = setup.venue.makeEngine(FeedConfiguration(symbols: setup.symbols))
    var batch = EventBatch()
    var contents: [Content] = []
    var sizes: [Int] = []
    var refusal: FeedError?
    script.forEach { now, step, bytes in
      batch.removeAll()
      do throws(FeedError) { try engine.perform(step, now: now, bytes, into: &batch) } catch { refusal = error }
      guard case .message(let range) = step else { return }
      sizes.append(range.count)
      var counts = Array(repeating: 0, count: Kind.allCases.count)
      for event in batch.events {
        switch event {
        case .book: counts[Kind.book.rawValue] += 1
        case .trade: counts[Kind.trade.rawValue] += 1
        case .quote: counts[Kind.quote.rawValue] += 1
        case .ticker: counts[Kind.ticker.rawValue] += 1
        default: break
        }
      }
      let kind = Kind.allCases.first { counts[$0.rawValue] > 0 } ?? .other
      contents.append(Content(kind: kind, levels: batch.bids.count + batch.asks.count))
    }
    if let refusal { throw SimulatedFeed.Failure(description: "a message was refused: \(refusal.detail)") }
    return (contents, sizes)
  }

  /// Adds up time between readings of the CPU clock that stand around runs of messages, without what the reading itself
  /// takes.
  private struct Stopwatch {
    private(set) var rounds: [Double] = []
    private var spent: Int64 = 0
    private var start: Int64?
    private let overhead = CPUClock.cost(of: CPUClock.thread)

    mutating func go() { if start == nil { start = CPUClock.thread() } }

    mutating func stop() {
      guard let start else { return }
      spent += max(0, CPUClock.thread() - start - overhead)
      self.start = nil
    }

    mutating func endRound(of messages: Int) {
      stop()
      rounds.append(Double(spent) / Double(messages))
      spent = 0
    }
  }

  private static func handlerAlone(
    _ setup: SimulatedFeed.Setup, _ script: FeedScript, warmUp: Int
  ) throws -> (rounds: [Double], allocations: Int) {
    let engine = setup.venue.makeEngine(FeedConfiguration(symbols: setup.symbols))
    var batch = EventBatch()
    var watch = Stopwatch()
    var seen = 0
    var allocations: UInt64 = 0
    script.forEach { now, step, bytes in
      batch.removeAll()
      guard case .message = step, seen >= warmUp else {
        if case .message = step { seen += 1 }
        watch.stop()
        do throws(FeedError) { try engine.perform(step, now: now, bytes, into: &batch) } catch {}
        return
      }
      seen += 1
      let before = allocations_count()
      watch.go()
      do throws(FeedError) { try engine.perform(step, now: now, bytes, into: &batch) } catch {}
      allocations += allocations_count() - before
      if (seen - warmUp) % round == 0 { watch.endRound(of: round) }
    }
    return (watch.rounds, Int(allocations))
  }

  private static func wholePath(
    _ setup: SimulatedFeed.Setup, _ script: FeedScript, warmUp: Int, traces: Int
  ) -> (rounds: [Double], allocations: Int, allocatingMessages: Int) {
    let pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
    var watch = Stopwatch()
    var seen = 0
    var allocations: UInt64 = 0
    var allocating = 0
    var traces = traces
    script.forEach { now, step, bytes in
      let isMessage = if case .message = step { true } else { false }
      let isAdvance = if case .advance = step { true } else { false }
      guard seen >= warmUp, isMessage || isAdvance else {
        if isMessage { seen += 1 }
        watch.stop()
        pipeline.perform(step, now: now, bytes)
        return
      }
      if isMessage { seen += 1 }
      if traces > 0 {
        watch.stop()
        allocations_trace(Int32(traces))
      }
      let before = allocations_count()
      // That the market's time moves on belongs to the messages: merged pulses, windows that roll.
      watch.go()
      pipeline.perform(step, now: now, bytes)
      let made = allocations_count() - before
      if traces > 0 {
        allocations_trace(0)
        traces = max(0, traces - Int(made))
      }
      allocations += made
      if made > 0 { allocating += 1 }
      if isMessage, (seen - warmUp) % round == 0 { watch.endRound(of: round) }
    }
    return (watch.rounds, Int(allocations), allocating)
  }

  /// The least of the rounds' means over messages that are mostly a book's, each timed by itself.
  private static func books(
    _ setup: SimulatedFeed.Setup, _ script: FeedScript, _ contents: [Content], warmUp: Int
  ) -> Double {
    let pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
    let overhead = CPUClock.cost(of: CPUClock.monotonic)
    var means: [Double] = []
    var spent: Int64 = 0
    var count = 0
    var seen = 0
    script.forEach { now, step, bytes in
      guard case .message = step else { return pipeline.perform(step, now: now, bytes) }
      seen += 1
      guard seen > warmUp, contents[seen - 1].kind == .book else { return pipeline.perform(step, now: now, bytes) }
      let start = CPUClock.monotonic()
      pipeline.perform(step, now: now, bytes)
      spent += CPUClock.monotonic() - start - overhead
      count += 1
      if count == round / 4 {
        means.append(Double(spent) / Double(count))
        spent = 0
        count = 0
      }
    }
    return means.min() ?? 0
  }
}
