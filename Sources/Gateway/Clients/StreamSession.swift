import Bytes
import HTTP1
import PubSub
import Transport
import WebSocket

/// The WebSocket side of one client: frames in to the fan-out, queued frames out to the socket. Owned by one loop.
///
/// It holds no buffer of its own while the client is idle.
final class StreamSession: ConnectionHandler {
  let client: ClientID
  let connection: Connection
  /// Whether the client takes compressed messages.
  let deflates: Bool
  private unowned let node: LoopNode
  /// What it has shown of itself; nil: nothing, or nothing is asked for.
  var credential: AccessPolicy.Credential?
  private var webSocket: WebSocketConnection
  private var inflateBudget: InflateBudget
  private var isClosing = false
  /// The payload of the newest ping that came while the connection took nothing; pongs to the ones before may be left out
  /// (RFC 6455 section 5.5.3), so that a client that pings and does not read costs no memory.
  private var owedPong: [UInt8]?
  /// Monotonic µs: when something last came, when a ping went out that is not answered (0: none), when closing began.
  private var heardAt: Int64
  private let openedAt: Int64
  private var pingedAt: Int64 = 0
  private var closingAt: Int64 = 0
  /// What the peer had taken when the ping went out.
  private var takenAtPing: Int64 = 0
  /// What the kernel held for the peer when it was last asked.
  var kernelQueuedBytes = 0
  /// Bytes handed over before the client had shown that it reads, and whether it has.
  private var unprovenBytes = 0
  private var isProven = false

  /// A quiet client is pinged after this long, and closed with 4110 if nothing comes for as long again, or twice as long where
  /// something lies before the ping, µs.
  static let pingAfter: Int64 = 30_000_000
  /// A client that does not answer a close frame is cut off after this long, µs.
  private static let closeLimit: Int64 = 5_000_000
  /// Bytes that a client is given before it has shown that it reads, by the pong to the ping that it is greeted with (the message that goes
  /// over it goes whole): a kernel takes 200 KB for a peer that does not read, and ten thousand such peers would be served at full
  /// rate until then. Whoever reads answers before its first request goes out, and waits for nothing.
  static let unprovenLimit = 4 << 10
  /// For clients behind something that swallows pongs: what they say this long after they came counts as much, µs.
  private static let proofAfter: Int64 = 1_000_000
  /// Bytes handed to the socket at a time; what is behind them can still be merged.
  static let handOverBytes = 32 << 10
  /// The same for a client that has not taken the last ones at once.
  static let slowHandOverBytes = 4 << 10

  init(
    client: ClientID, connection: Connection, node: LoopNode, limits: WebSocketLimits, deflate: PerMessageDeflate? = nil
  ) {
    self.client = client
    self.connection = connection
    self.node = node
    self.deflates = deflate != nil
    self.webSocket = WebSocketConnection(
      role: .server, limits: limits, deflate: deflate, inflaters: node.compression.inflaters)
    self.inflateBudget = InflateBudget(
      requestsPerSecond: node.settings.clientLimits.requestsPerSecond, messageBytes: limits.messageBytes,
      now: connection.loop.moment)
    self.heardAt = connection.loop.moment
    self.openedAt = heardAt
  }

  /// Asks the client to show that it reads. Once, right behind the answer to its handshake.
  func greet() { send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes) }

  /// Bytes that the client may be given, whatever its connection takes; none at 0 and below.
  var room: Int { isProven ? .max : StreamSession.unprovenLimit - unprovenBytes }
  /// Whether the client may be given something now.
  var mayTake: Bool { connection.isWritable && room > 0 }

  func write(_ frame: SharedBytes) {
    connection.write(frame)
    if !isProven { unprovenBytes += frame.count }
  }

  private func prove() {
    if isProven { return }
    let wasHeld = room <= 0
    isProven = true
    if wasHeld, connection.isWritable { node.drained(self) }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    heardAt = connection.loop.moment
    pingedAt = 0
    if heardAt - openedAt >= StreamSession.proofAfter { prove() }
    var input = bytes
    do throws(WebSocketError) {
      while connection.isOpen, let event = try webSocket.next(&input) {
        switch event {
        case .text(let payload):
          if deflates, !inflateBudget.allows(webSocket.inflatedBytes, at: heardAt) {
            // Nothing is read any more: its close frame may lie behind as much again.
            close(
              code: CloseCode.rateLimited,
              reason: "over \(inflateBudget.limit) bytes of compressed requests in 1 s, inflated")
            return connection.close()
          }
          if !isClosing { node.receive(payload.bytes, from: self) }
        case .binary:
          close(code: WebSocketCloseCode.unsupportedData.rawValue, reason: "tidegate.v1.json takes text frames")
        case .ping(let payload):
          if isClosing { break }
          if connection.isWritable { send(.pong, payload.bytes) } else { owedPong = Array(payload) }
        case .pong: if !isClosing { prove() }
        case .close(let code, _, let mustReply):
          if mustReply {
            var frame = ByteBuffer(capacity: 16)
            WebSocketFrame.appendCloseReply(to: code, mask: nil, to: &frame)
            connection.write(frame.bytes)
            webSocket.didSendClose()
          }
          isClosing = true
          connection.close()
          return
        }
      }
    } catch {
      node.metrics.protocolErrors += 1
      if !isClosing { sendClose(error.code, error.reason) }
      isClosing = true
      connection.close()
    }
  }

  func connectionDidDrain(_ connection: Connection) {
    if let pong = owedPong, !isClosing {
      owedPong = nil
      send(.pong, pong.span.bytes)
    }
    node.drained(self)
  }

  func connectionDidClose(_ connection: Connection, reason: CloseReason) { node.closed(self) }

  /// Begins the closing handshake; what is queued goes out before it.
  func close(code: UInt16, reason: String) {
    guard !isClosing else { return }
    sendClose(WebSocketCloseCode(rawValue: code), reason)
    isClosing = true
    closingAt = connection.loop.moment
  }

  /// Pings a quiet client, gives up on one that does not answer. Called every few seconds.
  func watch(at moment: Int64) {
    if isClosing {
      if closingAt != 0, moment - closingAt > StreamSession.closeLimit { connection.abort() }
    } else if pingedAt != 0 {
      let overdue = moment - pingedAt - StreamSession.pingAfter
      if overdue > 0 { pongIsOverdue(by: overdue, at: moment) }
    } else if moment - heardAt > StreamSession.pingAfter {
      pingedAt = moment
      takenAtPing = taken
      send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes)
    }
  }

  /// Bytes that have left for the peer and that its kernel has confirmed.
  private var taken: Int64 {
    Int64(truncatingIfNeeded: connection.bytesWritten) - Int64(connection.kernelQueuedBytes ?? 0)
  }

  /// A client that reads 2 kB/s through a receive buffer of 128 KiB meets a ping after a minute, behind all that lies in the buffers:
  /// while it takes anything it is alive, and the limits for slow clients are what ends it.
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
    var frame = ByteBuffer(capacity: 128)
    WebSocketFrame.appendClose(code, reason: reason, mask: nil, to: &frame)
    connection.write(frame.bytes)
    webSocket.didSendClose()
  }
}
