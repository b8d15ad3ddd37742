import Bytes
import Dispatch
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues
import WebSocket

/// What a connection reports to its feed. Inside each call the feed may end the connection or replace it.
protocol FeedLineOwner: AnyObject {
  /// The pipeline took input: there may be changes to publish and actions to perform.
  func lineAdvanced(_ line: FeedLine, _ now: Timestamp)
  /// The WebSocket is open; the pipeline's `connected` is called next.
  func lineOpened(_ line: FeedLine, _ now: Timestamp)
  /// Market data arrived, or a heartbeat that the venue sends by itself.
  func lineHeardMarket(_ line: FeedLine, _ now: Timestamp)
  /// The connection was lost or could not be made. It is not torn down yet.
  func lineLost(_ line: FeedLine, _ reason: String, _ now: Timestamp)
}

/// One connection of a feed: fetches the instrument list, connects, shakes hands, and moves bytes and time between the
/// transport and a `FeedPipeline`. The feed decides when to end or replace it. Owned by one loop.
final class FeedLine: ConnectionHandler {
  /// The longest time for preparation (instrument lists), µs.
  private static let prepareLimit = 30 * Microseconds.second
  /// The longest time for a WebSocket handshake: a connection may be dead before it is open.
  private static let handshakeLimit: Duration = .seconds(10)

  private enum Phase {
    case idle, preparing(since: Timestamp), queued, connecting, handshaking, open(since: Timestamp)
  }

  /// The feed's own pipeline, once this is the feed's only connection.
  var pipeline: FeedPipeline
  var recorder: (any FeedRecorder)?
  /// Bytes received on all of its connections so far.
  private(set) var bytesReceived: UInt64 = 0
  private(set) var connects = 0

  private unowned let owner: any FeedLineOwner
  unowned var clock: any FeedOwner
  private let loop: EventLoop
  private let tls: TLSClientContext?
  private let schedule: ConnectSchedule?
  private let log: Logger
  private var phase = Phase.idle
  private var connection: Connection?
  private var attempt: ConnectAttempt?
  private var turn: LoopTimer?
  private var patience: LoopTimer?
  private var response = HTTPResponseParser(limits: HTTPLimits())
  private var webSocket = WebSocketConnection(role: .client)
  private var handshakeKey: [UInt8] = []
  /// Whether the exchange said in its handshake that it is simulated. The address does not say it: a loopback port may
  /// be a tunnel to the venue, and a simulator may run on another machine.
  private(set) var isSimulated = false
  private var requests: [Int: RESTRequest] = [:]
  /// Requests whose answers are being parsed on `lists`.
  private var reading: Set<Int> = []
  /// Parses large instrument lists of all feeds, one after the other, off the loops.
  private static let lists = DispatchQueue(label: "tidegate.lists")
  private var scratch = ByteBuffer()
  /// Tells a quiet connection from a dead one; it belongs to the open or last connection.
  private var watch: ConnectionWatch

  /// - Parameters:
  ///   - clock: the source of time; it must outlive the connection, or be replaced in time.
  ///   - schedule: when the gateway may connect to the venue; nil: at once.
  init(
    pipeline: FeedPipeline, owner: any FeedLineOwner, clock: any FeedOwner, loop: EventLoop, tls: TLSClientContext?,
    schedule: ConnectSchedule?, recorder: (any FeedRecorder)?, log: Logger
  ) {
    self.pipeline = pipeline
    self.owner = owner
    self.clock = clock
    self.loop = loop
    self.tls = tls
    self.schedule = schedule
    self.recorder = recorder
    self.log = log
    watch = ConnectionWatch(staleAfter: pipeline.venue.staleAfter, now: .distantPast)
  }

  /// When the connection opened; nil if it is not open.
  var openedAt: Timestamp? { if case .open(let since) = phase { since } else { nil } }
  /// Whether market data has arrived on the open connection.
  var hasHeardMarket: Bool { openedAt != nil && watch.hasHeardMarket }
  /// Whether nothing is under way.
  var isIdle: Bool { if case .idle = phase { true } else { false } }

  private var venue: Venue { pipeline.venue }
  /// The gateway offers compression for the venue's messages; its own requests are small and are sent uncompressed.
  private var offers: [PerMessageDeflate.Offer] { venue.offersCompression ? [PerMessageDeflate.Offer()] : [] }
  private var now: Timestamp { clock.clock.now() }

  // MARK: Life

  /// Begins with the instrument list. Call it only if `isIdle`.
  func begin(_ now: Timestamp) {
    phase = .preparing(since: now)
    pipeline.prepare(now: now)
    owner.lineAdvanced(self, now)
    connectIfPrepared(now)
  }

  /// Drops the connection and everything under way, without a call to the pipeline.
  ///
  /// - Parameter isRecorded: false if the recording ends, too: a `closed` record at its end would clear the books of a
  ///   replay.
  func end(isRecorded: Bool = true) {
    if isRecorded, case .open = phase { recorder?.closed(at: now) }
    phase = .idle
    turn?.cancel()
    turn = nil
    patience?.cancel()
    patience = nil
    attempt?.cancel()
    attempt = nil
    for request in requests.values { request.cancel() }
    requests.removeAll()
    reading.removeAll()
    if let connection {
      self.connection = nil
      connection.abort()
    }
  }

  /// Sends a close frame and ends: another connection serves the feed now.
  func leave() {
    if case .open = phase {
      send(close: .normal, reason: "")
      connection?.flush()
    }
    end()
  }

  private func connectIfPrepared(_ now: Timestamp) {
    guard case .preparing = phase, pipeline.handler.isPrepared else { return }
    guard let endpoint = EndpointURL(pipeline.handler.url) else {
      return owner.lineLost(self, "\(pipeline.handler.url) is not a WebSocket URL", now)
    }
    let wait = schedule?.reserve(at: loop.moment, random: loop.kernel.randomUInt32()) ?? 0
    guard wait > 0 else { return connect(to: endpoint) }
    phase = .queued
    log.debug("waits for its turn to connect", metadata: ["wait_ms": "\(wait / 1000)"])
    turn = loop.schedule(after: .microseconds(wait)) { [weak self] in
      guard let self, case .queued = phase else { return }
      turn = nil
      connect(to: endpoint)
    }
  }

  private func connect(to endpoint: EndpointURL) {
    phase = .connecting
    attempt = Connector.connect(
      host: endpoint.host, port: endpoint.port, tls: endpoint.isSecure ? tls : nil, loop: loop, handler: self
    ) { [self] result in
      attempt = nil
      switch result {
      case .success(let connection): handshake(on: connection, endpoint)
      case .failure(let error): owner.lineLost(self, error.description, now)
      }
    }
  }

  private func handshake(on connection: Connection, _ endpoint: EndpointURL) {
    self.connection = connection
    phase = .handshaking
    connects += 1
    handshakeKey = loop.kernel.randomBytes(16)
    response = HTTPResponseParser(limits: HTTPLimits())
    let head = WebSocketHandshake.request(
      host: endpoint.authority, target: endpoint.target, key: handshakeKey, compression: offers,
      fields: [HTTPField("User-Agent", "tidegate/\(TidegateVersion.current)")])
    scratch.removeAll()
    HTTPEncoder.append(head, bodyLength: 0, to: &scratch)
    connection.write(scratch.unsafeBytes.bytes)
    patience = loop.schedule(after: Self.handshakeLimit) { [weak self] in
      guard let self, case .handshaking = phase else { return }
      owner.lineLost(
        self, "the WebSocket handshake was not answered in \(Self.handshakeLimit)", now)
    }
  }

  // MARK: Bytes

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard connection === self.connection else { return }
    let now = now
    bytesReceived += UInt64(bytes.count)
    var input = bytes
    if case .handshaking = phase {
      guard finishHandshake(&input, now) else { return }
    }
    do throws(WebSocketError) {
      while let event = try webSocket.next(&input) {
        handle(event, now)
        guard connection === self.connection else { return }
      }
    } catch {
      note(error, now)
      send(close: error.code, reason: error.reason)
      connection.flush()
      owner.lineLost(self, "the venue broke the WebSocket protocol: \(error.reason)", now)
    }
  }

  private func finishHandshake(_ input: inout UnsafeMutableRawBufferPointer, _ now: Timestamp) -> Bool {
    var head = UnsafeRawBufferPointer(input)
    do throws(HTTPError) {
      guard let (answer, _) = try response.next(&head) else { return false }
      let accepted = try WebSocketHandshake.check(answer, key: handshakeKey, subprotocols: [], compression: offers)
      isSimulated = answer.fields["Tidegate-Simulated"] != nil
      webSocket = WebSocketConnection(
        role: .client, limits: WebSocketLimits(messageBytes: venue.messageLimit), deflate: accepted.deflate)
    } catch {
      // A TLS alert instead of an HTTP answer (RFC 8446 section 5.1: type 21, version 3.x).
      let isAlert = input.count >= 2 && input[0] == 21 && input[1] == 3
      owner.lineLost(
        self,
        isAlert
          ? "the venue speaks TLS on this port: its endpoint must be wss://"
          : "the venue refused the WebSocket handshake: \(error.reason)", now)
      return false
    }
    input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...])
    patience?.cancel()
    patience = nil
    phase = .open(since: now)
    watch = ConnectionWatch(staleAfter: venue.staleAfter, now: now)
    probe(now)
    recorder?.opened(url: pipeline.handler.url, at: now)
    owner.lineOpened(self, now)
    pipeline.connected(now: now)
    owner.lineAdvanced(self, now)
    return connection != nil
  }

  private func handle(_ event: WebSocketEvent, _ now: Timestamp) {
    switch event {
    case .text(let payload): received(payload, isBinary: false, now)
    case .binary(let payload): received(payload, isBinary: true, now)
    case .ping(let payload):
      watch.heard(now: now)
      send(.pong, payload.bytes)
    case .pong: watch.heard(isPong: true, now: now)
    case .close(let code, let reason, let mustReply):
      if mustReply, let connection {
        scratch.removeAll()
        WebSocketFrame.appendCloseReply(to: code, mask: loop.kernel.randomUInt32(), to: &scratch)
        connection.write(scratch.unsafeBytes.bytes)
        connection.flush()
      }
      owner.lineLost(self, "closed by the venue (\(code)\(reason.isEmpty ? "" : ": \(reason)"))", now)
    }
  }

  private func received(_ payload: UnsafeRawBufferPointer, isBinary: Bool, _ now: Timestamp) {
    watch.heard(now: now)
    recorder?.received(payload, at: now)
    pipeline.receive(payload.bytes, isBinary: isBinary, now: now)
    if pipeline.handler.marketHeard == now {
      watch.heardMarket(now: now)
      owner.lineHeardMarket(self, now)
    }
    owner.lineAdvanced(self, now)
  }

  /// Counts and reports a violation of the WebSocket protocol. There is no message to show.
  private func note(_ error: WebSocketError, _ now: Timestamp) {
    let kind: FeedError.Kind = error.code == .messageTooBig ? .oversized : .frame
    pipeline.note(FeedError(kind, error.reason), UnsafeRawBufferPointer(start: nil, count: 0).bytes, now: now)
  }

  private func probe(_ now: Timestamp) {
    watch.probed(now: now)
    send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes)
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    guard connection === self.connection else { return }
    self.connection = nil
    switch reason {
    case .closedByPeer: owner.lineLost(self, "closed by the venue without a close frame (1006)", now)
    case .closedLocally: owner.lineLost(self, "closed", now)
    case .failed(let error): owner.lineLost(self, error.description, now)
    }
  }

  private func send(_ opcode: WebSocketFrame.Opcode, _ payload: RawSpan) {
    guard let connection else { return }
    scratch.removeAll()
    WebSocketFrame.append(opcode, payload: payload, mask: loop.kernel.randomUInt32(), to: &scratch)
    connection.write(scratch.unsafeBytes.bytes)
  }

  private func send(close code: WebSocketCloseCode, reason: String) {
    guard let connection else { return }
    scratch.removeAll()
    WebSocketFrame.appendClose(code, reason: reason, mask: loop.kernel.randomUInt32(), to: &scratch)
    connection.write(scratch.unsafeBytes.bytes)
  }

  // MARK: What the handler asks for

  func send(_ text: String, _ now: Timestamp) {
    recorder?.sent(text, at: now)
    var text = text
    text.withUTF8 { send(.text, UnsafeRawBufferPointer($0).bytes) }
  }

  func get(_ path: String, request id: Int, bodyLimit: Int, _ now: Timestamp) {
    let base = pipeline.handler.configuration.restEndpoint ?? venue.restEndpoint
    guard let endpoint = EndpointURL(base) else {
      return owner.lineLost(self, "\(base) is not an HTTP URL", now)
    }
    requests[id] = RESTRequest.get(path, from: endpoint, bodyLimit: bodyLimit, tls: tls, loop: loop) {
      [self] status, body, retryAfter in
      requests[id] = nil
      let answer = RESTAnswer(request: id, base: base, path: path, status: status, body: body, retryAfter: retryAfter)
      if status == 200, body.count >= ListReader.worthwhile, let reader = pipeline.handler.listReader(for: id) {
        readAhead(answer, reader)
      } else {
        answered(answer)
      }
    }
  }

  /// Parses a large list off the loop and continues with it here, unless the attempt that it belongs to has ended.
  private func readAhead(_ answer: RESTAnswer, _ reader: ListReader) {
    reading.insert(answer.request)
    let line = UncheckedTransfer(value: self)
    let loop = loop
    Self.lists.async {
      let list = reader.read(answer.body)
      loop.execute {
        guard line.value.reading.remove(answer.request) != nil else { return }
        line.value.answered(answer, readAhead: list)
      }
    }
  }

  private func answered(_ answer: RESTAnswer, readAhead: Result<ListPage, FeedError>? = nil) {
    let now = self.now
    recorder?.answered(url: answer.base + answer.path, status: answer.status, body: answer.body, at: now)
    let wait = answer.retryAfter.flatMap { RetryAfter.seconds($0, now: now.microseconds / Microseconds.second) }
    pipeline.response(
      to: answer.request, status: answer.status, body: answer.body.span.bytes, now: now, path: answer.path,
      retryAfter: wait.map { $0 * Microseconds.second }, readAhead: readAhead)
    owner.lineAdvanced(self, now)
    // If the failure ended the attempt, the owner has logged it.
    if answer.status != 200, !isIdle {
      // Without an answer, the body is the reason.
      let reason = answer.status == 0 ? String(decoding: answer.body, as: UTF8.self) : "status \(answer.status)"
      log.warning("REST request failed", metadata: ["path": "\(answer.path)", "reason": "\(reason)"])
    }
    connectIfPrepared(now)
  }

  // MARK: Time

  /// The state of a connection, as its silence shows it.
  enum Health: Equatable {
    /// Not open, or open without a sign of failure.
    case fine
    case stale(String)
  }

  /// Checks for silence and runs the handler's timers; call about four times a second.
  func tick(_ now: Timestamp) -> Health {
    switch phase {
    case .idle, .queued, .connecting, .handshaking: return .fine
    case .preparing(let since):
      pipeline.tick(now: now)
      owner.lineAdvanced(self, now)
      connectIfPrepared(now)
      if now - since > FeedLine.prepareLimit, case .preparing = phase {
        owner.lineLost(self, "the venue's instrument list did not arrive in 30 s", now)
      }
    case .open:
      pipeline.tick(now: now)
      owner.lineAdvanced(self, now)
      guard case .open = phase else { return .fine }
      switch watch.check(now: now, expectsMarket: pipeline.handler.expectsMarket) {
      case .fine: break
      case .stale(let reason):
        if watch.isProbeDue(now: now) { probe(now) }
        return .stale(reason)
      case .dead(let reason):
        owner.lineLost(self, reason, now)
        return .fine
      }
      if watch.isProbeDue(now: now) { probe(now) }
    }
    return .fine
  }

  func timeJumped(by jump: Int64) {
    switch phase {
    case .preparing(let since): phase = .preparing(since: since + jump)
    case .open(let since): phase = .open(since: since + jump)
    case .idle, .queued, .connecting, .handshaking: break
    }
    watch.timeJumped(by: jump)
  }
}

/// The outcome of a REST request.
private struct RESTAnswer: Sendable {
  var request: Int
  var base: String
  var path: String
  var status: Int
  var body: [UInt8]
  var retryAfter: String?
}
