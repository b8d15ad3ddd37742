import Bytes
import HTTP1
import MarketData
import PubSub
import Recordings
import Transport
import WebSocket

/// The connection of one client that follows recorded time. Owned by one loop.
///
/// The recordings' queue plays it in turns. A turn is asked for only when the kernel has taken everything before, so a
/// client that reads slowly is played slowly: at most one turn waits for it in memory.
final class PastSession: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: used on its loop only; the recordings' queue gets the player, and holds this only to come back.

  /// A client that takes nothing for so long is cut off, and a paused one is closed after so long, µs.
  static let blockedLimit: Int64 = 60_000_000
  static let pausedLimit: Int64 = 600_000_000
  /// A quiet client is pinged after so long, and cut off after twice as long, µs.
  private static let pingAfter: Int64 = 30_000_000
  private static let watchInterval: Duration = .seconds(1)
  /// How long it waits for a place in the recordings' queue.
  private static let retryInterval: Duration = .milliseconds(50)
  /// Shorter waits are not worth a timer, µs.
  private static let shortestWait: Int64 = 2_000
  /// Bytes of a message of the client.
  private static let messageLimit = 4 << 10

  private let port: ReplayPort
  private var api: PublicAPI { port.api }
  private let connection: Connection
  private let head: HTTPRequestHead
  private let request: ReplayRequest
  private let player: UncheckedTransfer<ReplayPlayer>
  private let expires: Timestamp?
  /// The place among those who follow recorded time; free again when the connection is gone.
  private var seat: PastSeats.Seat?
  /// Nil: the client speaks HTTP, and gets lines.
  private var webSocket: WebSocketConnection?
  private let isFramed: Bool
  private let begunAt: UInt64
  /// Whether the head of the answer has been written.
  private var hasHead: Bool
  private var bytes = 0

  private var pace: ReplayPace
  private var position: Timestamp
  /// The moment that a timer has waited for.
  private var promised: Timestamp?
  private var seekTarget: Timestamp?
  private var isTurning = false
  private var isOver = false
  private var pausedAt: Int64?
  private var owesPause = false
  private var blockedAt: Int64?
  private var heardAt: Int64
  private var isPinged = false
  private var timer: LoopTimer?
  private var watchTimer: LoopTimer?

  /// - Parameter isFramed: whether the client has got the answer to its handshake; if not, it speaks HTTP.
  init(
    _ port: ReplayPort, _ connection: Connection, _ head: HTTPRequestHead, _ request: ReplayRequest, isFramed: Bool,
    seat: PastSeats.Seat, expires: Timestamp?
  ) {
    (self.port, self.connection, self.head, self.request) = (port, connection, head, request)
    (self.seat, self.expires, self.isFramed) = (seat, expires, isFramed)
    player = UncheckedTransfer(value: ReplayPlayer(request, isFramed: isFramed))
    hasHead = isFramed
    if isFramed {
      webSocket = WebSocketConnection(role: .server, limits: WebSocketLimits(messageBytes: Self.messageLimit))
    }
    pace = ReplayPace(request.speed)
    position = request.window.lowerBound
    heardAt = connection.loop.moment
    begunAt = connection.loop.kernel.uptime()
  }

  /// Begins to play. Call it once.
  func begin(_ rest: UnsafeMutableRawBufferPointer) {
    connection.handler = self
    connection.resumeReading()
    watchTimer = connection.loop.schedule(after: Self.watchInterval) { [weak self] in self?.watch() }
    if rest.count > 0 { connection(connection, didReceive: rest) }
    goOn()
  }

  private var moment: Int64 { connection.loop.moment }

  // MARK: Turns

  /// Asks for the next turn, if the client can take it and something is due.
  private func goOn() {
    guard !isTurning, !isOver, pausedAt == nil, connection.isWritable else { return }
    timer?.cancel()
    timer = nil
    let due = pace.due(at: moment) ?? request.window.lowerBound
    let target = max(due, promised ?? due)
    promised = nil
    let seek = seekTarget
    seekTarget = nil
    isTurning = true
    let isTaken = api.gateway.askPast { [self, player] past in
      if let seek { player.value.seek(to: seek) }
      let turn = player.value.turn(past, until: target)
      connection.loop.execute { self.took(turn) }
    }
    if isTaken == true { return }
    isTurning = false
    seekTarget = seek
    again(after: Self.retryInterval)
  }

  /// - Parameter time: is due then, whatever the rounding of the clock says.
  private func again(after delay: Duration, for time: Timestamp? = nil) {
    timer?.cancel()
    timer = connection.loop.schedule(after: delay) { [weak self] in
      self?.promised = time
      self?.goOn()
    }
  }

  private func took(_ turn: ReplayPlayer.Turn) {
    isTurning = false
    guard !isOver, connection.isOpen else { return }
    // A jump drops messages of the moment before it.
    guard seekTarget == nil else {
      sayPaused()
      return goOn()
    }
    if case .failed(let failure, let symbol) = turn.next {
      write(turn.bytes)
      let response = PastAnswer.answer(failure, symbol)
      return end(request.voice.failure(response, code: 1011, reason: PastAnswer.words(of: failure, symbol)))
    }
    position = turn.position
    write(turn.bytes)
    sayPaused()
    connection.flush()
    switch turn.next {
    case .more: goOn()
    case .waits(let time): wait(for: time)
    case .ended: end(request.voice.ending(at: position))
    case .failed: break
    }
  }

  /// Answers a pause, behind the last data before it.
  private func sayPaused() {
    guard owesPause else { return }
    owesPause = false
    write(NativeReplayVoice.state("paused", at: position))
  }

  private func wait(for time: Timestamp) {
    // The clock begins with the first record, and a hole is jumped over.
    if !pace.hasBegun || time - position > PastStream.longestIdle {
      let isNear = time - position <= PastStream.longestIdle
      pace.begin(at: isNear ? position : time, moment: moment)
    }
    let wait = pace.wait(for: time, at: moment)
    if wait <= 0 {
      promised = time
      return goOn()
    }
    again(after: .microseconds(max(wait, Self.shortestWait)), for: time)
  }

  // MARK: Output

  private func write(_ bytes: SharedBytes?) {
    guard let bytes, bytes.count > 0 else { return }
    if !hasHead { writeHead() }
    self.bytes += bytes.count
    guard !isFramed, head.isHTTP11 else { return connection.write(bytes) }
    // A chunk (RFC 9112 section 7.1).
    var size = ByteBuffer(capacity: 16)
    size.append(String(bytes.count, radix: 16))
    size.append("\r\n")
    connection.write(size.bytes)
    connection.write(bytes)
    connection.write("\r\n".utf8Span.span.bytes)
  }

  private func write(_ message: [UInt8]) {
    var out = ByteBuffer(capacity: message.count + 16)
    if isFramed {
      WebSocketFrame.appendUnmasked(.text, to: &out) { $0.append(message) }
    } else {
      out.append(message)
      if message.last != UInt8(ascii: "\n") { out.append("\n") }
    }
    write(SharedBytes(out.bytes))
  }

  private func writeHead() {
    hasHead = true
    var fields = HTTPFields([
      HTTPField("Content-Type", request.voice.contentType), HTTPField("Cache-Control", "no-store, no-transform"),
      HTTPField("X-Accel-Buffering", "no"),
    ])
    if head.isHTTP11 { fields.append("Transfer-Encoding", "chunked") }
    port.finishHead(&fields, head)
    var out = ByteBuffer(capacity: 512)
    HTTPEncoder.append(
      HTTPResponseHead(status: 200, fields: fields), bodyLength: nil, keepAlive: false, date: api.httpDate, to: &out)
    connection.write(out.bytes)
  }

  /// Ends the replay and the connection, after what has been written.
  private func end(_ end: ReplayEnd) {
    guard !isOver else { return }
    isOver = true
    stop()
    if !hasHead, let response = end.response {
      port.writeRefusal(response, head, to: connection)
      hasHead = true
      status = response.status
      return connection.close(timeout: .seconds(60))
    }
    if !hasHead { writeHead() }
    if let message = end.message { write(message) }
    if isFramed {
      var out = ByteBuffer(capacity: 128)
      WebSocketFrame.appendClose(WebSocketCloseCode(rawValue: end.code), reason: end.reason, mask: nil, to: &out)
      connection.write(out.bytes)
      webSocket?.didSendClose()
    } else if head.isHTTP11 {
      connection.write("0\r\n\r\n".utf8Span.span.bytes)
    }
    connection.close(timeout: .seconds(60))
  }

  private var status: Int?

  private func stop() {
    timer?.cancel()
    watchTimer?.cancel()
    (timer, watchTimer) = (nil, nil)
  }

  private func end(code: UInt16, _ reason: String) {
    let response = HTTPResponse.error(503, code: "unavailable", message: reason, hint: "ask again")
    end(request.voice.failure(response, code: code, reason: reason))
  }

  // MARK: Input

  func connection(_ connection: Connection, didReceive input: UnsafeMutableRawBufferPointer) {
    heardAt = moment
    isPinged = false
    // A client that speaks HTTP has nothing more to say.
    guard webSocket != nil, !isOver else { return }
    var rest = input
    do throws(WebSocketError) {
      while !isOver, let event = try webSocket?.next(&rest) { take(event) }
    } catch {
      end(ReplayEnd(code: error.code.rawValue, reason: error.reason))
    }
    if !isOver, !connection.isWritable { connection.pauseReading() }
  }

  private func take(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload):
      guard request.voice.takesControls else { return end(code: 1008, "this stream takes no messages") }
      take(payload)
    case .binary: end(code: 1003, "this stream takes text frames")
    case .ping(let payload):
      var out = ByteBuffer(capacity: 128)
      WebSocketFrame.append(.pong, payload: payload, mask: nil, to: &out)
      connection.write(out.bytes)
    case .pong: break
    case .close(let code, _, let mustReply):
      isOver = true
      stop()
      if mustReply {
        var out = ByteBuffer(capacity: 16)
        WebSocketFrame.appendCloseReply(to: code, mask: nil, to: &out)
        connection.write(out.bytes)
      }
      connection.close()
    }
  }

  private func take(_ message: UnsafeRawBufferPointer) {
    do throws(ReplayControl.Problem) {
      switch try ReplayControl(message.bytes) {
      case .pause:
        if pausedAt == nil { pausedAt = moment }
        owesPause = true
        if !isTurning { sayPaused() }
      case .resume: resume()
      case .speed(let speed):
        pace.set(speed, at: position, moment: moment)
        write(NativeReplayVoice.state("speed", at: position, speed: speed))
      case .seek(let time):
        seekTarget = time
        position = time
        pace = ReplayPace(pace.speed)
        write(NativeReplayVoice.state("sought", at: time))
      }
    } catch {
      write(HTTPResponse.error(400, code: "bad_request", message: error.message, hint: error.hint).body)
    }
    goOn()
  }

  private func resume() {
    write(NativeReplayVoice.state("running", at: position, speed: pace.speed))
    guard pausedAt != nil else { return }
    pausedAt = nil
    if pace.hasBegun { pace.begin(at: position, moment: moment) }
  }

  func connectionDidDrain(_ connection: Connection) {
    blockedAt = nil
    connection.resumeReading()
    goOn()
  }

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    isOver = true
    stop()
    seat = nil
    let time = connection.loop.kernel.uptime() &- begunAt
    api.answered(head, status: status ?? (isFramed ? 101 : 200), bytes: bytes, nanoseconds: time, on: connection)
    api.ended(connection)
  }

  // MARK: Limits

  /// Ends a session that holds its place for nothing. Once a second.
  private func watch() {
    guard !isOver else { return }
    watchTimer = connection.loop.schedule(after: Self.watchInterval) { [weak self] in self?.watch() }
    let moment = moment
    if api.gateway.isShut { return end(code: 1001, "the gateway is shutting down; reconnect") }
    if let expires, api.gateway.now() >= expires { return end(code: 1008, "your token has expired") }
    if connection.isWritable { blockedAt = nil } else { blockedAt = blockedAt ?? moment }
    if let blockedAt, moment - blockedAt > Self.blockedLimit { return connection.abort() }
    if let pausedAt, moment - pausedAt > Self.pausedLimit { return end(code: 1001, "paused for too long; ask again") }
    guard isFramed, blockedAt == nil else { return }
    if moment - heardAt > 2 * Self.pingAfter { return connection.abort() }
    guard moment - heardAt > Self.pingAfter, !isPinged else { return }
    isPinged = true
    var out = ByteBuffer(capacity: 8)
    WebSocketFrame.append(.ping, payload: UnsafeRawBufferPointer(start: nil, count: 0), mask: nil, to: &out)
    connection.write(out.bytes)
  }
}
