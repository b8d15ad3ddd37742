import Bytes
import MarketData
import TestSupport
import Venues

@testable import VenueSimulator

/// One seeded life of a feed: a venue's handler with its market against that venue's simulation, with faults, latency and a
/// session's duties, without sockets or clocks. Everything, the faults included, follows from the seed.
///
/// At every moment in which a book calls itself live it is compared with the truth, which is: the venue's true book at the moment
/// it sent the newest message (or REST snapshot) that has been **delivered**, to the depth that the venue sends. What is still on
/// its way does not count, and neither does what a fault kept from being sent. "Newest" is by the venue's numbering where it has
/// one, so that what comes late or twice must change nothing; elsewhere it is the message delivered last.
///
/// What no rule of the venue can see, no client can mend: `Oversight` says for each venue which faults those are. Such a book is
/// compared only as far as the venue vouches for it, until the next snapshot of it has been delivered.
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

  private struct Reference {
    var truth: SimulatedTruth
    /// Struck, since its last snapshot, by something that nobody can see.
    var isExcused = false
  }

  /// Something on its way to the client.
  private enum Parcel {
    case output(SimulatedOutput)
    case pong
    case response(request: Int, SimulatedResponse)
  }

  private enum Phase {
    case preparing(since: Timestamp)
    case connecting(at: Timestamp)
    case open
    case waiting(until: Timestamp)
  }

  static let step = 25 * Microseconds.millisecond
  /// In which faults are injected; what comes after is for getting well again.
  static let troubled = 24 * Microseconds.second
  /// How long after the last fault every book must be live again. A ban and the pause that it asks for are 65 s, the longest
  /// wait for a snapshot is 60 s.
  static let recovery = 240 * Microseconds.second

  private let oversight: Oversight
  private let simulated: SimulatedVenue
  private let pipeline: FeedPipeline
  /// The simulated instruments that the feed carries.
  private let wanted: [Int]
  private let venue: Venue
  private let start = Timestamp(microseconds: 1_795_000_000_000_000)
  private var random: SeededGenerator
  private var now: Timestamp
  private var figures = Figures()
  private var log: [String] = []

  private var phase: Phase
  private var session: SimulatedSession?
  private var references: [Int: Reference] = [:]
  /// The newest update of a book that was struck by something that nobody can see: a snapshot from before it, of a request that
  /// was under way, does not mend it.
  private var strikes: [Int: Int64] = [:]
  /// The place of a simulated instrument in the client's market.
  private var places: [Int: InstrumentID] = [:]
  private var refused: Set<Int> = []
  private var failures = 0
  private var heardAt: Timestamp
  private var probedAt: Timestamp?
  private var inbound: [(due: Timestamp, parcel: Parcel)] = []
  private var outbound: [(due: Timestamp, action: () -> Void)] = []
  private var streamLatency: Int64
  private let restLatency: Int64
  private var nextTick: Timestamp
  /// What the markets' books stood at when the last fault was over.
  private var calm: [Int64]?

  init(
    _ venue: Venue, simulation: String, symbols: [String], excerpt: SimulatedExcerpt, oversight: Oversight,
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    self.venue = venue
    self.oversight = oversight
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
    heardAt = start
    nextTick = start
    phase = .waiting(until: start)
  }

  // MARK: Running

  func run() -> Figures {
    scheduleFaults()
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
      report(
        "not all books are live, and told of changes, \(Self.recovery / Microseconds.second) s after the last fault: \(states)"
      )
    }
    for index in references.keys { check(index) }
    figures.faults = simulated.faultsInjected
    return figures
  }

  /// Four to ten faults of those that the venue can have.
  private func scheduleFaults() {
    let kinds = Fault.Kind.allCases.filter { type(of: simulated.venueProtocol).objection(to: $0) == nil }
    for _ in 0..<Int.random(in: 4...10, using: &random) {
      let kind = kinds.randomElement(using: &random)!
      var fault = Fault(kind, at: Double.random(in: 0.05...20, using: &random))
      let symbol = simulated.market.instruments[wanted.randomElement(using: &random)!].instrument.symbol
      switch kind {
      case .drop, .halfOpen, .serverReset, .plannedShutdown: break
      case .silence, .slow: fault.seconds = Double.random(in: 0.2...15, using: &random)
      case .slowHandshake: fault.seconds = Double.random(in: 0.1...4, using: &random)
      case .ban: fault.seconds = Double.random(in: 0.5...20, using: &random)
      case .refuse:
        fault.symbol = symbol
        refused.insert(simulated.market.index(named: symbol)!)
      case .gap, .checksum, .malformed, .duplicate, .lateDuplicate, .reorder, .staleSnapshot:
        fault.symbol = Bool.random(using: &random) ? symbol : nil
      }
      do throws(FaultError) { try simulated.inject(fault) } catch { report(error.description) }
      log.append("fault \(kind.rawValue) \(fault.symbol ?? "") \(fault.seconds ?? 0) at \(fault.at)")
    }
  }

  /// Whether all books that can be are live, and the venue has told of each since the last fault: one that calls itself live and is
  /// not subscribed any more would never be wrong by what is delivered.
  private var isWell: Bool {
    guard case .open = phase, let calm else { return false }
    return wanted.allSatisfy { index in
      guard !refused.contains(index) else { return true }
      guard let id = place(of: index), pipeline.market[id].bookState == .live else { return false }
      return references[index].map { $0.truth.updateID >= calm[index] } ?? false
    }
  }

  private var states: String {
    let books = pipeline.market.instruments.map { "\($0.instrument.symbol) \($0.bookState)" }
    return "\(phase), \(books.joined(separator: ", "))"
  }

  private func report(_ problem: String) {
    let context = log.suffix(40).joined(separator: "\n  ")
    figures.problems.append("\(seconds): \(problem)\n  \(context)")
  }

  private var seconds: String { "\(Double(now - start) / 1e6) s" }

  private func note(_ text: @autoclosure () -> String) {
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

  private var pendingTruth: SimulatedTruth?

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
      if kind == .malformed || kind == .checksum { pendingTruth = nil }
    case .output(.witness(.late(let instrument))):
      note("late \(name(instrument))")
      if oversight.seesLate { references[instrument]?.isExcused = false }
    case .output(.text(let payload)):
      figures.messages += 1
      heard()
      let truth = pendingTruth
      pendingTruth = nil
      if let truth { delivered(truth) }
      pipeline.receive(RawSpan(_unsafeBytes: payload.unsafeBytes), now: now)
      settle()
      if let truth { check(truth.instrument) }
    case .output(.ping(let payload)):
      heard()
      send { [unowned self] session in payload.withUnsafeBytes { simulated.receivedPong($0, from: session) } }
    case .output(.close(let code, let reason)):
      // A venue has nothing for a client all of whose symbols it refuses.
      let isRefused = refused.count == wanted.count
      if code == 1008, !isRefused { report("the venue closed for misbehaviour: \(reason)") }
      lost("closed \(code) \(reason)")
    case .output(.abort): lost("cut")
    case .pong: heard()
    case .response(let request, let response):
      note(
        "response \(request) \(response.status) \(response.truth.map { "\(name($0.instrument)) \($0.updateID)" } ?? "")"
      )
      let truth = response.status == 200 ? response.truth : nil
      let isRenewal = truth.flatMap { place(of: $0.instrument) }.map { pipeline.market[$0].bookState == .live } ?? false
      if let truth, !isRenewal { delivered(truth) }
      let body = Array(response.body.utf8)
      pipeline.response(to: request, status: response.status, body: body.span.bytes, now: now)
      settle()
      // A live book that is renewed by a snapshot may be ahead of its stream from then on.
      if let truth, isRenewal, shows(truth) { delivered(truth) }
      for index in references.keys { check(index) }
    }
  }

  private func heard() {
    heardAt = now
    probedAt = nil
  }

  /// Does something at the venue when it has got there.
  private func send(_ body: @escaping (SimulatedSession) -> Void) {
    guard let session else { return }
    outbound.append((now + streamLatency, { [unowned self] in if session === self.session { body(session) } }))
  }

  // MARK: The session

  private func act() {
    switch phase {
    case .waiting(let until):
      guard now >= until else { return }
      phase = .preparing(since: now)
      pipeline.prepare(now: now)
      settle()
    case .preparing(let since):
      tick()
      if pipeline.handler.isPrepared {
        phase = .connecting(at: now + 2 * streamLatency + simulated.handshakeDelay)
      } else if now - since > 30 * Microseconds.second {
        lost("no instruments")
      }
    case .connecting(let at):
      guard now >= at, !simulated.isSilent else { return }
      connect()
    case .open:
      tick()
      guard case .open = phase else { return }
      let silence = now - heardAt
      if silence > 2 * venue.staleAfter { return lost("nothing came for \(silence / 1_000) ms") }
      if probedAt == nil, silence > 2 * Microseconds.second {
        probedAt = now
        send { [unowned self] session in
          simulated.receivedPing(from: session)
          guard !session.isEnded, !session.isHalfOpen, !simulated.isSilent else { return }
          inbound.append((now + streamLatency, .pong))
        }
      }
    }
    if pipeline.market.nextDeadline <= now {
      pipeline.advance(now: now)
      settle()
    }
  }

  private func tick() {
    guard now >= nextTick else { return }
    nextTick = now + 250 * Microseconds.millisecond
    pipeline.tick(now: now)
    settle()
  }

  private func connect() {
    let (path, query) = Self.target(of: pipeline.handler.url)
    do throws(SimulatedRefusal) {
      session = try simulated.open(path: path, query: query)
    } catch {
      return lost("refused \(error.status) \(error.reason)")
    }
    figures.connections += 1
    phase = .open
    heard()
    streamLatency = Int64.random(in: 1_000...60_000, using: &random)
    note("connected")
    pipeline.connected(now: now)
    settle()
  }

  private func lost(_ reason: String) {
    note("lost: \(reason)")
    if let session { simulated.close(session) }
    session = nil
    inbound.removeAll()
    outbound.removeAll()
    pendingTruth = nil
    references.removeAll()
    strikes.removeAll()
    pipeline.disconnected(now: now)
    failures += 1
    phase = .waiting(until: now + Int64.random(in: 200_000...(1_000_000 << min(failures, 3)), using: &random))
    settle()
    for state in pipeline.market.instruments where state.bookState == .live {
      report("\(state.instrument.symbol) calls itself live without a connection")
    }
  }

  private func settle() {
    for change in pipeline.changes.items {
      guard case .bookState(let id, let state) = change else { continue }
      if case .syncing(let reason?) = state, reason != .disconnected { figures.resyncs += 1 }
      note("\(pipeline.market[id].instrument.symbol) \(state)")
    }
    pipeline.clear()
    for action in pipeline.takeActions() {
      switch action {
      case .send(let text):
        note("send \(text.prefix(160))")
        send { [unowned self] session in simulated.receive(text, from: session) }
      case .get(let request, let path, _):
        note("get \(request) \(path.prefix(100))")
        get(request, path)
      case .reconnect(let reason), .renew(let reason, _): lost(reason)
      case .symbolFailed(let symbol, let reason): note("failed \(symbol): \(reason)")
      case .symbolAccepted(let symbol): note("accepted \(symbol)")
      case .maintenance(let isOn): note("maintenance \(isOn)")
      }
    }
  }

  private func get(_ request: Int, _ text: String) {
    let (path, query) = Self.target(of: text)
    let due = now + restLatency / 2
    outbound.append((due, { [unowned self] in ask(request, path, query) }))
  }

  private func ask(_ request: Int, _ path: String, _ query: [(name: String, value: String)]) {
    let delay = simulated.delay(path: path, query: query)
    let response = simulated.respond(path: path, query: query)
    inbound.append((now + delay + restLatency / 2, .response(request: request, response)))
  }

  /// The path and the decoded query of a URL.
  static func target(of url: String) -> (String, [(name: String, value: String)]) {
    var rest = url[...]
    if let scheme = url.firstRange(of: "://") {
      let host = url[scheme.upperBound...]
      rest = host[(host.firstIndex(of: "/") ?? host.endIndex)...]
    }
    let parts = rest.split(separator: "?", maxSplits: 1)
    let items = parts.count < 2 ? [] : parts[1].split(separator: "&")
    let query = items.map { item in
      let pair = item.split(separator: "=", maxSplits: 1)
      return (name: decoded(pair[0]), value: pair.count > 1 ? decoded(pair[1]) : "")
    }
    return (parts.first.map(String.init) ?? "/", query)
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Truth

  private func name(_ instrument: Int) -> String {
    instrument >= 0 ? simulated.market.instruments[instrument].instrument.symbol : "-"
  }

  private func place(of instrument: Int) -> InstrumentID? {
    if let place = places[instrument] { return place }
    let name = "\(venue.name):\(name(instrument))"
    let place = pipeline.market.instruments.first { $0.instrument.symbol == name }?.instrument.id
    places[instrument] = place
    return place
  }

  private func delivered(_ truth: SimulatedTruth) {
    let isWhole = truth.isSnapshot && truth.updateID >= strikes[truth.instrument] ?? .min
    guard var reference = references[truth.instrument] else {
      references[truth.instrument] = Reference(truth: truth, isExcused: strikes[truth.instrument] != nil && !isWhole)
      return
    }
    if oversight.order == .delivered || truth.updateID >= reference.truth.updateID { reference.truth = truth }
    if isWhole { reference.isExcused = false }
    references[truth.instrument] = reference
  }

  private func check(_ index: Int) {
    guard let reference = references[index], let id = place(of: index) else { return }
    let state = pipeline.market[id]
    guard state.bookState == .live else { return }
    let depth = reference.isExcused ? oversight.vouched : oversight.depth
    if reference.isExcused { figures.comparisonsInPart += 1 } else { figures.comparisons += 1 }
    guard depth > 0 else { return }
    let wrong = differences(id, reference.truth, depth, isPart: reference.isExcused)
    for (side, difference) in [("bids", wrong.bids), ("asks", wrong.asks)] {
      guard let difference else { continue }
      report(
        "\(state.instrument.symbol) is live with other \(side) than the venue's at \(reference.truth.updateID): \(difference)"
      )
    }
  }

  /// Whether a live book is the venue's.
  private func shows(_ truth: SimulatedTruth) -> Bool {
    guard let id = place(of: truth.instrument), pipeline.market[id].bookState == .live else { return false }
    return differences(id, truth, oversight.depth, isPart: false) == (nil, nil)
  }

  private func differences(
    _ id: InstrumentID, _ truth: SimulatedTruth, _ depth: Int, isPart: Bool
  ) -> (bids: String?, asks: String?) {
    let state = pipeline.market[id]
    let scale = TruthScale(simulated.market.instruments[truth.instrument].instrument, state.instrument)
    return (
      scale.difference(state.book.bids, truth.book.bids, depth, isPart: isPart),
      scale.difference(state.book.asks, truth.book.asks, depth, isPart: isPart)
    )
  }
}

/// Brings a simulated instrument's values and those of its client to one scale. The client's may be the coarser one for a while, where
/// it learns from the values.
struct TruthScale {
  /// By what the client's and the venue's values are multiplied.
  private let price: (client: Int64, venue: Int64)
  private let size: (client: Int64, venue: Int64)

  init(_ simulated: SimulatedInstrument, _ instrument: Instrument) {
    let contract = simulated.contractSize
    price = Self.factors(instrument.priceScale, simulated.priceScale)
    size = Self.factors(instrument.sizeScale, simulated.sizeScale + contract.scale, contract.mantissa)
  }

  private static func factors(_ client: UInt8, _ venue: UInt8, _ unit: Int64 = 1) -> (client: Int64, venue: Int64) {
    (
      Int64(DecimalText.power(venue > client ? venue - client : 0)),
      unit * Int64(DecimalText.power(client > venue ? client - venue : 0))
    )
  }

  /// What is different among the best `depth` levels; nil if nothing is. Both sides stand worst first. `isPart`: there may be more.
  func difference(_ got: [PriceLevel], _ want: [PriceLevel], _ depth: Int, isPart: Bool) -> String? {
    let count = min(want.count, depth)
    guard isPart ? got.count >= count : got.count == count else {
      return "\(got.count) levels instead of \(want.count)"
    }
    var g = got.count
    var w = want.count
    for rank in 0..<count {
      g &-= 1
      w &-= 1
      if got[g].price &* price.client != want[w].price &* price.venue
        || got[g].size &* size.client != want[w].size &* size.venue
      {
        return "rank \(rank) is \(got[g]) instead of \(want[w])"
      }
    }
    return nil
  }
}
