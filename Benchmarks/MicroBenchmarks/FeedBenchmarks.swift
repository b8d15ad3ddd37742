import Bytes
import MarketData
import TestSupport
import Venues

/// A venue's message to market events: `FeedEngine.receive` into an `EventBatch`.
enum FeedBenchmarks {
  static var all: [MicroBenchmark] {
    [
      binance("parse: binance depth, 20-60 levels") { $0.binanceDepth() },
      binance("parse: binance trade") { $0.binanceTrade() },
      binance("parse: binance bookTicker") { $0.binanceBookTicker() },
      MicroBenchmark(name: "parse: binance depth, recorded (binance-spot-20240808-btcusdt)") {
        let recording = try Recording.binanceDepth("binance-spot-20240808-btcusdt", count: MicroBenchmark.batch)
        return try prepared("binance", "BTC-USDT", recording.frames) { path in
          path.contains("exchangeInfo") ? MarketGenerator.binanceExchangeInfo : recording.snapshot
        }
      },
      coinbase("parse: coinbase l2update, 1-20 changes") { $0.coinbaseUpdate() },
      coinbase("parse: coinbase match") { $0.coinbaseMatch() },
      MicroBenchmark(name: "parse: kraken book update, 1-6 levels") {
        var market = MarketGenerator(seed: 23)
        let frames = TextTable((0..<MicroBenchmark.batch).map { _ in market.krakenUpdate() })
        return try prepared(
          "kraken", "BTC-USD", frames, first: [MarketGenerator.krakenInstruments, MarketGenerator.krakenSnapshot]
        ) { _ in "" }
      },
      MicroBenchmark(name: "pipeline: binance depth to books (parse + apply)") {
        var market = MarketGenerator(seed: 24)
        let snapshot = market.binanceSnapshot(levels: 1_000)
        let frames = TextTable((0..<MicroBenchmark.batch).map { _ in market.binanceDepth() })
        return try prepared("binance", "BTC-USDT", frames, applies: true) { path in
          path.contains("exchangeInfo") ? MarketGenerator.binanceExchangeInfo : snapshot
        }
      },
    ]
  }

  private static func binance(
    _ name: String, _ make: @escaping @Sendable (inout MarketGenerator) -> String
  ) -> MicroBenchmark {
    MicroBenchmark(name: name) {
      var market = MarketGenerator(seed: 21)
      let snapshot = market.binanceSnapshot(levels: 1_000)
      let frames = TextTable((0..<MicroBenchmark.batch).map { _ in make(&market) })
      return try prepared("binance", "BTC-USDT", frames) { path in
        path.contains("exchangeInfo") ? MarketGenerator.binanceExchangeInfo : snapshot
      }
    }
  }

  private static func coinbase(
    _ name: String, _ make: @escaping @Sendable (inout MarketGenerator) -> String
  ) -> MicroBenchmark {
    MicroBenchmark(name: name) {
      var market = MarketGenerator(seed: 22)
      let frames = TextTable((0..<MicroBenchmark.batch).map { _ in make(&market) })
      return try prepared("coinbase", "BTC-USD", frames, first: [MarketGenerator.coinbaseSnapshot]) { _ in
        MarketGenerator.coinbaseProducts
      }
    }
  }

  /// Sequence rules make an engine take each frame once: every batch begins with a fresh engine, in sync, which is not
  /// timed.
  private static func prepared(
    _ venue: String, _ symbol: String, _ frames: TextTable, first: [String] = [], applies: Bool = false,
    answer: @escaping (_ path: String) -> String
  ) throws -> PreparedBenchmark {
    guard let venue = VenueRegistry.venue(named: venue) else {
      throw BenchmarkUnavailable("there is no venue \(venue)")
    }
    let session = FeedBench(venue: venue, symbol: symbol, first: first, answer: answer)
    session.begin(frames)
    // What a parser throws away it throws away fast: a figure is worth nothing unless every frame was taken.
    let taken = session.receive(frames, applies: applies)
    guard session.rejected == 0, taken >= frames.count else {
      throw BenchmarkUnavailable(
        "\(venue.name) took \(taken) events of \(frames.count) frames and refused \(session.rejected): \(session.lastError)"
      )
    }
    return PreparedBenchmark(
      bytes: frames.bytes.count, reset: { session.begin(frames) },
      run: { session.receive(frames, applies: applies) })
  }
}

/// An engine that is driven without a network.
final class FeedBench {
  private let venue: Venue
  private let symbol: String
  private let first: [String]
  private let answer: (String) -> String
  private var engine: FeedEngine
  private var market: Market
  private var batch = EventBatch()
  private var changes = MarketChanges()
  private var now = Timestamp(milliseconds: 1_790_000_000_000)
  private(set) var rejected = 0
  private(set) var lastError = "nothing was refused"

  init(venue: Venue, symbol: String, first: [String], answer: @escaping (String) -> String) {
    self.venue = venue
    self.symbol = symbol
    self.first = first
    self.answer = answer
    self.engine = venue.makeEngine(FeedConfiguration(symbols: [symbol]))
    self.market = Market(configuration: venue.market)
  }

  /// A fresh engine, connected and in sync so that all of `frames` are news to it.
  func begin(_ frames: TextTable) {
    engine = venue.makeEngine(FeedConfiguration(symbols: [symbol]))
    market = Market(configuration: venue.market)
    batch.removeAll()
    engine.prepare(now: now, into: &batch)
    carryOut()
    engine.connected(now: now, into: &batch)
    carryOut()
    for message in first { receive(message) }
    for _ in 0..<8 {
      now = now + Microseconds.second
      engine.tick(now: now, into: &batch)
      carryOut()
    }
    apply()
  }

  /// Receives every frame; returns how many events that made.
  func receive(_ frames: TextTable, applies: Bool) -> Int {
    var events = 0
    frames.forEach { frame in
      do throws(FeedError) {
        try engine.receive(frame, now: now, into: &batch)
      } catch {
        rejected += 1
        lastError = error.detail
      }
      events &+= batch.events.count
      if applies {
        changes.removeAll()
        market.apply(batch, now: now, into: &changes)
      }
      batch.removeAll()
      if !engine.actions.isEmpty { carryOut() }
    }
    return events
  }

  private func receive(_ message: String) {
    let bytes = Array(message.utf8)
    bytes.withUnsafeBytes { raw in
      do throws(FeedError) {
        try engine.receive(RawSpan(_unsafeBytes: raw), now: now, into: &batch)
      } catch {
        lastError = error.detail
      }
    }
    carryOut()
  }

  private func carryOut() {
    while !engine.actions.isEmpty {
      let actions = engine.actions
      engine.actions.removeAll()
      for action in actions {
        guard case .get(let request, let path, _) = action else { continue }
        let body = Array(answer(path).utf8)
        let error = body.withUnsafeBytes {
          engine.response(to: request, status: 200, body: RawSpan(_unsafeBytes: $0), now: now, into: &batch)
        }
        precondition(error == nil, "\(path) is not answered as the venue does")
      }
    }
  }

  private func apply() {
    changes.removeAll()
    market.apply(batch, now: now, into: &changes)
    batch.removeAll()
  }
}
