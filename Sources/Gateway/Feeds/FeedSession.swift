import Bytes
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues
import WebSocket

/// One venue's connection: connects, subscribes, watches, and begins again, without end. Owned by one loop.
///
/// It moves bytes and time between the transport and a `FeedPipeline`; what they mean is decided there. It alone decides the
/// feed's state and gives the reason of each change.
final class FeedSession: Feed, ConnectionHandler {
  /// After this long in `live` the back-off starts over, µs.
  private static let steadyAfter = 60 * Microseconds.second
  /// Preparation (instrument lists) that takes longer has failed, µs.
  private static let prepareLimit = 30 * Microseconds.second
  /// After this long the feed counts as live even if some book is still on its way, µs.
  private static let syncLimit = 10 * Microseconds.second

  /// After this much silence the connection is probed with a ping, µs. Quiet is not dead: a market may have nothing to say.
  private static let probeAfter = 2 * Microseconds.second
  /// A probe that is not answered for this long makes the feed stale, µs.
  private static let probeLimit = 2 * Microseconds.second

  private enum Phase {
    case idle, preparing(since: Timestamp), connecting, handshaking, open(since: Timestamp), waiting
  }

  let pipeline: FeedPipeline
  /// The slot of its market in the loop's hub.
  let slot: Int
  private(set) var status: FeedStatus
  /// What the feed has taken from its connections so far.
  private(set) var bytesReceived: UInt64 = 0
  private(set) var connects = 0

  private unowned let owner: any FeedOwner
  private let loop: EventLoop
  private let tls: TLSClientContext?
  private let recorder: (any FeedRecorder)?
  private var log: Logger
  private var phase = Phase.idle
  private var backoff: Backoff
  private var connection: Connection?
  private var attempt: ConnectAttempt?
  private var response = HTTPResponseParser(limits: HTTPLimits())
  private var webSocket = WebSocketConnection(role: .client)
  private var handshakeKey: [UInt8] = []
  private var requests: [Int: RESTRequest] = [:]
  private var scratch = ByteBuffer()
  private var liveSince: Timestamp?
  /// When anything last came on this connection, pongs included.
  private var heardAt = Timestamp.distantPast
  /// When the ping went out that nothing has come after; nil if there is none.
  private var probedAt: Timestamp?
  /// Whether this connection's venue answers pings at all; only then is a missing pong a sign.
  private var answersPings = false

  init(
    pipeline: FeedPipeline, slot: Int, owner: any FeedOwner, loop: EventLoop, tls: TLSClientContext?,
    recorder: (any FeedRecorder)?,
    reconnectLimitSeconds: Int = 30, log: Logger, now: Timestamp
  ) {
    self.backoff = Backoff(limitSeconds: reconnectLimitSeconds)
    self.pipeline = pipeline
    self.slot = slot
    self.owner = owner
    self.loop = loop
    self.tls = tls
    self.recorder = recorder
    self.log = log
    self.log[metadataKey: "venue"] = "\(pipeline.handler.venue.label)"
    self.status = FeedStatus(venue: pipeline.handler.venue.name, state: .connecting, since: now)
  }

  var nextDeadline: Timestamp { pipeline.market.nextDeadline }
  private var venue: Venue { pipeline.handler.venue }
  /// Requests to venues are small and go out as they are; what is wanted is their side of it.
  private var offers: [PerMessageDeflate.Offer] { venue.offersCompression ? [PerMessageDeflate.Offer()] : [] }
  private var now: Timestamp { owner.clock.now() }

  // MARK: Life

  func start() {
    loop.assertOnLoop()
    begin(now)
  }

  /// Ends the feed for good.
  func stop() {
    let now = now
    tearDown(now)
    phase = .idle
    set(.disconnected, reason: "stopped", now)
  }

  private func begin(_ now: Timestamp) {
    phase = .preparing(since: now)
    pipeline.prepare(now: now)
    settle(now)
    connectIfPrepared(now)
  }

  private func connectIfPrepared(_ now: Timestamp) {
    guard case .preparing = phase, pipeline.handler.isPrepared else { return }
    guard let endpoint = EndpointURL(pipeline.handler.url) else {
      return lost("\(pipeline.handler.url) is not a WebSocket URL", now)
    }
    phase = .connecting
    attempt = Connector.connect(
      host: endpoint.host, port: endpoint.port, tls: endpoint.isSecure ? tls : nil, loop: loop, handler: self
    ) { [self] result in
      attempt = nil
      switch result {
      case .success(let connection): handshake(on: connection, endpoint)
      case .failure(let error): lost(error.description, self.now)
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
  }

  /// The connection is of no more use, or could not be had: say so, wait, begin again.
  private func lost(_ reason: String, _ now: Timestamp) {
    if case .waiting = phase { return }
    if let liveSince, now - liveSince >= FeedSession.steadyAfter { backoff.reset() }
    let wasOpen = if case .open = phase { true } else { false }
    tearDown(now)
    if wasOpen { recorder?.closed(at: now) }
    if status.gapFrom == nil || status.gapTo != nil, let last = status.lastMessage {
      status.gapFrom = last
      status.gapTo = nil
    }
    phase = .waiting
    let wait = backoff.next(random: UInt64(loop.kernel.randomUInt32()))
    status.attempt = backoff.attempt
    set(.reconnecting, reason: reason, now, force: true)
    log.warning("feed lost", metadata: ["reason": "\(reason)", "attempt": "\(backoff.attempt)", "wait_ms": "\(wait)"])
    loop.schedule(after: wait * 1_000_000) { [weak self] in
      guard let self, case .waiting = self.phase else { return }
      self.begin(self.now)
    }
  }

  private func tearDown(_ now: Timestamp) {
    attempt?.cancel()
    attempt = nil
    for request in requests.values { request.cancel() }
    requests.removeAll()
    if let connection {
      self.connection = nil
      connection.abort()
    }
    liveSince = nil
    pipeline.disconnected(now: now)
    settle(now)
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
      lost("the venue broke the WebSocket protocol: \(error.reason)", now)
    }
  }

  private func finishHandshake(_ input: inout UnsafeMutableRawBufferPointer, _ now: Timestamp) -> Bool {
    var head = UnsafeRawBufferPointer(input)
    do throws(HTTPError) {
      guard let (answer, _) = try response.next(&head) else { return false }
      let accepted = try WebSocketHandshake.check(answer, key: handshakeKey, subprotocols: [], compression: offers)
      webSocket = WebSocketConnection(
        role: .client, limits: WebSocketLimits(messageBytes: venue.messageLimit), deflate: accepted.deflate)
    } catch {
      // An alert where an answer was to come (RFC 8446 section 5.1: type 21, version 3.x).
      let isAlert = input.count >= 2 && input[0] == 21 && input[1] == 3
      lost(
        isAlert
          ? "the venue speaks TLS on this port: its endpoint is wss://"
          : "the venue refused the WebSocket handshake: \(error.reason)", now)
      return false
    }
    input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...])
    phase = .open(since: now)
    status.attempt = nil
    heardAt = now
    answersPings = false
    probe(now)
    recorder?.opened(url: pipeline.handler.url, at: now)
    set(.syncing, reason: nil, now)
    pipeline.connected(now: now)
    settle(now)
    return connection != nil
  }

  private func handle(_ event: WebSocketEvent, _ now: Timestamp) {
    switch event {
    case .text(let payload): received(payload, isBinary: false, now)
    case .binary(let payload): received(payload, isBinary: true, now)
    case .ping(let payload):
      heard(now)
      send(.pong, payload.bytes)
    case .pong:
      answersPings = true
      heard(now)
    case .close(let code, let reason, let mustReply):
      if mustReply, let connection {
        scratch.removeAll()
        WebSocketFrame.appendCloseReply(to: code, mask: loop.kernel.randomUInt32(), to: &scratch)
        connection.write(scratch.unsafeBytes.bytes)
        connection.flush()
      }
      lost("closed by the venue (\(code)\(reason.isEmpty ? "" : ": \(reason)"))", now)
    }
  }

  private func received(_ payload: UnsafeRawBufferPointer, isBinary: Bool, _ now: Timestamp) {
    status.lastMessage = now
    if status.gapFrom != nil, status.gapTo == nil { status.gapTo = now }
    heard(now)
    recorder?.received(payload, at: now)
    pipeline.receive(payload.bytes, isBinary: isBinary, now: now)
    settle(now)
  }

  /// What broke the protocol is counted and told, though nothing of it can be shown.
  private func note(_ error: WebSocketError, _ now: Timestamp) {
    let kind: FeedError.Kind = error.code == .messageTooBig ? .oversized : .frame
    pipeline.note(
      FeedError(kind, error.reason), UnsafeRawBufferPointer(start: nil, count: 0).bytes, now: now)
  }

  private func heard(_ now: Timestamp) {
    heardAt = now
    probedAt = nil
    if status.state == .stale { set(.syncing, reason: "data again", now) }
  }

  private func probe(_ now: Timestamp) {
    probedAt = now
    send(.ping, UnsafeRawBufferPointer(start: nil, count: 0).bytes)
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    guard connection === self.connection else { return }
    self.connection = nil
    switch reason {
    case .closedByPeer: lost("closed by the venue without a close frame (1006)", now)
    case .closedLocally: lost("closed", now)
    case .failed(let error): lost(error.description, now)
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

  // MARK: What the pipeline answered

  /// Publishes what moved, then does what the handler asked for.
  private func settle(_ now: Timestamp) {
    if !pipeline.changes.items.isEmpty {
      let touched = noteBookStates(now)
      owner.feed(self, changed: pipeline.changes, at: now)
      pipeline.clear()
      if touched { statusChanged(now) }
    }
    if !pipeline.handler.actions.isEmpty {
      for action in pipeline.takeActions() { perform(action, now) }
    }
  }

  private func noteBookStates(_ now: Timestamp) -> Bool {
    var touched = false
    for change in pipeline.changes.items {
      switch change {
      case .bookState(let id, let state):
        touched = true
        let symbol = pipeline.market[id].instrument.symbol
        switch state {
        case .live: status.syncing[symbol] = nil
        case .syncing(let reason): status.syncing[symbol] = reason?.description ?? "awaiting a snapshot"
        case .absent: status.syncing[symbol] = "awaiting a snapshot"
        }
      case .instrument: touched = true
      default: break
      }
    }
    return touched
  }

  private func perform(_ action: FeedAction, _ now: Timestamp) {
    switch action {
    case .send(let text):
      recorder?.sent(text, at: now)
      var text = text
      text.withUTF8 { send(.text, UnsafeRawBufferPointer($0).bytes) }
    case .get(let request, let path, let bodyLimit): get(path, request: request, bodyLimit: bodyLimit, now)
    case .reconnect(let reason): lost(reason, now)
    case .symbolFailed(let symbol, let reason):
      log.warning("symbol refused", metadata: ["symbol": "\(symbol)", "reason": "\(reason)"])
      status.failed["\(venue.name):\(symbol)"] = reason
      status.syncing["\(venue.name):\(symbol)"] = nil
      statusChanged(now)
    case .maintenance(let isOn):
      set(isOn ? .maintenance : .syncing, reason: isOn ? "maintenance at the venue" : "maintenance has ended", now)
    }
  }

  private func get(_ path: String, request id: Int, bodyLimit: Int, _ now: Timestamp) {
    let base = pipeline.handler.configuration.restEndpoint ?? venue.restEndpoint
    guard let endpoint = EndpointURL(base) else {
      return lost("\(base) is not an HTTP URL", now)
    }
    requests[id] = RESTRequest.get(path, from: endpoint, bodyLimit: bodyLimit, tls: tls, loop: loop) {
      [self] status, body in
      requests[id] = nil
      let now = self.now
      recorder?.answered(url: base + path, status: status, body: body, at: now)
      if status != 200 {
        log.warning("REST request failed", metadata: ["path": "\(path)", "status": "\(status)"])
      }
      pipeline.response(to: id, status: status, body: body.span.bytes, now: now, path: path)
      settle(now)
      connectIfPrepared(now)
    }
  }

  // MARK: Time and state

  /// Watches silence, back-off and the handler's own timers; call about four times a second.
  func tick(_ now: Timestamp) {
    switch phase {
    case .idle, .waiting, .connecting, .handshaking: return
    case .preparing(let since):
      pipeline.tick(now: now)
      settle(now)
      connectIfPrepared(now)
      if now - since > FeedSession.prepareLimit, case .preparing = phase {
        lost("the venue's instruments could not be had", now)
      }
    case .open(let since):
      pipeline.tick(now: now)
      settle(now)
      guard case .open = phase else { return }
      let silence = now - heardAt
      if silence > 2 * venue.staleAfter {
        return lost("nothing came for \(silence / Microseconds.second) s", now)
      }
      if silence > venue.staleAfter {
        return set(.stale, reason: "nothing came for \(silence / Microseconds.second) s", now)
      }
      if let probedAt {
        if answersPings, now - probedAt > FeedSession.probeLimit {
          return set(.stale, reason: "no answer to a ping for \((now - probedAt) / Microseconds.second) s", now)
        }
      } else if silence > FeedSession.probeAfter {
        probe(now)
      }
      updateLiveness(since, now)
      if let liveSince, backoff.attempt > 0, now - liveSince >= FeedSession.steadyAfter { backoff.reset() }
    }
  }

  func timeJumped(by jump: Int64) {
    switch phase {
    case .preparing(let since): phase = .preparing(since: since + jump)
    case .open(let since): phase = .open(since: since + jump)
    case .idle, .connecting, .handshaking, .waiting: break
    }
    heardAt = heardAt + jump
    probedAt = probedAt.map { $0 + jump }
    liveSince = liveSince.map { $0 + jump }
  }

  /// Moves trailing pulses and windows on; call when `nextDeadline` has come.
  func advance(_ now: Timestamp) {
    pipeline.advance(now: now)
    settle(now)
  }

  private func updateLiveness(_ since: Timestamp, _ now: Timestamp) {
    guard status.state == .syncing || status.state == .live, !pipeline.market.instruments.isEmpty else { return }
    let waiting = pipeline.market.instruments.contains {
      $0.bookState != .live && status.failed[$0.instrument.symbol] == nil
    }
    let anyLive = pipeline.market.instruments.contains { $0.bookState == .live }
    if !waiting || (anyLive && now - since > FeedSession.syncLimit) {
      if liveSince == nil { liveSince = now }
      set(.live, reason: nil, now)
    }
  }

  private func set(_ state: FeedState, reason: String?, _ now: Timestamp, force: Bool = false) {
    guard status.state != state || force else { return }
    if status.state != state { status.since = now }
    status.state = state
    status.reason = reason
    log.info("feed \(state.rawValue)", metadata: reason.map { ["reason": "\($0)"] } ?? [:])
    owner.feedStatusChanged(self)
  }

  private func statusChanged(_ now: Timestamp) {
    if case .open(let since) = phase { updateLiveness(since, now) }
    owner.feedStatusChanged(self)
  }
}
