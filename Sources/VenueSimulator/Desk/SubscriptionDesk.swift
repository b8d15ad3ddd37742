import Bytes
import MarketData

/// Who is subscribed to what, in order: one for every simulated venue.
struct SubscriptionDesk<Channel: Hashable> {
  struct Stream: Hashable {
    let channel: Channel
    /// -1 for a channel that is of no instrument.
    let instrument: Int
  }

  private var sessions: [Stream: [SimulatedSession]] = [:]
  /// By the session's id, in the order of subscription.
  private var streams: [Int: [Stream]] = [:]

  /// The subscribers of a stream, in the order in which they came.
  func sessions(of channel: Channel, _ instrument: Int) -> [SimulatedSession] {
    sessions[Stream(channel: channel, instrument: instrument)] ?? []
  }

  /// What a session has subscribed to, in order.
  func streams(of session: SimulatedSession) -> [Stream] { streams[session.id] ?? [] }

  func isEmpty(_ channel: Channel, _ instrument: Int) -> Bool { sessions(of: channel, instrument).isEmpty }

  func has(_ session: SimulatedSession, _ channel: Channel, _ instrument: Int) -> Bool {
    streams(of: session).contains(Stream(channel: channel, instrument: instrument))
  }

  /// False if it was there.
  @discardableResult
  mutating func add(_ session: SimulatedSession, _ channel: Channel, _ instrument: Int) -> Bool {
    guard !has(session, channel, instrument) else { return false }
    let stream = Stream(channel: channel, instrument: instrument)
    streams[session.id, default: []].append(stream)
    sessions[stream, default: []].append(session)
    return true
  }

  /// False if it was not there.
  @discardableResult
  mutating func remove(_ session: SimulatedSession, _ channel: Channel, _ instrument: Int) -> Bool {
    guard has(session, channel, instrument) else { return false }
    let stream = Stream(channel: channel, instrument: instrument)
    streams[session.id]?.removeAll { $0 == stream }
    sessions[stream]?.removeAll { $0 === session }
    return true
  }

  /// Ends all that a session has subscribed to, and tells what that was.
  @discardableResult
  mutating func leave(_ session: SimulatedSession) -> [Stream] {
    let left = streams.removeValue(forKey: session.id) ?? []
    for stream in left { sessions[stream]?.removeAll { $0 === session } }
    return left
  }

  /// Sends a message, encoded once, to all subscribers but one.
  func send(
    _ channel: Channel, _ instrument: Int, _ kind: SimulatedFrameKind, except newcomer: SimulatedSession? = nil,
    _ text: @autoclosure () -> JSONText
  ) {
    let sessions = sessions(of: channel, instrument)
    guard !sessions.isEmpty else { return }
    let payload = text().shared
    for session in sessions where session !== newcomer { session.send(payload, kind, instrument: instrument) }
  }
}

/// A simulated venue whose clients subscribe to channels of instruments: what is the same in all of them. A venue adds its facts, its spelling
/// and its quirks.
class DeskProtocol<Session: SimulatedSession, Channel: Hashable>: VenueProtocol {
  typealias Stream = SubscriptionDesk<Channel>.Stream

  final var desk = SubscriptionDesk<Channel>()
  /// Ticks of 50 ms so far.
  final var ticks = 0

  final var now: Timestamp { faults.now }
  final var indices: Range<Int> { market.instruments.indices }
  final func state(_ index: Int) -> InstrumentMarket { market.instruments[index] }

  /// How it prints numbers.
  class var spelling: Spelling { .quoted }
  final func spell(_ index: Int) -> Speller { Self.spelling.of(market.instruments[index].instrument) }
  final func spell(_ state: InstrumentMarket) -> Speller { Self.spelling.of(state.instrument) }

  /// The place of an instrument by the venue's own name.
  final func index(of name: some StringProtocol) -> Int? {
    market.instruments.firstIndex { $0.instrument.venueSymbol == name }
  }

  /// Nil too for one that is to be refused.
  final func listed(_ name: some StringProtocol) -> Int? { index(of: name).flatMap { isRefused($0) ? nil : $0 } }

  /// The paths that a connection can have.
  class var paths: [String] { ["/"] }
  class func isPath(_ path: String) -> Bool { paths.contains(path) }
  /// A session for a connection; what it is sent at once is sent here.
  func accept(
    _ id: Int, _ path: String, _ query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> Session {
    Session(id: id, faults: faults)
  }
  /// A client's message.
  func receive(_ text: RawSpan, _ session: Session) {}
  /// What a session still has on each tick: heartbeats, limits.
  func tend(_ session: Session, _ now: Timestamp) {}
  /// Another 50 ms have passed for an instrument.
  func tick(_ index: Int, _ now: Timestamp) {}
  /// A session has left streams, by itself or because its connection is gone.
  func left(_ streams: [Stream], _ session: Session) {}

  override final func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard Self.isPath(path) else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return try accept(id, path, query)
  }

  override final func closed(_ session: SimulatedSession) {
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

  /// Sends a message to all subscribers of a stream.
  final func send(
    _ channel: Channel, _ index: Int, _ kind: SimulatedFrameKind, except newcomer: SimulatedSession? = nil,
    _ text: @autoclosure () -> JSONText
  ) {
    desk.send(channel, index, kind, except: newcomer, text())
  }

  /// One whose last message is `limit` µs old and which has subscribed to nothing.
  final func isIdle(_ session: Session, since last: Timestamp, _ limit: Int64) -> Bool {
    desk.streams(of: session).isEmpty && now - last >= limit
  }
}
