import Bytes
import MarketData
import TestSupport
import Venues

@testable import VenueSimulator

/// One seeded life of a feed: a venue's engine with its market against that venue's simulation, with faults, latency
/// and a session's duties, without sockets or clocks. Everything, the faults included, follows from the seed.
///
/// At every moment in which a book calls itself live it is compared with the truth, which is: the venue's true book at
/// the moment it sent the newest message (or REST snapshot) that has been **delivered**, to the depth that the venue
/// sends. What is still on its way does not count, and neither does what a fault kept from being sent. "Newest" is by
/// the venue's numbering where it has one, so that what comes late or twice must change nothing; elsewhere it is the
/// message delivered last.
///
/// What no rule of the venue can see, no client can mend: `Oversight` says for each venue which faults those are. Such
/// a book is compared only as far as the venue vouches for it, until the next snapshot of it has been delivered.
final class VenueTrial {
  /// What a venue's rules can see.
  struct Oversight {
    enum Order {
      /// Updates are numbered: the truth is the newest.
      case numbered
      /// The truth is the message delivered last.
      case delivered
    }
    let order: Order
    /// Faults on single messages that nothing the venue sends can show.
    let blindTo: Set<Fault.Kind>
    /// Whether a message that comes after its successor can be told by itself, though the hole before it cannot.
    var seesLate = false
    /// Levels a side that are vouched for even then (Kraken's checksum covers ten).
    let vouched: Int
    /// Levels a side that are sent at all.
    let depth: Int
    enum Refusal {
      /// Each channel by itself.
      case byChannel
      /// Requests are refused whole, and have the book in them.
      case byRequest
      /// Any name is acknowledged, and what there is not stays silent; it may be asked for again.
      case bySilence
      /// The same, and asking again changes nothing.
      case forGood
      /// The connection ends.
      case byEnd
    }
    var refusal = Refusal.byChannel
    /// A text that is in the names of the simulation's book channels, and in no others.
    let books: String

    func isBook(_ stream: SimulatedStream) -> Bool { stream.channel.contains(books) }
  }

  /// What a trial added up to.
  struct Figures {
    var messages = 0
    var comparisons = 0
    var comparisonsInPart = 0
    var faults = 0
    var resyncs = 0
    var connections = 0
    var problems: [String] = []

    static func + (a: Figures, b: Figures) -> Figures {
      Figures(
        messages: a.messages + b.messages, comparisons: a.comparisons + b.comparisons,
        comparisonsInPart: a.comparisonsInPart + b.comparisonsInPart, faults: a.faults + b.faults,
        resyncs: a.resyncs + b.resyncs, connections: a.connections + b.connections, problems: a.problems + b.problems)
    }
  }

  struct Reference {
    var truth: SimulatedTruth
    /// Struck, since its last snapshot, by something that nobody can see.
    var isExcused = false
  }

  /// Something on its way to the client.
  enum Parcel {
    case output(SimulatedOutput)
    case pong
    case response(request: Int, SimulatedResponse)
  }

  enum Phase {
    case preparing(since: Timestamp)
    case connecting(at: Timestamp)
    case open
    case waiting(until: Timestamp)
  }

  /// Faults that end connections, or let their requests wait.
  static let ending: Set<Fault.Kind> = [
    .drop, .silence, .slow, .deaf, .halfOpen, .pongsOnly, .answersOnly, .serverReset, .ban, .plannedShutdown,
  ]
  static let step = 25 * Microseconds.millisecond
  /// In which faults are injected; what comes after is for getting well again.
  static let troubled = 24 * Microseconds.second
  /// How long after the last fault every book must be live again. A ban and the pause that it asks for are 65 s, the
  /// longest wait for a snapshot is 60 s.
  static let recovery = 240 * Microseconds.second

  let oversight: Oversight
  let simulated: SimulatedVenue
  let pipeline: FeedPipeline
  /// The simulated instruments that the feed carries.
  let wanted: [Int]
  /// All that the feed subscribes to; nil in a trial in which nothing goes wrong, which is to find that out.
  let asked: Set<SimulatedStream>?
  let venue: Venue
  private let start = Timestamp(microseconds: 1_795_000_000_000_000)
  var random: SeededGenerator
  var now: Timestamp
  var figures = Figures()
  private var log: [String] = []

  var phase: Phase
  var session: SimulatedSession?
  var references: [Int: Reference] = [:]
  /// The newest update of a book that was struck by something that nobody can see: a snapshot from before it, of a
  /// request that was under way, does not mend it.
  var strikes: [Int: Int64] = [:]
  /// The place of a simulated instrument in the client's market.
  var indices: [Int: InstrumentID] = [:]
  /// Refused for good, and whatever is refused at some time.
  var refused: Set<Int> = []
  var struck: Set<Int> = []
  var connection = Connection()
  var loss = Loss.never
  /// Of which request on.
  var lossFrom = 1
  /// Whether all other faults leave the first connection as it is.
  var isAboutRequests = false
  /// How often one request was lost on one connection.
  var mostLost = 0
  var failures = 0
  var watch: ConnectionWatch
  var inbound: [(due: Timestamp, parcel: Parcel)] = []
  var outbound: [(due: Timestamp, action: () -> Void)] = []
  var streamLatency: Int64
  let restLatency: Int64
  var nextTick: Timestamp
  /// What the markets' books stood at when the last fault was over.
  private var calm: [Int64]?

  init(
    _ venue: Venue, simulation: String, symbols: [String], excerpt: SimulatedExcerpt, oversight: Oversight,
    asked: Set<SimulatedStream>?, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    self.venue = venue
    self.oversight = oversight
    self.asked = asked
    let simulated = try SimulatedVenue(
      venue: simulation, seed: random.next(), rate: Double.random(in: 2...8, using: &random), faults: [], start: start,
      excerpt: excerpt)
    simulated.isWitnessed = true
    wanted = symbols.map { simulated.market.index(named: $0)! }
    self.simulated = simulated
    pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
    streamLatency = Int64.random(in: 1_000...60_000, using: &random)
    restLatency = Int64.random(in: 20_000...1_500_000, using: &random)
    self.random = random
    now = start
    watch = ConnectionWatch(staleAfter: venue.staleAfter, now: start)
    nextTick = start
    phase = .waiting(until: start)
  }

  // MARK: Running

  func run() -> Figures {
    if asked != nil { scheduleFaults() }
    let quiet = start + Self.troubled
    let end = quiet + Self.recovery
    while now < end, figures.problems.isEmpty {
      now = now + Self.step
      simulated.advance(to: now)
      collect()
      deliver()
      act()
      guard now > quiet, !simulated.hasTrouble else { continue }
      calm = calm ?? simulated.market.instruments.map(\.updateID)
      if now > quiet + 5 * Microseconds.second, isWell { break }
    }
    if figures.problems.isEmpty, !isWell {
      let span = Self.recovery / Microseconds.second
      report("not all books are live and told of, or not all is subscribed, \(span) s after the last fault: \(states)")
    }
    for index in references.keys.sorted() where !simulated.holdsBack(index) { check(index) }
    checkTold()
    figures.faults = simulated.faultsInjected
    return figures
  }

  /// Four to ten faults of those that the venue can have.
  private func scheduleFaults() {
    // Feeds ask for no candles. A channel that dies alone is told by what it contradicts, not by a book.
    var kinds = Fault.Kind.allCases.filter {
      $0 != .candles && $0 != .names && $0 != .mute && type(of: simulated.venueProtocol).objection(to: $0) == nil
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: refuseOneChannel()
    case 1: loseRequests()
    default: break
    }
    // What nothing but another connection brings is not to be had by one that other faults bring.
    if isAboutRequests { kinds.removeAll(where: Self.ending.contains) }
    for _ in 0..<Int.random(in: 4...10, using: &random) {
      let kind = kinds.randomElement(using: &random)!
      var fault = Fault(kind, at: Double.random(in: 0.05...20, using: &random))
      let index = wanted.randomElement(using: &random)!
      let symbol = symbol(index)
      switch kind {
      case .drop, .halfOpen, .serverReset, .plannedShutdown, .candles, .names, .mute, .trades: break
      case .silence, .slow, .deaf, .lostTrades: fault.seconds = Double.random(in: 0.2...15, using: &random)
      case .pongsOnly, .answersOnly:
        if Bool.random(using: &random) { fault.seconds = Double.random(in: 0.2...15, using: &random) }
      case .slowHandshake: fault.seconds = Double.random(in: 0.1...4, using: &random)
      case .ban: fault.seconds = Double.random(in: 0.5...20, using: &random)
      case .refuse:
        fault.symbol = symbol
        struck.insert(index)
        if oversight.refusal != .forGood, oversight.refusal != .byEnd, Bool.random(using: &random) {
          fault.seconds = Double.random(in: 0.2...15, using: &random)
        } else {
          refused.insert(index)
        }
      case .gap, .checksum, .malformed, .unreadable, .duplicate, .lateDuplicate, .reorder, .staleSnapshot:
        fault.symbol = Bool.random(using: &random) ? symbol : nil
      }
      inject(fault)
    }
  }

  func inject(_ fault: Fault) {
    do throws(FaultError) { try simulated.inject(fault) } catch { report(error.description) }
    log.append(
      "fault \(fault.kind.rawValue) \(fault.symbol ?? "") \(fault.channel ?? "") \(fault.seconds ?? 0) at \(fault.at)")
  }

  func symbol(_ index: Int) -> String { simulated.market.instruments[index].instrument.symbol }

  /// Whether all books that can be are live, and the venue has told of each since the last fault: one that calls itself
  /// live and is not subscribed any more would never be wrong by what is delivered.
  private var isWell: Bool {
    guard case .open = phase, let calm else { return false }
    return wanted.allSatisfy { index in
      guard !refused.contains(index) else { return true }
      guard let id = marketID(of: index), pipeline.market[id].bookState == .live else { return false }
      return references[index].map { $0.truth.updateID >= calm[index] } ?? false
    } && isSubscribed
  }

  private var states: String {
    let books = pipeline.market.instruments.map { "\($0.instrument.symbol) \($0.bookState)" }
    let streams = session.map { simulated.streams(of: $0).map { "\($0.channel) \($0.instrument)" } } ?? []
    return "\(phase), \(books.joined(separator: ", ")), subscribed to \(streams)"
  }

  func report(_ problem: String) {
    let context = log.suffix(40).joined(separator: "\n  ")
    figures.problems.append("\(seconds): \(problem)\n  \(context)")
  }

  private var seconds: String { "\(Double(now - start) / 1e6) s" }

  func note(_ text: @autoclosure () -> String) {
    if log.count > 400 { log.removeFirst(200) }
    log.append("\(seconds) \(text())")
  }

  // MARK: The wire

  private func collect() {
    guard let session else { return }
    var due = now + streamLatency
    if let last = inbound.last(where: { if case .response = $0.parcel { false } else { true } }) {
      due = max(due, last.due)
    }
    for output in session.takeOutput() { inbound.append((due, .output(output))) }
  }

  private func deliver() {
    for index in outbound.indices where outbound[index].due <= now { outbound[index].action() }
    outbound.removeAll { $0.due <= now }
    collect()
    while let index = inbound.firstIndex(where: { $0.due <= now }) {
      take(inbound.remove(at: index).parcel)
      guard figures.problems.isEmpty else { return }
    }
  }

  var pendingTruth: SimulatedTruth?
  /// The next message comes after its successor.
  private var isLate = false
  /// The next message has a level whose price is unreadable.
  private var isUnreadable = false

  private func take(_ parcel: Parcel) {
    switch parcel {
    case .output(.witness(.book(let truth))): pendingTruth = truth
    case .output(.witness(.struck(let kind, let instrument, let updateID))):
      note("struck \(kind.rawValue) \(name(instrument)) \(updateID)")
      if oversight.blindTo.contains(kind) {
        references[instrument]?.isExcused = true
        strikes[instrument] = updateID
      }
      // What was cut short and what was changed is delivered, as something that says nothing.
      if kind == .malformed || kind == .unreadable || kind == .checksum { pendingTruth = nil }
      isUnreadable = kind == .unreadable
    case .output(.witness(.late(let instrument))):
      note("late \(name(instrument))")
      isLate = true
      if oversight.seesLate { references[instrument]?.isExcused = false }
    case .output(.text(let payload)):
      figures.messages += 1
      watch.heard(now: now)
      if isUnreadable {
        isUnreadable = false
        let payload = String(decoding: payload.unsafeBytes, as: UTF8.self)
        // In a list of levels, or as the frame's only one.
        let isLevel =
          payload.contains("[")
          ? payload.prefixMatch(of: /[^\[]*\.-/) == nil : payload.contains(/"(price|qty)":[0-9]+\.-/)
        if !isLevel {
          report("what cannot be read is no level: \(payload.prefix(300))")
        }
      }
      let truth = pendingTruth
      pendingTruth = nil
      if let truth { delivered(truth, isLate: isLate) }
      isLate = false
      pipeline.receive(RawSpan(_unsafeBytes: payload.unsafeBytes), now: now)
      if pipeline.engine.marketHeard == now { watch.heardMarket(now: now) }
      settle()
      if let truth { check(truth.instrument) }
    case .output(.ping(let payload)):
      watch.heard(now: now)
      send { [unowned self] session in payload.withUnsafeBytes { simulated.receivedPong($0, from: session) } }
    case .output(.close(let code, let reason)):
      // A venue has nothing for a client all of whose symbols it refuses.
      let isRefused = struck.count == wanted.count
      if code == 1008, !isRefused { report("the venue closed for misbehaviour: \(reason)") }
      lost("closed \(code) \(reason)")
    case .output(.abort): lost("cut")
    case .pong: watch.heard(isPong: true, now: now)
    case .response(let request, let response):
      note(
        "response \(request) \(response.status) \(response.truth.map { "\(name($0.instrument)) \($0.updateID)" } ?? "")"
      )
      let truth = response.status == 200 ? response.truth : nil
      let isRenewal =
        truth.flatMap { marketID(of: $0.instrument) }.map { pipeline.market[$0].bookState == .live } ?? false
      if let truth, !isRenewal { delivered(truth) }
      let body = Array(response.body.utf8)
      pipeline.response(
        to: request, status: response.status, body: body.span.bytes, now: now, retryAfter: response.retryAfter)
      settle()
      // A live book that is renewed by a snapshot may be ahead of its stream from then on.
      if let truth, isRenewal, shows(truth) { delivered(truth) }
      for index in references.keys { check(index) }
    }
  }

  /// Does something at the venue when it has got there.
  func send(_ body: @escaping (SimulatedSession) -> Void) {
    guard let session else { return }
    outbound.append((now + streamLatency, { [unowned self] in if session === self.session { body(session) } }))
  }
}
