import Bytes
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Each channel of each connection, dead alone while all others live: it is told within 10 s or three times the cadence
/// of what contradicts it, asked for again, and live again when it speaks. Quiet markets and other faults are none of
/// it.
@Suite("Channels that die alone", .longComputation)
struct DeadChannelTests {
  typealias Setup = BookPropertyTests.Setup

  /// What a connection says of its channels.
  private final class Witness {
    struct Event {
      let content: SimulatedContent
      let isLive: Bool
      let symbol: String
      let at: Timestamp
    }
    private(set) var events: [Event] = []
    /// The ids of the live trades, by instrument.
    private(set) var trades: [Int: [String]] = [:]

    init(_ connection: WatchedConnection) {
      connection.onChanges = { [weak self, unowned connection] changes, now in
        guard let self else { return }
        for change in changes.items {
          switch change {
          case .channel(let id, let channel, let state):
            if case .silent(let attempt) = state, attempt > 1 { continue }
            if state == .doubted { continue }
            let content = SimulatedContent(rawValue: channel.name)!
            events.append(
              Event(
                content: content, isLive: state == .live, symbol: connection.pipeline.market[id].instrument.symbol,
                at: now))
          case .bookState(let id, let state):
            events.append(
              Event(
                content: .book, isLive: state == .live, symbol: connection.pipeline.market[id].instrument.symbol,
                at: now))
          case .trades(let id, let range):
            for trade in changes.trades[range] { trades[id.index, default: []].append(trade.id.text) }
          default: break
          }
        }
      }
    }
  }

  private static func connection(_ setup: Setup, rate: Double = 20) throws -> WatchedConnection {
    let simulated = try SimulatedVenue(
      venue: setup.name, seed: 7, rate: rate, faults: [], start: Timestamp(microseconds: 1_795_000_000_000_000),
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: setup.levels))
    return WatchedConnection(setup.venue, symbols: setup.symbols, simulated)
  }

  /// The channels of a connection that the market's other channels contradict.
  private static func contents(_ setup: Setup) -> [SimulatedContent] {
    setup.venue.profile!.channels.compactMap { channel in
      channel.silence.contains { $0 == .contradicted || $0 == .figures }
        ? SimulatedContent(rawValue: channel.content.rawValue) : nil
    }
  }

  /// How long it may take to tell of a dead channel, µs: without tickers the last price has to be left behind first.
  private static func bound(_ setup: Setup, _ content: SimulatedContent) -> Int64 {
    if content == .trades, setup.venue.market.hasWitness { return 30 * Microseconds.second }
    return max(10 * Microseconds.second, 3 * (setup.venue.market.tickerInterval ?? 0))
  }

  @Test(
    "are told of, asked for again, and live when they speak again", arguments: BookPropertyTests.setups, [true, false])
  func dead(_ setup: Setup, _ heals: Bool) throws {
    for content in Self.contents(setup) {
      let name = "\(setup.testDescription), \(content.rawValue)"
      let connection = try Self.connection(setup)
      let witness = Witness(connection)
      connection.run(30) { connection.isLive }
      try #require(connection.isLive, "\(name): \(connection.events)")
      connection.run(20)
      let symbol = "\(setup.venue.name):\(setup.symbols[0])"
      let before = witness.events.count
      let struck = connection.now
      let bound = Self.bound(setup, content)
      // One that has lost its subscription lives again with the next one; another is mute for a minute and more.
      let span = heals ? nil : max(60, Double(bound) / 1e6 + 10)
      try connection.simulated.inject(
        Fault(.mute, symbol: setup.symbols[0], channel: content.rawValue, seconds: span))
      connection.run(Double(bound) / 1e6) { witness.events.count > before }
      let told = try #require(witness.events.dropFirst(before).first, "\(name) is never told of")
      #expect(told.content == content && !told.isLive && told.symbol == symbol, "\(name): \(told)")
      #expect(told.at - struck <= bound, "\(name): told after \((told.at - struck) / 1_000) ms")

      // Others are not blamed.
      connection.run(5)
      let others = witness.events.dropFirst(before).filter { $0.content != content || $0.symbol != symbol }
      #expect(others.isEmpty, "\(name): \(others)")

      let end = struck + Int64((span ?? 0) * 1e6)
      connection.run((span ?? 0) + 90) { connection.now > end && Self.isWell(connection) }
      #expect(Self.isWell(connection), "\(name): not live \((connection.now - struck) / 1_000_000) s later")
      if heals {
        let healed = try #require(witness.events.last)
        #expect(healed.content == content && healed.isLive && connection.connects == 1, "\(name): \(healed)")
        #expect(healed.at - struck <= bound + 10 * Microseconds.second, "\(name): \((healed.at - struck) / 1_000) ms")
      }
      let healed = witness.events.count
      connection.run(60)
      #expect(witness.events.count == healed && Self.isWell(connection), "\(name): \(witness.events.suffix(3))")
      for (place, ids) in witness.trades {
        #expect(Set(ids).count == ids.count, "\(name): instrument \(place) has trades twice")
      }
    }
  }

  private static func isWell(_ connection: WatchedConnection) -> Bool {
    connection.isLive && connection.pipeline.market.instruments.allSatisfy { $0.silent == [] }
  }

  @Test("are none in an hour of a quiet market", arguments: BookPropertyTests.setups)
  func quiet(_ setup: Setup) throws {
    // A moment in about 20 s of each market, and a trade in about a minute.
    let connection = try Self.connection(setup, rate: 0.05)
    let witness = Witness(connection)
    connection.run(60) { connection.isLive }
    let before = witness.events.count
    connection.run(3_600)
    let told = witness.events.dropFirst(before).filter { $0.content != .book }
    #expect(told.isEmpty, "\(setup.testDescription): \(told)")
  }

  @Test("are none in a busy market", arguments: BookPropertyTests.setups)
  func busy(_ setup: Setup) throws {
    let connection = try Self.connection(setup, rate: 30)
    let witness = Witness(connection)
    connection.run(30) { connection.isLive }
    let before = witness.events.count
    connection.run(180)
    let told = witness.events.dropFirst(before)
    #expect(told.isEmpty, "\(setup.testDescription): \(told)")
  }

  @Test("are none where something else goes wrong", arguments: BookPropertyTests.setups)
  func faults(_ setup: Setup) throws {
    for kind in Fault.Kind.allCases where ![.candles, .names, .mute, .refuse].contains(kind) {
      let connection = try Self.connection(setup, rate: 10)
      guard type(of: connection.simulated.venueProtocol).objection(to: kind) == nil else { continue }
      let witness = Witness(connection)
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
