import Bytes
import MarketData
import TestTraits
import Testing
import Venues

@testable import VenueSimulator

@Suite("Trades that a venue's numbers say are missing", .longComputation)
struct TradeHoleTests {
  struct Setup: Sendable, CustomTestStringConvertible {
    let name: String
    let symbols: [String]
    var venue: Venue {
      VenueRegistry.venue(named: name)!.connections(for: FeedConfiguration(symbols: symbols))[0].venue
    }
    var testDescription: String { "\(name) \(symbols[0])" }
  }
  static let setups = [
    Setup(name: "kraken", symbols: ["BTC-USD", "ZEC-USD"]), Setup(name: "coinbase", symbols: ["BTC-USD", "ZEC-USD"]),
    Setup(name: "okx", symbols: ["BTC-USDT", "ZEC-USDT-PERP"]),
    Setup(name: "binance", symbols: ["BTC-USDT", "ZEC-USDT"]),
    Setup(name: "binance", symbols: ["BTC-USDT-PERP", "ZEC-USDT-PERP"]),
  ]

  /// A feed, and what its market has published.
  final class Trial {
    let simulated: SimulatedVenue
    let connection: WatchedConnection
    /// By instrument, in order.
    var trades: [Int32: [Trade]] = [:]
    var holes: [Int32: [TradeHole]] = [:]
    var ends: [Int32: [TradeHole]] = [:]
    /// What the open candle said right behind each hole.
    var sources: Set<CandleSource> = []

    init(_ setup: Setup, seed: UInt64 = 5) throws {
      simulated = try SimulatedVenue(
        venue: setup.name, seed: seed, rate: 12, faults: [], start: Timestamp(microseconds: 1_795_000_020_000_000),
        excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.symbols.map { _ in 30 }))
      connection = WatchedConnection(setup.venue, symbols: setup.symbols, simulated)
      connection.observe = { [unowned self] changes in self.note(changes) }
      connection.run(30) { connection.isLive }
      try #require(connection.isLive)
    }

    private func note(_ changes: borrowing MarketChanges) {
      for item in changes.items {
        switch item {
        case .trades(let id, let range): trades[id.rawValue, default: []] += changes.trades[range]
        case .tradesMissing(let id, let hole):
          holes[id.rawValue, default: []].append(changes.holes[hole])
          let candle = connection.pipeline.market[id].openCandle(.minute, now: connection.now)
          if let candle { sources.insert(candle.source) }
        case .tradesSearched(let id, let hole): ends[id.rawValue, default: []].append(changes.holes[hole])
        default: break
        }
      }
    }

    var states: [InstrumentState] { connection.pipeline.market.instruments }

    func truth(_ state: InstrumentState) -> InstrumentMarket {
      let name = state.instrument.symbol.split(separator: ":")[1]
      return simulated.market.instruments.first { $0.instrument.symbol == name }!
    }

    func published(_ state: InstrumentState) -> [Trade] { trades[state.instrument.id.rawValue] ?? [] }

    /// The true trades from the first published one to the last.
    func existing(_ state: InstrumentState) -> [SimulatedTrade] {
      let numbers = published(state).compactMap { $0.id.number.map { Int64($0) } }
      guard let first = numbers.min(), let last = numbers.max() else { return [] }
      return truth(state).pastTrades.filter { (first...last).contains($0.id) }
    }

    /// Every trade once, and as the venue had it.
    func expectAll(sourceLocation: SourceLocation = #_sourceLocation) {
      for state in states {
        let published = published(state).sorted { $0.id.number! < $1.id.number! }
        let truth = existing(state)
        #expect(published.map { Int64($0.id.number!) } == truth.map(\.id), sourceLocation: sourceLocation)
        for (trade, other) in zip(published, truth) {
          let isSame =
            trade.side == other.side && abs(trade.time - other.time) < 1_000
            && price(trade, state) == exact(other.price, self.truth(state).instrument.priceScale)
            && size(trade.size, state) == trueSize(other.size, state)
          #expect(isSame, "\(trade) \(other)", sourceLocation: sourceLocation)
          if !isSame { return }
        }
      }
    }

    /// As counts of 10^-18.
    func exact(_ value: Int64, _ scale: UInt8) -> Int128 { Int128(value) * Int128(DecimalText.power(18 - scale)) }
    func price(_ trade: Trade, _ state: InstrumentState) -> Int128 { exact(trade.price, state.instrument.priceScale) }
    func size(_ size: Int64, _ state: InstrumentState) -> Int128 { exact(size, state.instrument.sizeScale) }
    func trueSize(_ size: Int64, _ state: InstrumentState) -> Int128 {
      let instrument = truth(state).instrument
      return exact(size * instrument.contractSize.mantissa, instrument.sizeScale + instrument.contractSize.scale)
    }

    /// The minutes' candles are those of the venue's trades, and say that they are whole. Returns how many there are.
    func expectCandles(
      from start: Timestamp, to end: Timestamp, source: CandleSource = .own,
      sourceLocation: SourceLocation = #_sourceLocation
    ) -> Int {
      var count = 0
      for state in states where holes[state.instrument.id.rawValue] != nil {
        let priceScale = truth(state).instrument.priceScale
        for candle in state.candles(.minute, from: start, to: end, limit: 100, now: connection.now) {
          let trades = truth(state).pastTrades.filter { $0.time >= candle.time && $0.time < candle.end }
          guard !trades.isEmpty else { continue }
          count += 1
          let scale = state.instrument.priceScale
          func own(_ price: Int64) -> Int128 { exact(price, scale) }
          func other(_ price: Int64) -> Int128 { exact(price, priceScale) }
          let prices = trades.map { other($0.price) }
          let volume = trades.reduce(0) { $0 + $1.size }
          #expect(candle.trades == Int64(trades.count), "\(candle)", sourceLocation: sourceLocation)
          #expect(own(candle.open) == prices[0] && own(candle.close) == prices.last, sourceLocation: sourceLocation)
          #expect(own(candle.high) == prices.max() && own(candle.low) == prices.min(), sourceLocation: sourceLocation)
          #expect(size(Int64(candle.volume), state) == trueSize(volume, state), sourceLocation: sourceLocation)
          #expect(candle.source == source, "\(candle)", sourceLocation: sourceLocation)
        }
      }
      return count
    }

    /// From the next whole minute on.
    var nextMinute: Timestamp {
      Timestamp(microseconds: (connection.now.microseconds / Microseconds.minute + 1) * Microseconds.minute)
    }

    var missed: Int { connection.pipeline.symbolCounts.reduce(0) { $0 + $1.missedTrades } }
    var found: Int { connection.pipeline.symbolCounts.reduce(0) { $0 + $1.foundTrades } }
  }

  @Test("are told with their numbers, asked for, and published once: candles are whole again", arguments: setups)
  func filled(_ setup: Setup) throws {
    let trial = try Trial(setup)
    let start = trial.nextMinute
    trial.connection.run(75)
    try trial.simulated.inject(Fault(.lostTrades, seconds: 10))
    trial.connection.run(10)
    let requests = trial.connection.requests
    trial.connection.run(80)
    var missed = 0
    for state in trial.states {
      let late = trial.published(state).filter(\.isLate).map { Int64($0.id.number!) }
      let holes = trial.holes[state.instrument.id.rawValue] ?? []
      #expect(holes.flatMap { $0.first...$0.last } == late, "each number once, in order")
      // Coinbase says every second which trade is the newest.
      #expect(holes.count == 1 || setup.name == "coinbase" && holes.count > 1)
      #expect(holes.allSatisfy { $0.isSearched && $0.count == $0.last - $0.first + 1 })
      missed += late.count
      let ends = trial.ends[state.instrument.id.rawValue] ?? []
      #expect(ends.map(\.first) == holes.map(\.first) && ends.allSatisfy { $0.missing == 0 })
    }
    #expect(missed > 20 && trial.missed == missed && trial.found == missed)
    #expect(trial.connection.requests > requests)
    #expect(trial.sources == [.partial])
    trial.expectAll()
    #expect(trial.expectCandles(from: start, to: trial.connection.now) >= 4)
  }

  @Test("stay told if the venue does not have them: the minute stays partial", arguments: setups)
  func refused(_ setup: Setup) throws {
    let trial = try Trial(Setup(name: setup.name, symbols: [setup.symbols[0]]))
    trial.connection.run(75)
    for _ in 0..<64 { try trial.simulated.inject(Fault(.trades, trades: .empty)) }
    let before = trial.connection.now
    try trial.simulated.inject(Fault(.lostTrades, seconds: 4))
    trial.connection.run(130)
    let holes = trial.holes[0] ?? []
    let ends = trial.ends[0] ?? []
    #expect(!holes.isEmpty && ends.map(\.first) == holes.map(\.first))
    #expect(ends.allSatisfy { $0.found == 0 && $0.missing == $0.count })
    #expect(trial.published(trial.states[0]).allSatisfy { !$0.isLate })
    let minute = CandleInterval.minute.start(of: before + 4 * Microseconds.second)
    for interval in CandleInterval.allCases {
      let time = interval.start(of: minute)
      let candle = try #require(
        trial.states[0].candles(interval, from: time, to: time + 1, limit: 1, now: trial.connection.now).first)
      #expect(candle.source == .partial, "\(interval.name)")
    }
    // The next minute is whole.
    let next = minute + 2 * Microseconds.minute
    let candles = trial.states[0].candles(.minute, from: next, to: next + 1, limit: 1, now: trial.connection.now)
    #expect(candles.map(\.source) == [.own])
    // Five attempts each, with longer and longer waits.
    #expect(trial.connection.requests <= 5 * holes.count + 40)
  }

  @Test(
    "are asked for again where an answer has some of them", arguments: setups, [TradeFault.holes, .ragged, .limited])
  func inPart(_ setup: Setup, _ fault: TradeFault) throws {
    let trial = try Trial(setup)
    trial.connection.run(5)
    try trial.simulated.inject(Fault(.trades, trades: fault))
    try trial.simulated.inject(Fault(.lostTrades, seconds: 10))
    trial.connection.run(200)
    let ends = trial.ends.values.joined()
    #expect(!ends.isEmpty && ends.allSatisfy { $0.missing == 0 }, "\(Array(ends))")
    trial.expectAll()
  }

  @Test("of a time without a connection are missing, too", arguments: setups)
  func reconnected(_ setup: Setup) throws {
    let trial = try Trial(setup)
    let start = trial.nextMinute
    trial.connection.run(70)
    try trial.simulated.inject(Fault(.ban, seconds: 8))
    trial.connection.lose("by the test")
    trial.connection.run(100)
    #expect(trial.connection.connects == 2 && trial.connection.isLive)
    #expect(trial.missed > 0 && trial.missed == trial.found)
    trial.expectAll()
    #expect(trial.expectCandles(from: start, to: trial.connection.now) >= 2)
  }
}
