import Bytes
import MarketData

/// What sets a simulated venue apart from the others before it says a word.
struct SimulatedFacts {
  /// `kraken`.
  let name: String
  /// How it prints numbers.
  var spelling = Spelling.quoted
  /// The paths that a connection can have; answers to clients name the first.
  var paths = ["/"]
  /// See `VenueProtocol.special`.
  var special: Set<Fault.Kind> = []
}

/// A simulated venue whose clients subscribe to channels of instruments: what is the same in all of them. A venue adds
/// its facts, its spelling and its quirks.
class DeskProtocol<Session: SimulatedSession, Channel: Hashable>: VenueProtocol {
  typealias Stream = SubscriberTable<Channel>.Stream

  final var desk = SubscriberTable<Channel>()
  /// The connections that there are, those too that a proxy keeps.
  final private(set) var clients: [Session] = []
  /// Books that are to be answered with by REST.
  final var snapshots = KeptSnapshots()
  /// Ticks of 50 ms so far.
  final var ticks = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    super.init(name: Self.facts.name, market: market, faults: faults)
  }

  class var facts: SimulatedFacts { fatalError("a venue has its facts") }
  override final class var special: Set<Fault.Kind> { facts.special }
  override final var webSocketPath: String { Self.facts.paths[0] }

  // MARK: - The market

  final var now: Timestamp { faults.now }
  final var indices: Range<Int> { market.instruments.indices }
  final func state(_ index: Int) -> InstrumentMarket { market.instruments[index] }
  final func spell(_ index: Int) -> Speller { spell(market.instruments[index]) }
  final func spell(_ state: InstrumentMarket) -> Speller { Self.facts.spelling.of(state) }
  /// The markets of spot, or all others.
  final func states(isSpot: Bool) -> [InstrumentMarket] {
    market.instruments.filter { $0.instrument.isSpot == isSpot }
  }

  /// The index of an instrument by the venue's own name; of spot or of the rest, where both have it.
  final func index(of name: some StringProtocol, isSpot: Bool? = nil) -> Int? {
    market.instruments.firstIndex {
      $0.instrument.venueSymbol == name && isSpot ?? $0.instrument.isSpot == $0.instrument.isSpot
    }
  }

  /// Nil too for one that is to be refused, or of which `channel` is.
  final func listed(_ name: some StringProtocol, on channel: Channel? = nil) -> Int? {
    index(of: name).flatMap { isRefused($0, channel) ? nil : $0 }
  }
  final func isRefused(_ index: Int, _ channel: Channel? = nil) -> Bool {
    faults.isRefused(index, channel.map { "\($0)" })
  }
  final var listed: [InstrumentMarket] { indices.filter { !isRefused($0) }.map { state($0) } }

  // MARK: - Connections

  class func isPath(_ path: String) -> Bool { facts.paths.contains(path) }
  /// Looks at what a new connection asks for, and sends what it is sent at once.
  func welcome(_ session: Session, _ request: SimulatedRequest) throws(SimulatedRefusal) {}
  /// A client's message.
  func receive(_ text: RawSpan, _ session: Session) {}
  /// What a session still has on each tick: heartbeats, limits.
  func tend(_ session: Session, _ now: Timestamp) {}
  /// Another 50 ms have passed for an instrument.
  func tick(_ index: Int, _ now: Timestamp) {}
  /// Sends what a stream begins with to a session that comes to it.
  func begin(_ stream: Stream, _ session: Session) {}
  /// A session has left streams, by itself or because its connection is gone.
  func left(_ streams: [Stream], _ session: Session) {}

  override final func open(id: Int, _ request: SimulatedRequest) throws(SimulatedRefusal) -> SimulatedSession {
    guard Self.isPath(request.path) else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    let session = Session(id: id, faults: faults)
    try welcome(session, request)
    clients.append(session)
    return session
  }

  override final func closed(_ session: SimulatedSession) {
    clients.removeAll { $0 === session }
    let streams = desk.leave(session)
    if let session = session as? Session { left(streams, session) }
  }

  override final func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? Session else { return }
    session.lastHeard = now
    receive(text, session)
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in indices { tick(index, now) }
    for case let session as Session in sessions { tend(session, now) }
  }

  /// One whose last message is `limit` µs old and which has subscribed to nothing.
  final func isIdle(_ session: Session, since last: Timestamp, _ limit: Int64) -> Bool {
    desk.streams(of: session).isEmpty && now - last >= limit
  }

  // MARK: - Streams

  override final func streams(of session: SimulatedSession) -> [SimulatedStream] {
    desk.streams(of: session).map { SimulatedStream(channel: "\($0.channel)", instrument: $0.instrument) }
  }

  /// Sends what a stream begins with, and from now on what happens on it.
  final func join(_ stream: Stream, _ session: Session) {
    faults.subscribed(to: stream.instrument)
    begin(stream, session)
    desk.add(session, stream)
  }

  /// False if the session was not there.
  @discardableResult
  final func leave(_ stream: Stream, _ session: Session) -> Bool {
    guard desk.remove(session, stream) else { return false }
    left([stream], session)
    return true
  }

  /// Sends a message to all subscribers of a stream.
  final func send(
    _ channel: Channel, _ index: Int, _ kind: SimulatedFrameKind, except newcomer: SimulatedSession? = nil,
    _ text: @autoclosure () -> JSONText
  ) {
    desk.send(channel, index, kind, except: newcomer, text())
  }

  // MARK: - Answers by REST

  override final func keepSnapshots(of instrument: Int?) { snapshots.keep(instrument, of: market, at: now) }

  /// The rows of an answer of candles, with commas between: each as `row` writes it.
  final func candles(
    _ index: Int, _ interval: CandleInterval, _ window: CandleWindow, _ fault: CandleFault?,
    _ spelling: Spelling? = nil,
    _ row: (SpelledCandle) -> JSONText
  ) -> JSONText {
    let rows = CandleRows(state(index), interval, window, now: now, fault: fault)
    return .rows(rows, spelling ?? Self.facts.spelling, row)
  }

  /// An answer that is a book.
  final func bookAnswer(_ truth: SimulatedTruth, _ text: JSONText) -> SimulatedResponse {
    var response = SimulatedResponse(text)
    response.truth = truth
    return response
  }
}
