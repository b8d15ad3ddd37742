import Bytes

/// The client's side of one connection to a NATS server. Sans-IO: bytes and `now` in, events out, and bytes to send in
/// a caller's buffer.
///
/// Call `next` with received bytes until it returns nil, `runTimers` at `nextDeadline`, and the functions that publish
/// and subscribe after `.connected`. A connection is used once: after an error or a broken transport, make another one,
/// and subscribe again. Nothing is kept to be sent later.
///
/// `now` is a monotonic time in µs.
package struct NATSConnection: ~Copyable {
  package enum Event {
    /// Do the TLS handshake on the transport, then call `didStartTLS`. No byte may be sent before.
    case startTLS
    /// The server has accepted the credentials: messages can be published now.
    case connected
    /// Its bytes are valid until the next call.
    case message(NATSMessage)
    /// `serverInfo` has changed: other addresses, another limit, or lame duck mode.
    case infoChanged
    /// The server refused a subject, and the connection stays open.
    case refused(NATSServerError)
  }

  package enum Phase: Sendable, Equatable {
    case awaitingInfo, awaitingTLS
    /// `CONNECT` and `PING` were sent.
    case awaitingPong
    case connected
    case failed
  }

  package private(set) var phase: Phase
  /// What the server last said of itself.
  package private(set) var serverInfo: NATSServerInfo?
  /// Whether `serverInfo` came encrypted: addresses in a plain one may be forged.
  package private(set) var infoIsTrusted = false
  /// The duration of the last answered `PING`, µs; nil before the first.
  package private(set) var roundTrip: Int64?
  /// When the last answered `PING` was sent: the connection was good then.
  package private(set) var lastConfirmed: Int64?

  private let options: NATSOptions
  private var parser: NATSParser
  private var usesTLS: Bool
  private var maxPayload = 0
  /// When the unanswered `PING`s were sent, oldest first.
  private var pings: [Int64] = []
  private var nextPing: Int64 = .max
  private var lastHeard: Int64
  private let deadline: Int64

  package init(_ options: NATSOptions, now: Int64) {
    self.options = options
    parser = NATSParser(limits: options.limits)
    if case .first = options.tls { usesTLS = true } else { usesTLS = false }
    phase = usesTLS ? .awaitingTLS : .awaitingInfo
    lastHeard = now
    deadline = now + options.connectTime
  }

  package var isConnected: Bool { phase == .connected }

  // MARK: Receiving

  /// The next event in `input`, whose start is moved past the read bytes; nil when all are read. Answers to the server
  /// are appended to `output`.
  package mutating func next(
    _ input: inout UnsafeRawBufferPointer, now: Int64, output: inout ByteBuffer
  ) throws(NATSError) -> Event? {
    if input.count > 0 { lastHeard = now }
    do throws(NATSError) {
      while let operation = try parser.next(&input) {
        switch operation {
        case .message(let message):
          guard phase == .connected else { throw .protocolViolation("a message before the first PONG") }
          return .message(message)
        case .ping: NATSEncoder.pong(to: &output)
        case .pong: if let event = takePong(now) { return event }
        case .ok: break
        case .info(let json): if let event = try takeInfo(json, input, now, &output) { return event }
        case .error(let line): if let event = try takeError(line) { return event }
        }
      }
      return nil
    } catch {
      phase = .failed
      throw error
    }
  }

  private mutating func takePong(_ now: Int64) -> Event? {
    // A `PONG` that nobody asked for says nothing.
    guard !pings.isEmpty else { return nil }
    let sent = pings.removeFirst()
    roundTrip = now - sent
    lastConfirmed = sent
    guard phase == .awaitingPong else { return nil }
    phase = .connected
    nextPing = now + options.pingInterval
    return .connected
  }

  private mutating func takeInfo(
    _ json: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, _ now: Int64, _ output: inout ByteBuffer
  ) throws(NATSError) -> Event? {
    let info = try NATSServerInfo(json: json)
    serverInfo = info
    infoIsTrusted = usesTLS || options.tls == .off
    maxPayload = info.maxPayload
    guard phase == .awaitingInfo else { return .infoChanged }
    guard info.supportsHeaders else { throw .protocolViolation("the server is too old: it has no headers") }
    if options.tls == .afterInfo, !usesTLS {
      guard info.offersTLS || info.requiresTLS else { throw .tlsUnavailable }
      guard rest.isEmpty, parser.pendingBytes == 0 else { throw .bytesBeforeTLS }
      phase = .awaitingTLS
      return .startTLS
    }
    if info.requiresTLS, !usesTLS { throw .tlsRequired }
    try connect(info, now, &output)
    return nil
  }

  private func takeError(_ line: UnsafeRawBufferPointer) throws(NATSError) -> Event? {
    let error = NATSServerError(line)
    guard !error.endsConnection else { throw .refused(error) }
    return .refused(error)
  }

  /// The TLS handshake has succeeded.
  package mutating func didStartTLS(now: Int64, output: inout ByteBuffer) throws(NATSError) {
    precondition(phase == .awaitingTLS)
    usesTLS = true
    lastHeard = now
    guard let serverInfo else {
      phase = .awaitingInfo
      return
    }
    do throws(NATSError) {
      try connect(serverInfo, now, &output)
    } catch {
      phase = .failed
      throw error
    }
  }

  /// Sends `CONNECT`, and a `PING` whose answer says that the server accepted it.
  private mutating func connect(_ info: NATSServerInfo, _ now: Int64, _ output: inout ByteBuffer) throws(NATSError) {
    let proof = try NATSProof(options.credentials, nonce: info.nonce)
    output.append("CONNECT ")
    output.appendObject { json in
      json.field("verbose", false)
      json.field("pedantic", false)
      json.field("tls_required", options.tls != .off)
      json.field("name", options.name)
      json.field("lang", "swift")
      json.field("version", "1")
      json.field("protocol", 1)
      json.field("echo", options.echo)
      json.field("headers", true)
      json.field("no_responders", true)
      for (name, value) in proof.fields { json.field(name, value) }
    }
    output.append("\r\n")
    NATSEncoder.ping(to: &output)
    pings = [now]
    phase = .awaitingPong
  }

  // MARK: Time

  /// When `runTimers` has something to do.
  package var nextDeadline: Int64 { phase == .connected ? nextPing : phase == .failed ? .max : deadline }

  /// Sends due `PING`s.
  /// - Throws: `.silent` if the server answers none and sends nothing else either, or did not connect in time.
  package mutating func runTimers(now: Int64, output: inout ByteBuffer) throws(NATSError) {
    switch phase {
    case .failed: break
    case .awaitingInfo, .awaitingTLS, .awaitingPong:
      guard now < deadline else {
        phase = .failed
        throw .silent
      }
    case .connected:
      guard now >= nextPing else { return }
      if pings.count >= options.unansweredPings {
        // A server that sends a large backlog answers behind it.
        guard now - lastHeard < options.pingInterval * Int64(options.unansweredPings) else {
          phase = .failed
          throw .silent
        }
      } else {
        pings.append(now)
        NATSEncoder.ping(to: &output)
      }
      nextPing = now + options.pingInterval
    }
  }

  // MARK: Sending

  /// Appends a message. `headers` is a whole header block (`NATSHeaders.append`).
  @inline(__always)
  package func publish(
    _ subject: NATSSubject, reply: NATSSubject? = nil, headers: UnsafeRawBufferPointer? = nil,
    payload: UnsafeRawBufferPointer, to output: inout ByteBuffer
  ) throws(NATSPublishError) {
    try check(size: (headers?.count ?? 0) &+ payload.count)
    NATSEncoder.publish(subject, reply: reply, headers: headers, payload: payload, to: &output)
  }

  /// Appends the line of a message of `size` bytes; the caller appends them, and CR LF.
  @inline(__always)
  package func publishLine(
    _ subject: NATSSubject, size: Int, to output: inout ByteBuffer
  ) throws(NATSPublishError) {
    try check(size: size)
    NATSEncoder.publishLine(subject, size: size, to: &output)
  }

  @inline(__always)
  private func check(size: Int) throws(NATSPublishError) {
    guard phase == .connected else { throw .notConnected }
    guard size <= maxPayload else { throw .tooLarge(bytes: size, limit: maxPayload) }
  }
}

/// The members of `CONNECT` that prove who the client is.
private struct NATSProof {
  var fields: [(String, String)] = []

  init(_ credentials: NATSCredentials, nonce: [UInt8]) throws(NATSError) {
    switch credentials {
    case .none: break
    case .token(let token): fields = [("auth_token", token)]
    case .password(let user, let password): fields = [("user", user), ("pass", password)]
    case .nkey(let key): fields = [("nkey", key.publicKey), ("sig", try Self.sign(nonce, key))]
    case .jwt(let token, let key): fields = [("jwt", token), ("sig", try Self.sign(nonce, key))]
    }
  }

  private static func sign(_ nonce: [UInt8], _ key: NKey) throws(NATSError) -> String {
    guard !nonce.isEmpty, let signature = key.sign(nonce) else { throw .cannotSign }
    return Base64.encodeURL(signature)
  }
}
