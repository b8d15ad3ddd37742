import Bytes
import HTTP1
import MarketData
import VenueSimulator
import Venues

/// A connection to a simulated venue, without sockets and on a clock of its own, whose course is noted. Without faults,
/// and the same for the same seed.
final class SimulatedFeed {
  /// Which connection of which venue.
  struct Setup {
    let venue: Venue
    let simulation: String
    let symbols: [String]
    /// How it is called where that is not the connection's label.
    let name: String

    init(_ simulation: String, _ symbols: [String]) {
      let registered = VenueRegistry.venue(named: simulation)!
      venue = registered.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      name = venue.label
      self.simulation = simulation
      self.symbols = symbols
    }

    /// A connection that speaks to the simulation in another way than the registry's.
    init(_ venue: Venue, named name: String, _ symbols: [String]) {
      self.venue = venue
      self.name = name
      simulation = venue.name
      self.symbols = symbols
    }
  }

  /// Every kind of connection that there is.
  static let setups =
    VenueRegistry.connections.map { Setup($0.name, SimulatedVenue.examples(of: $0)) }
    + [Setup(Gate.venue(.bridged), named: "gate, older book", ["BTC-USDT", "ETH-USDT", "ZEC-USDT"])]

  /// Why a course could not be had.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Levels a side of the simulated books, and moments a second and instrument: a lively market.
  private static let levels = [1_000, 800, 300]
  private static let rate = 60.0
  private static let step = 10 * Microseconds.millisecond
  private static let patience = 2 * Microseconds.hour

  private let setup: Setup
  private let simulated: SimulatedVenue
  private let pipeline: FeedPipeline
  private var session: SimulatedSession?
  private var script = FeedScript()
  private var answers: [(request: Int, response: SimulatedResponse)] = []
  private var now: Timestamp
  private var failure: String?

  private init(_ setup: Setup, seed: UInt64) throws {
    self.setup = setup
    now = Timestamp(microseconds: 1_795_000_000_000_000)
    simulated = try SimulatedVenue(
      venue: setup.simulation, seed: seed, rate: Self.rate, faults: [], start: now,
      excerpt: SimulatedExcerpt(symbols: setup.symbols, levels: Self.levels))
    pipeline = FeedPipeline(venue: setup.venue, configuration: FeedConfiguration(symbols: setup.symbols))
  }

  /// The course of a connection until `messages` have come.
  /// - Throws: `Failure` where a message was refused, or the connection or a book did not stay.
  static func script(_ setup: Setup, seed: UInt64, messages: Int) throws -> FeedScript {
    let feed = try SimulatedFeed(setup, seed: seed)
    try feed.run(messages: messages)
    return feed.script
  }

  private func run(messages: Int) throws {
    let start = now
    var nextTick = now
    script.note(.prepare, now: now)
    pipeline.prepare(now: now)
    settle()
    while script.messages < messages {
      now = now + Self.step
      simulated.advance(to: now)
      answer()
      deliver()
      if session == nil, pipeline.engine.isPrepared { try connect() }
      if now >= nextTick {
        // About four a second until all books are there, then one.
        nextTick = now + (isLive ? Microseconds.second : Microseconds.second / 4)
        script.note(.tick, now: now)
        pipeline.tick(now: now)
        settle()
      }
      if pipeline.market.nextDeadline <= now {
        script.note(.advance, now: now)
        pipeline.advance(now: now)
        settle()
      }
      if let failure { throw Failure(description: failure) }
      guard now - start < Self.patience else {
        throw Failure(description: "only \(script.messages) messages in \(Self.patience / Microseconds.minute) min")
      }
    }
    guard isLive else { throw Failure(description: "not all books are live at the end") }
    guard pipeline.engine.counts.rejected == 0 else {
      throw Failure(description: "a message was refused: \(pipeline.lastError?.detail ?? "")")
    }
  }

  private var isLive: Bool {
    pipeline.market.instruments.count == setup.symbols.count
      && pipeline.market.instruments.allSatisfy { $0.bookState == .live }
  }

  private func connect() throws {
    let request = HTTPRequestHead(method: "GET", target: pipeline.engine.url, fields: HTTPFields())
    session = try simulated.open(path: request.path, query: request.query)
    script.note(.connected, now: now)
    pipeline.connected(now: now)
    settle()
  }

  private func deliver() {
    guard let session else { return }
    while session.hasOutput {
      for output in session.takeOutput() {
        switch output {
        case .text(let payload):
          script.note(message: payload.unsafeBytes, now: now)
          pipeline.receive(RawSpan(_unsafeBytes: payload.unsafeBytes), now: now)
          settle()
        case .ping(let payload): payload.withUnsafeBytes { simulated.receivedPong($0, from: session) }
        case .close(let code, let reason): failure = "the venue closed the connection: \(code) \(reason)"
        case .abort: failure = "the venue cut the connection"
        case .witness: break
        }
      }
    }
  }

  private func answer() {
    let due = answers
    answers.removeAll()
    for (request, response) in due {
      let body = Array(response.body.utf8)
      body.withUnsafeBytes {
        script.note(response: request, status: response.status, body: $0, now: now)
        pipeline.response(to: request, status: response.status, body: RawSpan(_unsafeBytes: $0), now: now)
      }
      settle()
    }
  }

  private func settle() {
    pipeline.clear()
    for action in pipeline.takeActions() {
      switch action {
      case .send(let text): if let session { simulated.receive(text, from: session) }
      case .get(let request, let path, _):
        let head = HTTPRequestHead(method: "GET", target: path, fields: HTTPFields())
        answers.append((request, simulated.respond(path: head.path, query: head.query)))
      case .reconnect(let reason), .renew(let reason, _): failure = "the connection was given up: \(reason)"
      case .symbolFailed(let symbol, let reason): failure = "\(symbol) was refused: \(reason)"
      case .symbolAccepted, .maintenance: break
      }
    }
  }
}
