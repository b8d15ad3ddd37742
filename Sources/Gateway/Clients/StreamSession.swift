import Access
import Bytes
import HTTP1
import HTTPAPI
import Operations
import PubSub
import Transport
import WebSocket

/// The WebSocket side of one client: frames in to the hub, queued frames out to the socket. Owned by one loop.
///
/// A client of server-sent events is treated the same: its request replaces the messages that it would send, and it
/// receives messages as events (`EventWriter`). It cannot answer a ping, so it counts as reading. It is closed if its
/// kernel takes no bytes for a minute.
///
/// It holds no buffer while the client is idle, and has an object of its own for each state that most clients are not
/// in: input that waits, the closing handshake, an identity beyond the connection.
final class StreamSession: ConnectionHandler {
  let client: ClientID
  let connection: Connection
  private unowned let clients: LoopClients
  private var webSocket: WebSocketConnection
  /// Nil: it speaks WebSocket.
  private let events: EventWriter?
  private var identity: Identity?
  private var held: HeldInput?
  private var closing: Closing?
  private var presence: Presence
  let openedAt: Int64
  private(set) var pace: ClientPace
  private var proof = ProofOfReading()

  /// Who a client is, where it has shown a token or came through a trusted proxy.
  private final class Identity {
    var credential: AccessPolicy.Credential?
    let address: IPAddress
    init(_ credential: AccessPolicy.Credential?, _ address: IPAddress) {
      (self.credential, self.address) = (credential, address)
    }
  }

  /// The closing handshake.
  private final class Closing {
    /// What the gateway closed the connection with; nil: it has not.
    let code: UInt16?
    /// When the gateway began it, monotonic µs; 0: the client did, or broke the protocol.
    var begunAt: Int64 = 0
    /// Frames taken since.
    var frames = 0
    init(code: UInt16?) { self.code = code }
  }

  /// Monotonic µs.
  private struct Presence {
    /// The time of the last input, and of the unanswered ping (0: none).
    var heardAt: Int64
    var pingedAt: Int64 = 0
    /// Bytes that the peer had taken when the ping went out.
    var takenAtPing: Int64 = 0
  }

  /// A quiet client is pinged after this long, µs. It is closed with 4110 if nothing comes for as long again, or for
  /// twice as long if bytes queue before the ping.
  static let pingAfter: Int64 = 30_000_000

  /// The most frames in which the session looks for the client's close frame.
  private static let closingFrameLimit = 1_000
  /// A client that does not answer a close frame is cut off after this long, µs.
  private static let closeLimit: Int64 = 5_000_000
  /// For clients behind a proxy that drops pongs: a message from the client this long after it connected counts as an
  /// answer, too, µs.
  private static let proofAfter: Int64 = 1_000_000
  /// Bytes passed to the socket at a time; frames after them can still be merged.
  static let handOverBytes = 32 << 10
  /// The same for a client that did not take the last ones at once.
  static let slowHandOverBytes = 4 << 10

  /// - Parameters:
  ///   - address: the client's, as far as a trusted proxy says.
  init(
    client: ClientID, connection: Connection, clients: LoopClients, limits: WebSocketLimits,
    deflate: PerMessageDeflate?, events: EventWriter?, credential: AccessPolicy.Credential?,
    address: IPAddress
  ) {
    self.client = client
    self.connection = connection
    self.clients = clients
    self.events = events
    if events != nil { proof.come() }
    if credential != nil || address != connection.peer.address { identity = Identity(credential, address) }
    webSocket = WebSocketConnection(
      role: .server, limits: limits, deflate: deflate, inflaters: clients.compression.inflaters)
    openedAt = connection.loop.moment
    presence = Presence(heardAt: openedAt)
    pace = ClientPace(at: openedAt)
  }

  /// Whether the client takes compressed messages.
  var deflates: Bool { webSocket.mayInflate }
  var encoding: ClientCounts.Encoding {
    guard events == nil else { return .events }
    return clients.hub.isBinary(client) ? (deflates ? .binaryDeflate : .binary) : deflates ? .deflate : .plain
  }
  /// The code with which the gateway closed the connection; nil: it has not.
  var closeCode: UInt16? { closing?.code }
  private var isClosing: Bool { closing != nil }
  /// The client's address, as a trusted proxy reports it.
  var address: IPAddress { identity?.address ?? connection.peer.address }
  /// The client's verified token; nil: none, or none is required.
  var credential: AccessPolicy.Credential? {
    get { identity?.credential }
    set {
      let identity = identity ?? Identity(nil, address)
      identity.credential = newValue
      self.identity = identity
    }
  }

  /// Whether it has more than what every session has. For tests.
  var hasExtras: Bool { identity != nil || held != nil || closing != nil || webSocket.holdsInput }

  /// Sends the ping whose pong shows that the client reads. Once, right after the answer to its handshake.
  func greet() { if events == nil { sendPing() } }

  private func sendPing() { send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes) }

  /// Bytes that the client may get, even if its connection takes more; none at 0 and below.
  var room: Int { proof.room }
  /// Whether the session may write to the client now.
  var mayTake: Bool { !isClosing && connection.isWritable && room > 0 }

  /// - Parameter isLast: whether no other frame follows at once.
  func write(_ frame: SharedBytes, isLast: Bool) {
    if let events { return events.write(frame, isLast: isLast, at: connection.loop.moment, to: connection) }
    connection.write(frame)
    proof.note(given: frame.count)
  }

  private func prove() {
    if proof.isThere || isClosing { return }
    let wasHeld = room <= 0
    proof.come()
    clients.proved(self)
    if wasHeld, connection.isWritable { clients.drained(self) }
  }

  // MARK: Input

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    if let events {
      if !events.mayDrop(bytes.count) { connection.abort() }
      return
    }
    presence.pingedAt = 0
    heard()
    var input = bytes
    if held?.reason == nil { take(&input, isNext: false) }
    if input.count > 0 { openHeld().bytes.append(UnsafeRawBufferPointer(input)) }
  }

  private func heard() {
    presence.heardAt = connection.loop.moment
    if presence.heardAt - openedAt >= StreamSession.proofAfter { prove() }
  }

  /// The place for what waits.
  private func openHeld() -> HeldInput {
    let open = held ?? HeldInput()
    held = open
    return open
  }

  /// Takes the held input in the next turn.
  func waitForTurn() {
    let held = openHeld()
    guard held.reason != .turn else { return }
    held.reason = .turn
    clients.waitForTurn(self)
  }

  /// Whether input is held until an answer is made or written.
  var waitsForReplies: Bool { held?.reason == .replies }

  /// Continues with the held input, when its time or turn has come.
  func takeHeldInput() {
    guard let held else { return }
    held.reason = nil
    guard connection.isOpen else { return self.held = nil }
    // The session does not read from a client that is held back. Therefore its held input counts as a sign of life.
    heard()
    var input = held.bytes.unsafeMutableBytes
    take(&input, isNext: true)
    held.bytes.consume(held.bytes.count - input.count)
    guard held.reason == nil else { return }
    held.bytes.release()
    if held.isEmpty { self.held = nil }
    connection.resumeReading()
  }

  /// Takes frames until there are no more or the client must wait. While it waits the session reads nothing, so the
  /// kernel holds the client back.
  private func take(_ input: inout UnsafeMutableRawBufferPointer, isNext: Bool) {
    do throws(WebSocketError) {
      while connection.isOpen, input.count > 0 {
        guard mayTake(isNext: isNext) else { return }
        let (bytes, frames, inflated) = (input.count, webSocket.framesBegun, webSocket.inflatedBytes)
        let event = try webSocket.next(&input)
        let work = bytes - input.count + Int(webSocket.inflatedBytes &- inflated)
        clients.charge(bytes: work, frames: Int(webSocket.framesBegun &- frames), to: self)
        if let event { take(event) }
      }
    } catch {
      clients.node.metrics.protocolErrors += 1
      if !isClosing { sendClose(error.code, error.reason) }
      connection.close()
    }
    webSocket.settle()
    // Input after the end of a connection is ignored.
    if !connection.isOpen { input = UnsafeMutableRawBufferPointer(start: nil, count: 0) }
  }

  /// Whether another frame may be taken now. If not, reading pauses until its reason ends.
  private func mayTake(isNext: Bool) -> Bool {
    if let closing {
      // The peer's close frame is searched for in this many bytes; it may follow bytes that the peer had sent before.
      closing.frames += 1
      if closing.frames <= StreamSession.closingFrameLimit { return true }
      connection.close()
      return false
    }
    guard clients.mayTakeInput(of: self, isNext: isNext) else {
      connection.pauseReading()
      waitForTurn()
      return false
    }
    let delay = clients.inputDelay(of: self)
    guard delay > 0 else { return true }
    connection.pauseReading()
    if delay == .max {
      openHeld().reason = .replies
    } else {
      openHeld().reason = .time
      // By name: a weak reference would leave every such client a side table for its life.
      connection.loop.schedule(after: .microseconds(delay)) { [clients, client] in
        guard let session = clients.session(of: client), session.held?.reason == .time else { return }
        session.takeHeldInput()
      }
    }
    return false
  }

  private func take(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload): if !isClosing { clients.receive(payload.bytes, from: self) }
    case .binary:
      close(code: WebSocketCloseCode.unsupportedData.rawValue, reason: "tidegate.v1 takes text frames")
    case .ping(let payload):
      if isClosing { break }
      clients.receiveControlFrame(from: self)
      if connection.isWritable { send(.pong, payload.bytes) } else { openHeld().owedPong = Array(payload) }
    case .pong:
      if isClosing { break }
      clients.receiveControlFrame(from: self)
      prove()
    case .close(let code, _, let mustReply):
      if mustReply {
        var frame = ByteBuffer(capacity: 16)
        WebSocketFrame.appendCloseReply(to: code, mask: nil, to: &frame)
        connection.write(frame.bytes)
        webSocket.didSendClose()
      }
      beginClosing(code: nil)
      connection.close()
    }
  }

  func connectionDidDrain(_ connection: Connection) {
    if let held, let pong = held.owedPong, !isClosing {
      held.owedPong = nil
      if held.isEmpty { self.held = nil }
      send(.pong, pong.span.bytes)
    }
    clients.drained(self)
  }

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    held = nil
    clients.closed(self)
  }

  /// Begins the closing handshake, after the queued bytes.
  func close(code: UInt16, reason: String) {
    guard !isClosing else { return }
    sendClose(WebSocketCloseCode(rawValue: code), reason)
    closing?.begunAt = connection.loop.moment
    // A client of events does not answer the end.
    if events != nil { return connection.close() }
    // The peer's close frame may follow the held input.
    if let reason = held?.reason, reason != .turn { waitForTurn() }
  }

  /// Ends the connection after the queued bytes, without waiting for the client's close frame.
  func endConnection() { connection.close() }

  /// Pings a quiet client and closes one that does not answer. Called every few seconds.
  func watch(at moment: Int64) {
    if pace.isDue(at: moment) {
      pace.look(messages: clients.hub.messagesSent(to: client), bytes: connection.bytesWritten, at: moment)
    }
    if let closing {
      if closing.begunAt != 0, moment - closing.begunAt > StreamSession.closeLimit { connection.abort() }
    } else if events != nil {
      watchReader(at: moment)
    } else if held?.reason != nil {
      // Its pong may be in the unread input.
      presence.heardAt = moment
    } else if presence.pingedAt != 0 {
      let overdue = moment - presence.pingedAt - StreamSession.pingAfter
      if overdue > 0 { pongIsOverdue(by: overdue, at: moment) }
    } else if moment - presence.heardAt > StreamSession.pingAfter {
      (presence.pingedAt, presence.takenAtPing) = (moment, taken)
      sendPing()
    }
  }

  /// A reader of events is alive while its kernel confirms bytes; heartbeats at least are always sent.
  private func watchReader(at moment: Int64) {
    let taken = taken
    if taken > presence.takenAtPing || taken == Int64(truncatingIfNeeded: connection.bytesWritten) {
      (presence.takenAtPing, presence.heardAt) = (taken, moment)
    } else if moment - presence.heardAt > 2 * StreamSession.pingAfter {
      close(code: 4110, reason: "the client takes no data")
    }
  }

  /// Bytes that the peer's kernel has confirmed.
  private var taken: Int64 {
    Int64(truncatingIfNeeded: connection.bytesWritten) - Int64(connection.kernelQueuedBytes ?? 0)
  }

  /// A client that reads 2 kB/s through a receive buffer of 128 KiB reaches a ping only after a minute, behind all
  /// buffered bytes. While it takes anything it is alive, and only the limits for slow clients end it.
  private func pongIsOverdue(by time: Int64, at moment: Int64) {
    let taken = taken
    if taken < Int64(truncatingIfNeeded: connection.bytesWritten) || connection.queuedBytes > 0 {
      if taken > presence.takenAtPing {
        (presence.pingedAt, presence.takenAtPing) = (moment, taken)
        return
      }
      if time <= StreamSession.pingAfter { return }
    }
    close(code: 4110, reason: "no pong")
  }

  private func send(_ opcode: WebSocketFrame.Opcode, _ payload: RawSpan) {
    var frame = ByteBuffer(capacity: payload.byteCount + 16)
    WebSocketFrame.append(opcode, payload: payload, mask: nil, to: &frame)
    connection.write(frame.bytes)
  }

  private func sendClose(_ code: WebSocketCloseCode, _ reason: String) {
    if let events {
      events.writeEnd(code.rawValue, reason, to: connection)
      return beginClosing(code: code.rawValue)
    }
    var frame = ByteBuffer(capacity: 128)
    WebSocketFrame.appendClose(code, reason: reason, mask: nil, to: &frame)
    connection.write(frame.bytes)
    webSocket.didSendClose()
    beginClosing(code: code.rawValue)
  }

  /// Nothing follows a close frame (RFC 6455 section 5.5.1), whatever the hub still holds for the client.
  private func beginClosing(code: UInt16?) {
    if closing == nil { closing = Closing(code: code) }
    clients.willClose(self)
  }
}
