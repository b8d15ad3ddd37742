import Bytes
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator
@testable import Venues

/// Requests on a connection that the venue never answers, to every connection that the registry has: no book calls
/// itself live for a snapshot alone, the requests are sent again, and the connection is exchanged for another one.
@Suite("Requests that are not answered", .longComputation)
struct UnansweredTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private static var connections: [(venue: Venue, symbols: [String])] {
    let registered = VenueRegistry.venues.flatMap { venue in
      (venue.parts.isEmpty ? [venue] : venue.parts).map { part in
        let symbols = SimulatedVenue.symbols(of: venue.name).filter {
          FeedSymbol($0).map { part.kinds.contains($0.kind.family) } ?? false
        }
        return (part, Array(symbols.prefix(2)))
      }
    }
    return registered + [(Gate.venue(.bridged), ["BTC-USDT", "ETH-USDT"])]
  }

  /// A feed and its venue, with some of what the feed says kept from the venue.
  private final class Conversation {
    let simulated: SimulatedVenue
    let pipeline: FeedPipeline
    let isHeard: (String) -> Bool
    var now = UnansweredTests.start
    var session: SimulatedSession?
    var unheard: [String] = []
    var ends: [String] = []
    var resets: [String] = []
    /// Told by those that have given their connections up, too.
    var isEverLive = false

    init(_ venue: Venue, _ symbols: [String], isHeard: @escaping (String) -> Bool) throws {
      simulated = try SimulatedVenue(
        venue: venue.name, seed: 11, rate: 4, faults: [], start: UnansweredTests.start,
        excerpt: SimulatedExcerpt(symbols: symbols, levels: symbols.map { _ in 8 }))
      pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
      self.isHeard = isHeard
      pipeline.prepare(now: now)
      settle()
    }

    private func end(_ reason: String) {
      ends.append(reason)
      guard let session else { return }
      simulated.close(session)
      self.session = nil
      pipeline.disconnected(now: now)
      pipeline.prepare(now: now)
    }

    private func settle() {
      for change in pipeline.changes.items {
        switch change {
        case .bookState(_, .live): isEverLive = true
        case .bookState(_, .syncing(let reason?)) where reason != .disconnected: resets.append("\(reason)")
        default: break
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
        case .send(let text):
          guard isHeard(text) else {
            unheard.append(text)
            continue
          }
          if let session { simulated.receive(text, from: session) }
        case .reconnect(let reason): end("reconnect: \(reason)")
        case .renew(let reason, _): end("renew: \(reason)")
        case .symbolFailed, .symbolAccepted, .maintenance: break
        }
      }
      if !pipeline.changes.items.isEmpty || !pipeline.engine.actions.isEmpty { settle() }
    }

    func run(_ seconds: Int) throws {
      for _ in 0..<(seconds * 4) {
        now = now + 250 * Microseconds.millisecond
        simulated.advance(to: now)
        if session == nil, pipeline.engine.isPrepared {
          let (path, query) = VenueTrial.target(of: pipeline.engine.url)
          session = try simulated.open(path: path, query: query)
          pipeline.connected(now: now)
          settle()
        }
        for output in session?.takeOutput() ?? [] {
          switch output {
          case .text(let bytes):
            pipeline.receive(RawSpan(_unsafeBytes: bytes.unsafeBytes), now: now)
            settle()
          case .ping(let payload):
            if let session { payload.withUnsafeBytes { simulated.receivedPong($0, from: session) } }
          case .close(let code, let reason): end("closed \(code) \(reason)")
          case .abort: end("cut")
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
    }

    var told: Int { pipeline.errors.counts.first { $0.kind == .unanswered }?.count ?? 0 }
  }

  @Test(
    "no book is live, whatever REST answers; all is asked for again, and on another connection",
    arguments: connections.indices)
  func nothing(_ index: Int) throws {
    let (venue, symbols) = Self.connections[index]
    let talk = try Conversation(venue, symbols) { _ in false }
    try talk.run(150)
    #expect(!talk.isEverLive, "\(venue.label) calls a book live that nobody has subscribed")
    #expect(!talk.ends.isEmpty, "\(venue.label) goes on with a venue that answers nothing")
    #expect(talk.unheard.count > 2)
    // Some venues end such a connection themselves before that is told.
    #expect(talk.told > 0 || talk.ends.contains { !$0.hasPrefix("re") }, "\(venue.label): \(talk.ends)")
  }

  /// Connections on which trades are asked for apart from books, and how that is told.
  private static let apart: [(label: String, word: String)] = [
    ("kraken", #""channel":"trade""#), ("bitfinex", #""channel":"trades""#), ("bitstamp", "live_trades_"),
    ("coinbase-advanced", #""market_trades""#), ("gate", #""spot.trades""#), ("kucoin", #""channel":"trade""#),
    ("hyperliquid", #""type":"trades""#),
  ]

  @Test(
    "trades that are not answered leave the books alone, are asked for again, and told of", arguments: apart.indices)
  func trades(_ index: Int) throws {
    let (label, word) = Self.apart[index]
    let (venue, symbols) = try #require(Self.connections.first { $0.venue.label == label })
    let talk = try Conversation(venue, symbols) { !$0.contains(word) }
    try talk.run(8)
    let early = talk.unheard.count
    #expect(talk.isEverLive && talk.resets.isEmpty && talk.ends.isEmpty, "\(label): \(talk.resets) \(talk.ends)")
    try talk.run(142)
    #expect(talk.unheard.count > early && talk.told > 0, "\(label): \(talk.unheard.count) requests")
    #expect(
      talk.ends.contains { $0.hasPrefix("renew") } && !talk.ends.contains { $0.hasPrefix("reconnect") }, "\(talk.ends)")
    #expect(talk.resets.isEmpty, "\(label): \(talk.resets)")
  }

  @Test("a venue that was deaf for half a minute is heard again in full", arguments: connections.indices)
  func deaf(_ index: Int) throws {
    let (venue, symbols) = Self.connections[index]
    let talk = try Conversation(venue, symbols) { _ in true }
    try talk.simulated.inject(Fault(.deaf, seconds: 25))
    try talk.run(120)
    let states = talk.pipeline.market.instruments.map(\.bookState)
    #expect(
      states.count == symbols.count && states.allSatisfy { $0 == .live }, "\(venue.label): \(states) \(talk.ends)")
  }
}
