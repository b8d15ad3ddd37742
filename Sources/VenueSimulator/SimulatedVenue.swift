import Bytes
import MarketData

/// Why a simulated venue could not be made.
package enum SimulatorError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownVenue(String)
  case badRate(Double)
  case fault(FaultError)

  /// For people: what is wrong and what is allowed.
  package var description: String {
    switch self {
    case .unknownVenue(let name):
      "there is no simulation of '\(name)'; there are: \(SimulatedVenue.names.joined(separator: ", "))"
    case .badRate(let rate): "rate \(rate) is out of range: above 0, at most \(SimulatedVenue.rateLimit)"
    case .fault(let error): error.description
    }
  }
}

/// A simulated exchange without its sockets: market, protocol, sessions and faults under one clock that the caller
/// moves.
///
/// The same seed, calls and times give the same bytes. Confined to one queue.
package final class SimulatedVenue {
  /// A venue that can be simulated: what it lists and how it speaks.
  struct Kind: Sendable {
    let name: String
    let listing: [SimulatedInstrument]
    let make: @Sendable (SimulatedMarket, FaultInjector) -> VenueProtocol
  }

  static let kinds: [Kind] = SimulationRegistry.simulations.map { $0.kind }

  package static var names: [String] { kinds.map(\.name) }
  /// What a simulated venue lists, in the gateway's words; empty if there is no such venue.
  package static func symbols(of name: String) -> [String] {
    kinds.first { $0.name == name }?.listing.map(\.symbol) ?? []
  }
  /// The largest rate, in moments a second and instrument.
  package static let rateLimit = 10_000.0
  /// Clients at once; more are refused with 503.
  package static let sessionLimit = 64
  /// Client messages kept for each session during a silence; more end it.
  static let heldLimit = 64

  package let venueProtocol: VenueProtocol
  package let market: SimulatedMarket
  package private(set) var sessions: [SimulatedSession] = []
  private let faults: FaultInjector
  private var nextTick: Timestamp
  private var lastSessionID = 0
  private var endedFrames = 0
  private var scheduled: [(fault: Fault, due: Timestamp)] = []
  /// The connections that a planned shutdown ends, and when. Those that were made after its announcement stay.
  private var closing: [(session: SimulatedSession, at: Timestamp)] = []
  /// What is refused for a while only, and until when.
  private var lifting: [(refused: FaultInjector.Refused, at: Timestamp)] = []
  private var heldMessages: [(session: SimulatedSession, text: [UInt8])] = []

  /// - Parameters:
  ///   - name: one of `names`.
  ///   - rate: moments (book updates or trades) a second and instrument on average; 60 is a lively market.
  ///   - start: the venue's time at the start; its clock goes on from there.
  ///   - excerpt: a part of what the venue lists, with a flat day behind it; nil for all of it.
  package convenience init(
    venue name: String, seed: UInt64, rate: Double, faults list: [Fault], start: Timestamp,
    excerpt: SimulatedExcerpt? = nil, origin: SimulatedOrigin = .own
  ) throws(SimulatorError) {
    guard rate > 0, rate <= Self.rateLimit else { throw .badRate(rate) }
    guard let kind = Self.kinds.first(where: { $0.name == name }) else { throw .unknownVenue(name) }
    let injector = FaultInjector(now: start)
    let listing = excerpt.map { $0.of(kind.listing) } ?? kind.listing
    let market = SimulatedMarket(
      instruments: listing, seed: seed, rate: rate, start: start, hasPast: excerpt == nil, origin: origin)
    try self.init(kind.make(market, injector), injector, list)
  }

  /// A venue that sends a recording to each client, from its beginning.
  package convenience init(recording: RecordedSource, faults list: [Fault], start: Timestamp) throws(SimulatorError) {
    let injector = FaultInjector(now: start)
    let market = SimulatedMarket(instruments: [], seed: 0, rate: 1, start: start)
    try self.init(RecordedProtocol(source: recording, market: market, faults: injector), injector, list)
  }

  private init(_ venueProtocol: VenueProtocol, _ injector: FaultInjector, _ list: [Fault]) throws(SimulatorError) {
    self.venueProtocol = venueProtocol
    market = venueProtocol.market
    faults = injector
    nextTick = injector.now + VenueProtocol.tickInterval
    for fault in list {
      do throws(FaultError) { try inject(fault) } catch { throw .fault(error) }
    }
  }

  /// The venue's time.
  package var now: Timestamp { faults.now }
  package var faultsInjected: Int { faults.injected }
  package var framesSent: Int { sessions.reduce(endedFrames) { $0 + $1.framesSent } }
  /// Whether a fault is active or pending. A refused symbol stays refused and does not count.
  package var hasTrouble: Bool {
    faults.silence != nil || faults.isBanned || faults.isSlow || faults.isDeaf || faults.losesTrades
      || faults.carried != .everything
      || !closing.isEmpty || !scheduled.isEmpty
  }
  /// Whether a message of this instrument waits for the one that it is to follow: its book is half sent.
  package func holdsBack(_ instrument: Int) -> Bool { sessions.contains { $0.heldInstrument == instrument } }
  package var isSilent: Bool { faults.silence != nil }
  /// What a session has subscribed to, in order.
  package func streams(of session: SimulatedSession) -> [SimulatedStream] { venueProtocol.streams(of: session) }
  /// Whether sessions' output says what the books behind it are (`SimulatedOutput.witness`).
  package var isWitnessed: Bool {
    get { faults.witnessed != nil }
    set { faults.witnessed = newValue ? market : nil }
  }
  /// µs by which upgrades are to be answered late.
  package var handshakeDelay: Int64 { faults.handshakeDelay }

  // MARK: - Faults

  /// Lets a fault happen: at once if its `at` is 0, else that many seconds from now; again and again if it has `every`.
  package func inject(_ fault: Fault) throws(FaultError) {
    if venueProtocol is RecordedProtocol {
      if let reason = RecordedProtocol.objection(to: fault) {
        throw .notApplicable(fault.kind, venue: "a recording", reason: reason)
      }
    } else if let reason = type(of: venueProtocol).objection(to: fault.kind) {
      throw .notApplicable(fault.kind, venue: venueProtocol.name, reason: reason)
    }
    if let symbol = fault.symbol, market.index(named: symbol) == nil {
      throw .unknownSymbol(symbol, known: market.instruments.map(\.instrument.symbol))
    }
    if fault.at > 0 {
      scheduled.append((fault, faults.now + Self.microseconds(fault.at)))
    } else {
      fire(fault)
      if let every = fault.every { scheduled.append((fault, faults.now + Self.microseconds(every))) }
    }
  }

  private static func microseconds(_ seconds: Double) -> Int64 { Int64(seconds * Double(Microseconds.second)) }

  private func fireDue() {
    let now = faults.now
    guard scheduled.contains(where: { $0.due <= now }) else { return }
    for index in scheduled.indices where scheduled[index].due <= now {
      fire(scheduled[index].fault)
      let next = scheduled[index].fault.every.map { scheduled[index].due + Self.microseconds($0) }
      scheduled[index].due = next ?? .distantFuture
    }
    scheduled.removeAll { $0.due == .distantFuture }
  }

  private func fire(_ fault: Fault) {
    let span = Self.microseconds(fault.seconds ?? 0)
    switch fault.kind {
    case .drop where fault.frames != nil: faults.frameLimit = fault.frames
    case .drop, .halfOpen, .pongsOnly, .answersOnly, .serverReset, .plannedShutdown:
      for session in sessions where !session.isEnded {
        faults.count()
        fire(fault.kind, span, on: session)
      }
      if span > 0, let carried = Self.carried(fault.kind) { faults.muting = (carried, faults.now + span) }
    case .silence:
      faults.count()
      let from = faults.silence?.from ?? faults.now
      faults.silence = (from, max(faults.silence?.until ?? from, faults.now + span))
    case .gap, .checksum, .malformed, .unreadable, .duplicate, .lateDuplicate, .reorder:
      faults.wait(fault.kind, instrument: fault.symbol.flatMap { market.index(named: $0) })
    case .slowHandshake:
      faults.count()
      faults.handshakeDelay = span
    case .slow:
      faults.count()
      faults.slowUntil = max(faults.slowUntil ?? faults.now, faults.now + span)
    case .deaf:
      faults.count()
      faults.deafUntil = max(faults.deafUntil ?? faults.now, faults.now + span)
    case .staleSnapshot:
      faults.count()
      venueProtocol.keepSnapshots(of: fault.symbol.flatMap { market.index(named: $0) })
    case .candles: faults.wait(fault.candles ?? .empty)
    case .names: faults.wait(fault.names ?? .empty)
    case .mute:
      faults.count()
      faults.mute(
        fault.channel.flatMap { SimulatedContent(rawValue: $0) } ?? .trades,
        of: fault.symbol.flatMap { market.index(named: $0) }, until: fault.seconds == nil ? nil : faults.now + span)
    case .trades: faults.wait(fault.trades ?? .empty)
    case .lostTrades:
      faults.count()
      faults.tradesLostUntil = max(faults.tradesLostUntil ?? faults.now, faults.now + span)
    case .refuse:
      faults.count()
      if let index = fault.symbol.flatMap({ market.index(named: $0) }) {
        let refused = FaultInjector.Refused(instrument: index, channel: fault.channel)
        faults.refused.insert(refused)
        if span > 0 { lifting.append((refused, faults.now + span)) }
      }
    case .ban:
      faults.count()
      faults.bannedUntil = faults.now + span
    }
  }

  /// Lets a fault happen to one connection.
  private func fire(_ kind: Fault.Kind, _ span: Int64, on session: SimulatedSession) {
    switch kind {
    case .halfOpen: session.isHalfOpen = true
    case .serverReset: session.close(1012, "Service restart")
    case .plannedShutdown:
      venueProtocol.announceShutdown(to: session)
      closing.append((session, faults.now + (span > 0 ? span : Microseconds.second)))
    default: if let carried = Self.carried(kind) { session.carried = carried } else { session.abort() }
    }
  }

  /// The messages that a connection with this fault still sends; nil for other faults.
  private static func carried(_ kind: Fault.Kind) -> SimulatedSession.Carried? {
    kind == .pongsOnly ? .nothing : kind == .answersOnly ? .answers : nil
  }

  // MARK: - Time

  /// Lets everything up to `limit` happen, in its order: moments of the market, timers of the protocol, faults.
  package func advance(to limit: Timestamp) {
    while true {
      if let silence = faults.silence {
        guard limit >= silence.until else { break }
        endSilence(silence.from, silence.until)
      }
      if market.next(until: min(limit, nextTick)) {
        faults.now = market.change.time
        venueProtocol.publish(market.change)
        faults.settle()
      } else if nextTick <= limit {
        faults.now = nextTick
        nextTick = nextTick + VenueProtocol.tickInterval
        fireDue()
        guard faults.silence == nil else { continue }
        if lifting.contains(where: { $0.at <= faults.now }) {
          for (refused, at) in lifting where at <= faults.now { faults.refused.remove(refused) }
          lifting.removeAll { $0.at <= faults.now }
        }
        if closing.contains(where: { $0.at <= faults.now }) {
          for (session, at) in closing where at <= faults.now { session.close(1001, "Going away") }
          closing.removeAll { $0.at <= faults.now }
        }
        // What is behind a proxy that keeps the socket has no say in it.
        venueProtocol.tick(faults.now, sessions: sessions.filter { $0.carried == .everything })
        faults.settle()
      } else {
        break
      }
    }
    faults.now = max(faults.now, limit)
    if faults.silence == nil { venueProtocol.advance(to: faults.now) }
  }

  private func endSilence(_ from: Timestamp, _ end: Timestamp) {
    let span = end - from
    faults.silence = nil
    faults.now = end
    market.shift(by: span)
    nextTick = nextTick + span
    let held = heldMessages
    heldMessages.removeAll()
    for (session, text) in held where !session.isEnded {
      text.withUnsafeBytes { venueProtocol.receive(RawSpan(_unsafeBytes: $0), from: session) }
    }
  }

  /// The process stood still: moves the clock to `time` without letting what lies between happen.
  package func skip(to time: Timestamp) {
    let span = time - faults.now
    guard span > 0, faults.silence == nil else { return }
    market.shift(by: span)
    nextTick = nextTick + span
    faults.now = time
  }

  // MARK: - Clients

  /// Takes a client that asked for `path`.
  package func open(path: String, query: [(name: String, value: String)]) throws(SimulatedRefusal) -> SimulatedSession {
    if faults.isBanned { throw SimulatedRefusal(status: 429, reason: "Too Many Requests") }
    guard sessions.count < Self.sessionLimit else {
      throw SimulatedRefusal(status: 503, reason: "more than \(Self.sessionLimit) clients")
    }
    lastSessionID += 1
    let session = try venueProtocol.open(id: lastSessionID, SimulatedRequest(path: path, query: query))
    sessions.append(session)
    return session
  }

  /// Forgets a client whose connection is gone.
  package func close(_ session: SimulatedSession) {
    guard let index = sessions.firstIndex(where: { $0 === session }) else { return }
    sessions.remove(at: index)
    endedFrames += session.framesSent
    venueProtocol.closed(session)
  }

  /// A text message from a client.
  package func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard !session.isEnded, !session.isHalfOpen, session.carried != .nothing else { return }
    if faults.isDeaf {
      session.wasUnheard = true
      return
    }
    if faults.silence != nil {
      if heldMessages.count(where: { $0.session === session }) >= Self.heldLimit { return session.abort() }
      heldMessages.append((session, text.withUnsafeBytes { Array($0) }))
      return
    }
    venueProtocol.receive(text, from: session)
    faults.settle()
  }

  package func receive(_ text: String, from session: SimulatedSession) {
    Array(text.utf8).withUnsafeBytes { receive(RawSpan(_unsafeBytes: $0), from: session) }
  }

  package func receivedPing(from session: SimulatedSession) {
    guard !session.isEnded, !session.isHalfOpen else { return }
    venueProtocol.receivedPing(from: session)
  }

  package func receivedPong(_ payload: UnsafeRawBufferPointer, from session: SimulatedSession) {
    guard !session.isEnded, !session.isHalfOpen else { return }
    venueProtocol.receivedPong(payload, from: session)
  }

  /// µs by which the answer to a request is to be late.
  package func delay(path: String, query: [(name: String, value: String)]) -> Int64 {
    if faults.isBanned { return 0 }
    let slow = faults.slowUntil.map { max(0, $0 - faults.now) } ?? 0
    return slow + venueProtocol.delay(SimulatedRequest(path: path, query: query))
  }

  /// Answers a GET.
  package func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    ban ?? venueProtocol.respond(SimulatedRequest(path: path, query: query))
  }

  /// Answers a POST.
  package func respond(path: String, body: RawSpan) -> SimulatedResponse {
    ban ?? venueProtocol.respond(path: path, body: body)
  }

  /// What every request is answered with during a ban.
  private var ban: SimulatedResponse? {
    guard faults.isBanned, let until = faults.bannedUntil else { return nil }
    let left = (until - faults.now + Microseconds.second - 1) / Microseconds.second
    return SimulatedResponse(
      status: 429, fields: [("Retry-After", "\(left)")], body: #"{"code":-1003,"msg":"Too many requests."}"#)
  }
}
