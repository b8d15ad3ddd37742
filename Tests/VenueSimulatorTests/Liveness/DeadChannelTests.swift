import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Each channel of each connection, dead alone while all others live: the gateway reports it within 10 s, or three
/// times the cadence of what contradicts it, subscribes again, and reports that it lives when it speaks. In quiet
/// markets and with other faults it reports nothing.
///
/// `TIDEGATE_SEEDS` mutes each channel so often in each market, and `TIDEGATE_VENUES` names the venues; each prints
/// what it measured.
@Suite("Channels that die alone", .longComputation)
struct DeadChannelTests {
  typealias Setup = BookPropertyTests.Setup

  private static let seeds = testSeeds(environment("TIDEGATE_SEEDS").flatMap { Int($0) } ?? 1)
  private static let setups = BookPropertyTests.chosen

  /// - Parameter first: how busy the first market is, if not as the others.
  private static func connection(
    _ setup: Setup, rate: Double, first: Double? = nil, seed: UInt64 = 7
  ) throws -> WatchedConnection {
    let busyness = setup.symbols.indices.map { $0 == 0 ? (first ?? rate) / rate : 1 }
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: seed, rate: rate, faults: [], start: Timestamp(microseconds: 1_795_000_000_000_000),
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels, busyness: busyness))
    return WatchedConnection(setup.venue, symbols: setup.symbols, simulated)
  }

  /// The channels of a connection that the market's other channels contradict.
  private static func contents(_ setup: Setup) -> [SimulatedContent] {
    setup.venue.profile!.channels.compactMap { channel in
      channel.silence.contains { [.contradicted, .quoted, .figures].contains($0) }
        ? SimulatedContent(rawValue: channel.content.rawValue) : nil
    }
  }

  /// Within what time a dead channel of a busy market is reported, µs.
  private static func bound(_ setup: Setup) -> Int64 {
    max(10 * Microseconds.second, 3 * (setup.venue.market.tickerInterval ?? 0))
  }

  private static func isWell(_ connection: WatchedConnection) -> Bool {
    connection.isLive && connection.pipeline.market.instruments.allSatisfy { $0.silent == [] }
  }

  private static func seconds(_ span: Int64) -> String { "\(span / 1_000_000).\(span / 100_000 % 10) s" }

  @Test("of a busy market are reported in time, subscribed to again, and live when they speak", arguments: setups)
  func busy(_ setup: Setup) throws {
    var words: [String] = []
    for content in Self.contents(setup) {
      for seed in Self.seeds {
        let name = "TIDEGATE_SEED=\(seed), \(setup.testDescription), \(content.rawValue)"
        let connection = try Self.connection(setup, rate: 20, seed: seed)
        let witness = ChannelWitness(connection)
        connection.run(30) { connection.isLive }
        try #require(connection.isLive, "\(name): \(connection.events)")
        connection.run(10)
        let symbol = "\(setup.venue.name):\(setup.symbols[0])"

        // One that lives again with the next subscription, then one that is mute for a minute and more. A book that is
        // joined to snapshots is not subscribed to again.
        for span in content == .book ? [60.0] : [nil, 60.0] {
          let before = witness.events.count
          let struck = connection.now
          try connection.simulated.inject(
            Fault(.mute, symbol: setup.symbols[0], channel: content.rawValue, seconds: span))
          connection.run(60) { witness.events.count > before }
          let told = try #require(witness.events.dropFirst(before).first, "\(name) is never reported")
          #expect(told.content == content && !told.isLive && told.symbol == symbol, "\(name): \(told)")
          // Figures are asked for when the last price has been left behind for 3 s.
          let isByFigures = content == .trades && setup.venue.market.hasWitness
          let left = isByFigures ? (witness.doubted[symbol] ?? struck) - 3 * Microseconds.second : struck
          #expect(told.at - left <= Self.bound(setup), "\(name): reported after \(Self.seconds(told.at - struck))")
          words.append("\(content.rawValue) \(Self.seconds(told.at - struck))")

          let end = struck + Int64((span ?? 0) * 1e6)
          connection.run((span ?? 0) + 90) { connection.now > end && Self.isWell(connection) }
          #expect(Self.isWell(connection), "\(name): not live \(Self.seconds(connection.now - struck)) later")
          // No other channel is blamed.
          if content != .book, connection.connects == 1 {
            let others = witness.events.dropFirst(before).filter { $0.content != content || $0.symbol != symbol }
            #expect(others.isEmpty, "\(name): \(others)")
          }
          if span == nil {
            let healed = try #require(witness.events.last)
            #expect(healed.content == content && healed.isLive && connection.connects == 1, "\(name): \(healed)")
            let limit = Self.bound(setup) + 10 * Microseconds.second
            #expect(healed.at - left <= limit, "\(name): \(Self.seconds(healed.at - left))")
          }
          let healed = witness.events.count
          connection.run(20)
          #expect(witness.events.count == healed && Self.isWell(connection), "\(name): \(witness.events.suffix(3))")
        }
        for (index, ids) in witness.trades {
          #expect(Set(ids).count == ids.count, "\(name): instrument \(index) has trades twice")
        }
      }
    }
    print("\(setup.testDescription), reported after: \(words.joined(separator: ", "))")
  }

  /// Moments a second and market, two in five of which make a trade: a trade in about 2, 10 and 40 s.
  private static let rates = [1.2, 0.25, 0.06]

  @Test(
    "of a quiet market are reported when their silence has been contradicted twice, and not before", arguments: setups)
  func quiet(_ setup: Setup) throws {
    var figures: [String] = []
    for content in Self.contents(setup) where content != .book {
      var (reported, innocent, rounds) = (0, 0, 0)
      for (rate, seed) in Self.rates.flatMap({ rate in Self.seeds.map { (rate, $0) } }) {
        let name = "TIDEGATE_SEED=\(seed), \(setup.testDescription), \(content.rawValue), rate \(rate)"
        // The others keep the connection from standing still, as a canary does.
        let connection = try Self.connection(setup, rate: 4, first: rate, seed: seed)
        let witness = ChannelWitness(connection)
        connection.run(60) { connection.isLive }
        try #require(connection.isLive, "\(name): \(connection.events)")
        let symbol = "\(setup.venue.name):\(setup.symbols[0])"
        var healed = connection.now
        for _ in 0..<4 {
          // What was missed of an earlier mute counts until the channel speaks.
          func isBegun() -> Bool {
            Self.isWell(connection) && witness.hasSpoken(content, of: symbol, since: healed)
          }
          connection.run(160, until: isBegun)
          guard isBegun() else { continue }
          connection.run(20)
          rounds += 1
          let before = witness.events.count
          let (struck, connects) = (connection.now, connection.connects)
          try connection.simulated.inject(
            Fault(.mute, symbol: setup.symbols[0], channel: content.rawValue, seconds: 60))
          connection.run(60) { witness.events.dropFirst(before).contains { $0.content != .book } }
          let told = witness.events.dropFirst(before).first { $0.content != .book }
          let market = connection.simulated.market
          let evidence = ChannelEvidence(
            venue: setup.venue, content: content, struck: struck,
            trades: market.instruments[market.index(named: setup.symbols[0])!].pastTrades,
            bests: witness.bests[symbol] ?? [])
          let end = struck + 60 * Microseconds.second
          if let told {
            #expect(told.content == content && !told.isLive && told.symbol == symbol, "\(name): \(told)")
            #expect(!evidence.isInnocent(until: told.at), "\(name): reported although nothing was missed")
            if let due = evidence.due { #expect(told.at <= due, "\(name): \(Self.seconds(told.at - due)) late") }
            reported += 1
          } else if let due = evidence.due {
            #expect(due > end, "\(name): not reported, due \(Self.seconds(end - due)) before the end")
          }
          if evidence.isInnocent(until: end) { innocent += 1 }
          connection.run(max(0, Double(end - connection.now) / 1e6))
          healed = connection.now
          witness.clearBests()
          if connection.connects != connects { connection.run(30) { connection.isLive } }
        }
      }
      figures.append("\(content.rawValue) \(reported) of \(rounds), \(innocent) without anything to report")
    }
    print("\(setup.testDescription), quiet: \(figures.joined(separator: "; "))")
  }

  @Test("are none in an hour of a quiet market", arguments: setups)
  func quietHour(_ setup: Setup) throws {
    for seed in Self.seeds {
      // A moment in about 20 s of each market, and a trade in about a minute, but for the first: some venues have a
      // canary, and it is one of the followed markets here. If that stood still, too, the connection would be dead.
      let connection = try Self.connection(setup, rate: 0.05, first: 4, seed: seed)
      let witness = ChannelWitness(connection)
      connection.run(60) { connection.isLive }
      let before = witness.events.count
      connection.run(3_600)
      let told = witness.events.dropFirst(before)
      #expect(told.isEmpty, "TIDEGATE_SEED=\(seed), \(setup.testDescription): \(told)")
      #expect(connection.connects == 1, "\(setup.testDescription): \(connection.events)")
    }
  }

  @Test("are none in a market that is busy or calm", arguments: setups)
  func living(_ setup: Setup) throws {
    for (rate, span) in [(30.0, 60.0), (1, 300)] {
      let connection = try Self.connection(setup, rate: rate)
      let witness = ChannelWitness(connection)
      connection.run(30) { connection.isLive }
      let before = witness.events.count
      connection.run(span)
      let told = witness.events.dropFirst(before)
      #expect(told.isEmpty, "\(setup.testDescription), rate \(rate): \(told)")
    }
  }

  @Test("are none where something else goes wrong", arguments: setups)
  func faults(_ setup: Setup) throws {
    for kind in Fault.Kind.allCases where ![.candles, .names, .trades, .lostTrades, .mute, .refuse].contains(kind) {
      let connection = try Self.connection(setup, rate: 5)
      guard type(of: connection.simulated.venueProtocol).objection(to: kind) == nil else { continue }
      let witness = ChannelWitness(connection)
      connection.run(30) { connection.isLive }
      connection.run(5)
      var fault = Fault(kind, at: 1, every: 30)
      switch kind {
      case .silence, .slow, .deaf, .ban: fault.seconds = 12
      case .slowHandshake: fault.seconds = 3
      default: break
      }
      try connection.simulated.inject(fault)
      connection.run(70)
      let told = witness.events.filter { $0.content != .book }
      #expect(told.isEmpty, "\(setup.testDescription) \(kind.rawValue): \(told)")
    }
  }
}
