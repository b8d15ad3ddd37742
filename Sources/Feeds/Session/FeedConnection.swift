import Build
import Bytes
import Dispatch
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues
import WebSocket

/// One connection of a feed: fetches the instrument list, connects, shakes hands, and moves bytes and time between the
/// transport and a `FeedPipeline`. Each call returns what happened; the feed decides when to end or replace the
/// connection. Owned by one loop.
final class FeedConnection {
  /// What a call of a connection did.
  enum Event: Equatable {
    /// The WebSocket is open, and the pipeline has taken that.
    case opened
    /// The pipeline took a message.
    /// - Parameter isMarket: whether it brought market data, or a heartbeat that the venue sends by itself.
    case received(isMarket: Bool)
    /// The pipeline took the answer to a request.
    case answered
    /// The connection was lost or could not be made. It is not torn down yet.
    case lost(String)
  }

  private enum Arrival {
    case failed(String)
    case answered(RESTAnswer, readAhead: Result<ListPage, FeedError>?)
    /// A request without a useful answer. It is logged when the pipeline and the feed have taken that: if it ended the
    /// attempt, the feed has logged it.
    case unanswered(path: String, reason: String)
  }

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

  /// Gets the bytes of this connection, and learns of its arrivals.
  weak var handler: (any FeedHandler)? {
    didSet { transport?.handler = handler }
  }
  private let loop: EventLoop
  private let tls: TLSClientContext?
  private let schedule: ConnectSchedule?
  private let log: Logger
  private var phase = Phase.idle
  private var transport: Connection?
  /// What has come beside bytes and was not taken yet. Bounded by the requests under way, and one for the attempt.
  private var arrivals: [Arrival] = []
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

  init(pipeline: FeedPipeline, loop: EventLoop, parts: FeedParts, recorder: (any FeedRecorder)?, log: Logger) {
    self.pipeline = pipeline
    self.loop = loop
    self.tls = parts.tls
    self.schedule = parts.schedule
    self.recorder = recorder
    self.log = log
    watch = ConnectionWatch(staleAfter: pipeline.venue.staleAfter, now: .distantPast)
  }

  /// When the connection opened; nil if it is not open.
  var openedAt: Timestamp? { if case .open(let since) = phase { since } else { nil } }
  /// Whether it connects, is connected or prepares that: false before `begin` and after `end`.
  var isUnderWay: Bool { if case .idle = phase { false } else { true } }
  /// Whether market data has arrived on the open connection.
  var hasHeardMarket: Bool { openedAt != nil && watch.hasHeardMarket }

  private var venue: Venue { pipeline.venue }
  /// The gateway offers compression for the venue's messages; its own requests are small and are sent uncompressed.
  private var offers: [PerMessageDeflate.Offer] { venue.offersCompression ? [PerMessageDeflate.Offer()] : [] }

  /// Whether `transport` is the one that this connection uses now.
  func uses(_ transport: Connection) -> Bool { transport === self.transport }

  // MARK: Life

  /// Begins with the instrument list. Call it only if nothing is under way.
  func begin(_ now: Timestamp) {
    phase = .preparing(since: now)
    pipeline.prepare(now: now)
  }

  /// Drops the connection and everything under way, without a call to the pipeline.
  ///
  /// - Parameter isRecorded: false if the recording ends, too: a `closed` record at its end would clear the books of a
  ///   replay.
  func end(_ now: Timestamp, isRecorded: Bool = true) {
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
    arrivals.removeAll()
    if let transport {
      self.transport = nil
      transport.abort()
    }
  }

  /// Sends a close frame and ends: another connection serves the feed now.
  func leave(_ now: Timestamp) {
    if case .open = phase {
      send(close: .normal, reason: "")
      transport?.flush()
    }
    end(now)
  }

  /// Connects as soon as the pipeline has what it needs before; call it when the feed has acted on an event. Returns
  /// why that is impossible.
  func connectIfPrepared() -> String? {
    guard case .preparing = phase, pipeline.engine.isPrepared else { return nil }
    guard let endpoint = EndpointURL(pipeline.engine.url) else {
      return "\(pipeline.engine.url) is not a WebSocket URL"
    }
    let wait = schedule?.reserve(at: loop.moment, random: loop.kernel.randomUInt32()) ?? 0
    guard wait > 0 else {
      connect(to: endpoint)
      return nil
    }
    phase = .queued
    log.debug("waits for its turn to connect", metadata: ["wait_ms": "\(wait / 1000)"])
    turn = loop.schedule(after: .microseconds(wait)) { [weak self] in
      guard let self, case .queued = phase else { return }
      turn = nil
      connect(to: endpoint)
    }
    return nil
  }

  private func connect(to endpoint: EndpointURL) {
    // Without an owner nobody takes what comes.
    guard let handler else { return }
    phase = .connecting
    attempt = Connector.connect(
      host: endpoint.host, port: endpoint.port, tls: endpoint.isSecure ? tls : nil, loop: loop, handler: handler
    ) { [self] result in
      attempt = nil
      switch result {
      case .success(let transport): handshake(on: transport, endpoint)
      case .failure(let error): arrived(.failed(error.description))
      }
    }
  }

  private func handshake(on transport: Connection, _ endpoint: EndpointURL) {
    // The owner may be another one than when the attempt began.
    transport.handler = handler
    self.transport = transport
    phase = .handshaking
    connects += 1
    handshakeKey = loop.kernel.randomBytes(16)
    response = HTTPResponseParser(limits: HTTPLimits())
    let head = WebSocketHandshake.request(
      host: endpoint.authority, target: endpoint.target, key: handshakeKey, compression: offers,
      fields: [HTTPField("User-Agent", "tidegate/\(TidegateVersion.current)")])
    scratch.removeAll()
    HTTPEncoder.append(head, bodyLength: 0, to: &scratch)
    transport.write(scratch.unsafeBytes.bytes)
    patience = loop.schedule(after: Self.handshakeLimit) { [weak self] in
      guard let self, case .handshaking = phase else { return }
      arrived(.failed("the WebSocket handshake was not answered in \(Self.handshakeLimit)"))
    }
  }

  // MARK: Arrivals

  private func arrived(_ arrival: Arrival) {
    arrivals.append(arrival)
    handler?.feedArrived()
  }

  /// Takes the next answer or failure; nil if there is none.
  func takeArrival(_ now: Timestamp) -> Event? {
    while !arrivals.isEmpty {
      switch arrivals.removeFirst() {
      case .failed(let reason): return .lost(reason)
      case .answered(let answer, let readAhead):
        take(answer, readAhead, now)
        return .answered
      case .unanswered(let path, let reason):
        log.warning("REST request failed", metadata: ["path": "\(path)", "reason": "\(reason)"])
      }
    }
    return nil
  }

  // MARK: Bytes

  /// Takes the next handshake or message of `input`, and answers the pings before it; nil if `input` has no whole one.
  func next(_ input: inout UnsafeMutableRawBufferPointer, _ now: Timestamp) -> Event? {
    let count = input.count
    defer { bytesReceived &+= UInt64(count - input.count) }
    if case .handshaking = phase { return finishHandshake(&input, now) }
    do throws(WebSocketError) {
      while let event = try webSocket.next(&input) {
        if let event = handle(event, now) { return event }
      }
      return nil
    } catch {
      note(error, now)
      send(close: error.code, reason: error.reason)
      transport?.flush()
      return .lost("the venue broke the WebSocket protocol: \(error.reason)")
    }
  }

  private func finishHandshake(_ input: inout UnsafeMutableRawBufferPointer, _ now: Timestamp) -> Event? {
    var head = UnsafeRawBufferPointer(input)
    defer { input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...]) }
    do throws(HTTPError) {
      guard let (answer, _) = try response.next(&head) else { return nil }
      let accepted = try WebSocketHandshake.check(answer, key: handshakeKey, subprotocols: [], compression: offers)
      isSimulated = answer.fields["Tidegate-Simulated"] != nil
      webSocket = WebSocketConnection(
        role: .client, limits: WebSocketLimits(messageBytes: venue.messageLimit), deflate: accepted.deflate)
    } catch {
      // A TLS alert instead of an HTTP answer (RFC 8446 section 5.1: type 21, version 3.x).
      let isAlert = input.count >= 2 && input[0] == 21 && input[1] == 3
      return .lost(
        isAlert
          ? "the venue speaks TLS on this port: its endpoint must be wss://"
          : "the venue refused the WebSocket handshake: \(error.reason)")
    }
    patience?.cancel()
    patience = nil
    phase = .open(since: now)
    watch = ConnectionWatch(staleAfter: venue.staleAfter, now: now)
    probe(now)
    recorder?.opened(url: pipeline.engine.url, at: now)
    pipeline.connected(now: now)
    return .opened
  }

  /// Nil for a ping or pong.
  private func handle(_ event: WebSocketEvent, _ now: Timestamp) -> Event? {
    switch event {
    case .text(let payload): return received(payload, isBinary: false, now)
    case .binary(let payload): return received(payload, isBinary: true, now)
    case .ping(let payload):
      watch.heard(now: now)
      send(.pong, payload.bytes)
      return nil
    case .pong:
      watch.heard(isPong: true, now: now)
      return nil
    case .close(let code, let reason, let mustReply):
      if mustReply, let transport {
        scratch.removeAll()
        WebSocketFrame.appendCloseReply(to: code, mask: loop.kernel.randomUInt32(), to: &scratch)
        transport.write(scratch.unsafeBytes.bytes)
        transport.flush()
      }
      return .lost("closed by the venue (\(code)\(reason.isEmpty ? "" : ": \(reason)"))")
    }
  }

  private func received(_ payload: UnsafeRawBufferPointer, isBinary: Bool, _ now: Timestamp) -> Event {
    watch.heard(now: now)
    recorder?.received(payload, at: now)
    pipeline.receive(payload.bytes, isBinary: isBinary, now: now)
    let isMarket = pipeline.engine.marketHeard == now
    if isMarket { watch.heardMarket(now: now) }
    return .received(isMarket: isMarket)
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

  /// The transport has closed; returns how, for people.
  func closed(_ reason: CloseReason) -> String {
    transport = nil
    return switch reason {
    case .closedByPeer: "closed by the venue without a close frame (1006)"
    case .closedLocally: "closed"
    case .failed(let error): error.description
    }
  }

  private func send(_ opcode: WebSocketFrame.Opcode, _ payload: RawSpan) {
    guard let transport else { return }
    scratch.removeAll()
    WebSocketFrame.append(opcode, payload: payload, mask: loop.kernel.randomUInt32(), to: &scratch)
    transport.write(scratch.unsafeBytes.bytes)
  }

  private func send(close code: WebSocketCloseCode, reason: String) {
    guard let transport else { return }
    scratch.removeAll()
    WebSocketFrame.appendClose(code, reason: reason, mask: loop.kernel.randomUInt32(), to: &scratch)
    transport.write(scratch.unsafeBytes.bytes)
  }

  // MARK: What the handler asks for

  func send(_ text: String, _ now: Timestamp) {
    recorder?.sent(text, at: now)
    var text = text
    text.withUTF8 { send(.text, UnsafeRawBufferPointer($0).bytes) }
  }

  /// Sends a request, whose answer arrives; returns why that is impossible.
  func get(_ path: String, request id: Int, bodyLimit: Int) -> String? {
    let base = pipeline.engine.configuration.restEndpoint ?? venue.restEndpoint
    guard let endpoint = EndpointURL(base) else { return "\(base) is not an HTTP URL" }
    requests[id] = RESTRequest.get(path, from: endpoint, bodyLimit: bodyLimit, tls: tls, loop: loop) {
      [self] status, body, retryAfter in
      requests[id] = nil
      let answer = RESTAnswer(request: id, base: base, path: path, status: status, body: body, retryAfter: retryAfter)
      if status == 200, body.count >= ListReader.worthwhile, let reader = pipeline.engine.listReader(for: id) {
        readAhead(answer, reader)
      } else {
        arrived(.answered(answer, readAhead: nil))
      }
    }
    return nil
  }

  /// Parses a large list off the loop and continues with it here, unless the attempt that it belongs to has ended.
  private func readAhead(_ answer: RESTAnswer, _ reader: ListReader) {
    reading.insert(answer.request)
    let this = UncheckedTransfer(value: self)
    let loop = loop
    Self.lists.async {
      let list = reader.read(answer.body)
      loop.execute {
        guard this.value.reading.remove(answer.request) != nil else { return }
        this.value.arrived(.answered(answer, readAhead: list))
      }
    }
  }

  private func take(_ answer: RESTAnswer, _ readAhead: Result<ListPage, FeedError>?, _ now: Timestamp) {
    recorder?.answered(url: answer.base + answer.path, status: answer.status, body: answer.body, at: now)
    let wait = answer.retryAfter.flatMap { RetryAfter.seconds($0, now: now.microseconds / Microseconds.second) }
    pipeline.response(
      to: answer.request, status: answer.status, body: answer.body.span.bytes, now: now, path: answer.path,
      retryAfter: wait.map { $0 * Microseconds.second }, readAhead: readAhead)
    guard answer.status != 200 else { return }
    // Without an answer, the body is the reason.
    let reason = answer.status == 0 ? String(decoding: answer.body, as: UTF8.self) : "status \(answer.status)"
    arrivals.insert(.unanswered(path: answer.path, reason: reason), at: 0)
  }

  // MARK: Time

  /// The state of a connection, as its silence shows it.
  enum Health: Equatable {
    /// Not open, or open without a sign of failure.
    case fine
    case stale(String)
    case lost(String)
  }

  /// Runs the handler's timers; call about four times a second.
  func tick(_ now: Timestamp) {
    switch phase {
    case .preparing, .open: pipeline.tick(now: now)
    case .idle, .queued, .connecting, .handshaking: break
    }
  }

  /// Checks for silence; call after each `tick`, when the feed has acted on that.
  func check(_ now: Timestamp) -> Health {
    switch phase {
    case .idle, .queued, .connecting, .handshaking: return .fine
    case .preparing(let since):
      return now - since > Self.prepareLimit ? .lost("the venue's instrument list did not arrive in 30 s") : .fine
    case .open:
      let health = watch.check(now: now, expectsMarket: pipeline.engine.expectsMarket)
      if case .dead(let reason) = health { return .lost(reason) }
      if watch.isProbeDue(now: now) { probe(now) }
      if case .stale(let reason) = health { return .stale(reason) }
      return .fine
    }
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
