import Access
import Bytes
import HTTP1
import PubSub
import Transport
import WebSocket

/// The WebSocket side of one client: frames in to the hub, queued frames out to the socket. Owned by one loop.
///
/// A client of server-sent events is treated the same: its request replaces the messages that it would send, and it
/// receives messages as events (`EventWriter`). It cannot answer a ping, so it counts as reading. It is closed if its
/// kernel takes no bytes for a minute.
///
/// It holds no buffer while the client is idle.
final class StreamSession: ConnectionHandler {
  let client: ClientID
  let connection: Connection
  /// Whether the client takes compressed messages.
  let deflates: Bool
  let isTLS: Bool
  /// Nil: it speaks WebSocket.
  private var events: EventWriter?
  var encoding: ClientCounts.Encoding { events != nil ? .events : deflates ? .deflate : .plain }
  /// The code with which the gateway closed the connection; nil: it has not.
  private(set) var closeCode: UInt16?
  private unowned let clients: LoopClients
  /// The client's verified token; nil: none, or none is required.
  var credential: AccessPolicy.Credential?
  private var webSocket: WebSocketConnection
  private var isClosing = false
  /// Bytes that were read but not processed, at most `Connection.Limits.readBytes`, and the reason for waiting. The
  /// session reads nothing in the meantime.
  private var held = ByteBuffer()
  private var hold = Hold.none
  /// Frames taken since closing began.
  private var closingFrames = 0
  /// The payload of the newest ping that arrived while the connection took nothing. Pongs for earlier pings may be left
  /// out (RFC 6455 section 5.5.3), so a client that pings and does not read costs no memory.
  private var owedPong: [UInt8]?
  /// Monotonic µs: the time of the last input, of the unanswered ping (0: none), and of the start of closing.
  private var heardAt: Int64
  let openedAt: Int64
  private(set) var pace: ClientPace
  /// The client's address, as a trusted proxy reports it.
  var address: IPAddress?
  private var pingedAt: Int64 = 0
  private var closingAt: Int64 = 0
  /// Bytes that the peer had taken when the ping went out.
  private var takenAtPing: Int64 = 0
  /// The kernel's unsent bytes for the peer at the last check.
  var kernelQueuedBytes = 0
  /// Bytes handed over before the client had shown that it reads, and whether it has.
  private var unprovenBytes = 0
  private var isProven = false

  /// A quiet client is pinged after this long, µs. It is closed with 4110 if nothing comes for as long again, or for
  /// twice as long if bytes queue before the ping.
  static let pingAfter: Int64 = 30_000_000
  /// Why input is held.
  private enum Hold {
    case none
    /// The client exceeds its rates.
    case time
    /// The client has not taken its earlier answers, or one is being made.
    case replies
    /// Other clients come first.
    case turn
  }

  /// The most frames in which the session looks for the client's close frame.
  private static let closingFrameLimit = 1_000
  /// A client that does not answer a close frame is cut off after this long, µs.
  private static let closeLimit: Int64 = 5_000_000
  /// The most bytes that a client gets before it has shown that it reads; a message that crosses the limit goes whole.
  /// The client shows it by the pong to its greeting ping. A kernel takes 200 KB for a peer that does not read, so ten
  /// thousand such peers would be served at full rate until then. A client that reads sends its pong before its first
  /// request and waits for nothing.
  static let unprovenLimit = 4 << 10
  /// For clients behind a proxy that drops pongs: a message from the client this long after it connected counts as an
  /// answer, too, µs.
  private static let proofAfter: Int64 = 1_000_000
  /// Bytes passed to the socket at a time; frames after them can still be merged.
  static let handOverBytes = 32 << 10
  /// The same for a client that did not take the last ones at once.
  static let slowHandOverBytes = 4 << 10

  init(
    client: ClientID, connection: Connection, clients: LoopClients, limits: WebSocketLimits,
    deflate: PerMessageDeflate? = nil, events: EventWriter? = nil
  ) {
    self.client = client
    self.connection = connection
    self.clients = clients
    self.deflates = deflate != nil
    self.isTLS = connection.isTLS
    self.events = events
    self.isProven = events != nil
    self.webSocket = WebSocketConnection(
      role: .server, limits: limits, deflate: deflate, inflaters: clients.compression.inflaters)
    self.heardAt = connection.loop.moment
    self.openedAt = heardAt
    self.pace = ClientPace(at: heardAt)
  }

  /// Sends the ping whose pong shows that the client reads. Once, right after the answer to its handshake.
  func greet() { if events == nil { sendPing() } }

  private func sendPing() { send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes) }

  /// Bytes that the client may get, even if its connection takes more; none at 0 and below.
  var room: Int { isProven ? .max : StreamSession.unprovenLimit - unprovenBytes }
  /// Whether the session may write to the client now.
  var mayTake: Bool { !isClosing && connection.isWritable && room > 0 }

  /// - Parameter isLast: whether no other frame follows at once.
  func write(_ frame: SharedBytes, isLast: Bool) {
    if events != nil {
      events?.write(frame, isLast: isLast, at: connection.loop.moment, to: connection)
      return
    }
    connection.write(frame)
    if !isProven { unprovenBytes += frame.count }
  }

  private func prove() {
    if isProven || isClosing { return }
    let wasHeld = room <= 0
    isProven = true
    clients.proved(self)
    if wasHeld, connection.isWritable { clients.drained(self) }
  }

  // MARK: Input

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    if events != nil {
      if events?.mayDrop(bytes.count) == false { connection.abort() }
      return
    }
    heardAt = connection.loop.moment
    pingedAt = 0
    if heardAt - openedAt >= StreamSession.proofAfter { prove() }
    var input = bytes
    if hold == .none { take(&input, isNext: false) }
    if input.count > 0 { held.append(UnsafeRawBufferPointer(input)) }
  }

  /// Takes the held input in the next turn.
  func waitForTurn() {
    guard hold != .turn else { return }
    hold = .turn
    clients.waitForTurn(self)
  }

  /// Whether input is held until an answer is made or written.
  var waitsForReplies: Bool { hold == .replies }

  /// Continues with the held input, when its time or turn has come.
  func takeHeldInput() {
    hold = .none
    guard connection.isOpen else { return held.release() }
    heardAt = connection.loop.moment
    // The session does not read from a client that is held back. Therefore its held input counts as a sign of life.
    if heardAt - openedAt >= StreamSession.proofAfter { prove() }
    var input = held.unsafeMutableBytes
    take(&input, isNext: true)
    guard hold != .none else {
      held.release()
      return connection.resumeReading()
    }
    held.consume(held.count - input.count)
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
    // Input after the end of a connection is ignored.
    if !connection.isOpen { input = UnsafeMutableRawBufferPointer(start: nil, count: 0) }
  }

  /// Whether another frame may be taken now. If not, reading pauses until its reason ends.
  private func mayTake(isNext: Bool) -> Bool {
    if isClosing {
      // The peer's close frame is searched for in this many bytes; it may follow bytes that the peer had sent before.
      closingFrames += 1
      if closingFrames <= StreamSession.closingFrameLimit { return true }
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
      hold = .replies
    } else {
      hold = .time
      connection.loop.schedule(after: .microseconds(delay)) { [weak self] in
        if let self, hold == .time { takeHeldInput() }
      }
    }
    return false
  }

  private func take(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload): if !isClosing { clients.receive(payload.bytes, from: self) }
    case .binary:
      close(code: WebSocketCloseCode.unsupportedData.rawValue, reason: "tidegate.v1.json takes text frames")
    case .ping(let payload):
      if isClosing { break }
      clients.receiveControlFrame(from: self)
      if connection.isWritable { send(.pong, payload.bytes) } else { owedPong = Array(payload) }
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
      beginClosing()
      connection.close()
    }
  }

  func connectionDidDrain(_ connection: Connection) {
    if let pong = owedPong, !isClosing {
      owedPong = nil
      send(.pong, pong.span.bytes)
    }
    clients.drained(self)
  }

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    held.release()
    clients.closed(self)
  }

  /// Begins the closing handshake, after the queued bytes.
  func close(code: UInt16, reason: String) {
    guard !isClosing else { return }
    sendClose(WebSocketCloseCode(rawValue: code), reason)
    closingAt = connection.loop.moment
    // A client of events does not answer the end.
    if events != nil { return connection.close() }
    // The peer's close frame may follow the held input.
    if hold == .time || hold == .replies { waitForTurn() }
  }

  /// Ends the connection after the queued bytes, without waiting for the client's close frame.
  func endConnection() { connection.close() }

  /// Pings a quiet client and closes one that does not answer. Called every few seconds.
  func watch(at moment: Int64) {
    if pace.isDue(at: moment) {
      pace.look(messages: clients.hub.messagesSent(to: client), bytes: connection.bytesWritten, at: moment)
    }
    if isClosing {
      if closingAt != 0, moment - closingAt > StreamSession.closeLimit { connection.abort() }
    } else if events != nil {
      watchReader(at: moment)
    } else if pingedAt != 0, hold == .none {
      let overdue = moment - pingedAt - StreamSession.pingAfter
      if overdue > 0 { pongIsOverdue(by: overdue, at: moment) }
    } else if hold != .none {
      // Its pong may be in the unread input.
      heardAt = moment
    } else if moment - heardAt > StreamSession.pingAfter {
      pingedAt = moment
      takenAtPing = taken
      sendPing()
    }
  }

  /// A reader of events is alive while its kernel confirms bytes; heartbeats at least are always sent.
  private func watchReader(at moment: Int64) {
    let taken = taken
    if taken > takenAtPing || taken == Int64(truncatingIfNeeded: connection.bytesWritten) {
      (takenAtPing, heardAt) = (taken, moment)
    } else if moment - heardAt > 2 * StreamSession.pingAfter {
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
      if taken > takenAtPing {
        pingedAt = moment
        takenAtPing = taken
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
    closeCode = code.rawValue
    if let events {
      events.writeEnd(code.rawValue, reason, to: connection)
      return beginClosing()
    }
    var frame = ByteBuffer(capacity: 128)
    WebSocketFrame.appendClose(code, reason: reason, mask: nil, to: &frame)
    connection.write(frame.bytes)
    webSocket.didSendClose()
    beginClosing()
  }

  /// Nothing follows a close frame (RFC 6455 section 5.5.1), whatever the hub still holds for the client.
  private func beginClosing() {
    isClosing = true
    clients.willClose(self)
  }
}
