import Bytes
import MarketData

/// Who is subscribed to what, in order: one for every simulated venue.
struct SubscriberTable<Channel: Hashable> {
  struct Stream: Hashable {
    let channel: Channel
    /// -1 for a channel that is of no instrument.
    let instrument: Int

    init(_ channel: Channel, _ instrument: Int) {
      self.channel = channel
      self.instrument = instrument
    }
  }

  private var sessions: [Stream: [SimulatedSession]] = [:]
  /// By the session's id, in the order of subscription.
  private var streams: [Int: [Stream]] = [:]

  /// The subscribers of a stream, in the order in which they came.
  func sessions(of channel: Channel, _ instrument: Int) -> [SimulatedSession] {
    sessions[Stream(channel, instrument)] ?? []
  }

  /// What a session has subscribed to, in order.
  func streams(of session: SimulatedSession) -> [Stream] { streams[session.id] ?? [] }

  func isEmpty(_ channel: Channel, _ instrument: Int) -> Bool { sessions(of: channel, instrument).isEmpty }

  func has(_ session: SimulatedSession, _ stream: Stream) -> Bool { streams(of: session).contains(stream) }

  /// False if it was there.
  @discardableResult
  mutating func add(_ session: SimulatedSession, _ stream: Stream) -> Bool {
    guard !has(session, stream) else { return false }
    session.faults.subscribed(to: stream.instrument)
    streams[session.id, default: []].append(stream)
    sessions[stream, default: []].append(session)
    return true
  }

  /// False if it was not there.
  mutating func remove(_ session: SimulatedSession, _ stream: Stream) -> Bool {
    guard has(session, stream) else { return false }
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
