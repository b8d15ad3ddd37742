import Bytes
import NATS
import Transport

/// The user of a link. Called on the link's loop only.
package protocol NATSLinkHandler: AnyObject {
  /// The connection is open, and all subscriptions were sent. What was published since the last connection is lost.
  func linkDidConnect(_ link: NATSLink)
  /// The connection broke, or could not be made: the reason, in words without secrets. The link tries again by itself.
  func linkDidDisconnect(_ link: NATSLink, reason: String)
  /// The server refused a subject that was published or subscribed to: its permissions are too narrow.
  func link(_ link: NATSLink, wasRefused reason: String)
  /// A message for the subscription with this tag; its bytes are valid during the call.
  func link(_ link: NATSLink, didReceive message: NATSMessage, tag: Int)
}

/// The reason why a request got no answer.
package enum NATSRequestFailure: Error, Sendable, Equatable {
  /// Nobody listens to its subject. The server says so at once.
  case noResponders
  case timeout
  /// Not connected, or the connection broke before the answer. The request may have been carried out.
  case disconnected
  /// Too many requests wait, or the message is too large.
  case refused
}

/// A connection to a cluster of NATS servers that is made again whenever it breaks. Owned by one loop.
///
/// There is no buffer for a time without connection: a frame that was not sent is dropped, and `number` rises, by which
/// receivers know that frames may be missing. Frames of a turn go out in one send.
package final class NATSLink {
  /// Settings beside those of each connection.
  package struct Settings: Sendable {
    package var servers: [NATSServerAddress]
    package var options: NATSOptions
    /// Unsent bytes beyond which the connection is dropped, with everything in it.
    package var queuedBytes: Int
    /// For addresses with TLS.
    package var tls: TLSClientContext?

    package init(
      servers: [NATSServerAddress], options: NATSOptions, queuedBytes: Int = 4 << 20, tls: TLSClientContext? = nil
    ) {
      precondition(!servers.isEmpty && queuedBytes > 0)
      self.servers = servers
      self.options = options
      self.queuedBytes = queuedBytes
      self.tls = tls
    }
  }

  package let loop: EventLoop
  package weak var handler: (any NATSLinkHandler)?
  /// Counts connections. It rises whenever frames may have been lost.
  package private(set) var number: UInt32 = 0
  package private(set) var subscriptions = NATSSubscriptions()
  /// The server of the present connection or attempt.
  package private(set) var server: NATSServerAddress?

  private let settings: Settings
  private var pool: NATSServerPool
  private var requests: NATSRequests<(Result<NATSMessage, NATSRequestFailure>) -> Void>
  private var inbox: UInt64 = 0
  /// Nil between connections.
  private var nats: NATSConnection?
  /// An ended connection, whose bytes the handler may still be looking at.
  private var retired: NATSConnection?
  private var connection: Connection?
  private var attempt: ConnectAttempt?
  private var timer: LoopTimer?
  private var out = ByteBuffer()
  private var hasEnded = false
  /// The server of this connection shuts down, and will be left.
  private var isLeaving = false

  package init(_ settings: Settings, loop: EventLoop) {
    self.settings = settings
    self.loop = loop
    pool = NATSServerPool(settings.servers, seed: Self.random())
    requests = NATSRequests(random: (Self.random(), Self.random()))
    // The table is empty, so there is room.
    inbox = subscriptions.add(requests.inbox, tag: -1) ?? 0
  }

  private static func random() -> UInt64 { UInt64(SystemRandom.uint32()) << 32 | UInt64(SystemRandom.uint32()) }

  /// Connects, and again whenever the connection breaks. Call it once.
  package func start() {
    loop.assertOnLoop()
    loop.onTurnEnd { [weak self] in self?.flush() }
    connectNext()
  }

  /// Closes the connection for good. What was published in this turn is still sent. The handler is not called.
  package func stop() {
    loop.assertOnLoop()
    hasEnded = true
    flush()
    handler = nil
    timer?.cancel()
    attempt?.cancel()
    failRequests()
    retired = nats.take()
    let open = connection
    connection = nil
    open?.close()
  }

  package var isConnected: Bool { nats?.isConnected ?? false }
  /// When the server last confirmed that the connection is good: loop time (`EventLoop.moment`), µs; nil without a
  /// connection.
  package var lastConfirmed: Int64? { nats?.lastConfirmed }
  /// The duration of the last answered `PING`, µs.
  package var roundTrip: Int64? { nats?.roundTrip }
  /// Bytes that the kernel has not taken.
  package var queuedBytes: Int { out.count + (connection?.queuedBytes ?? 0) }

  // MARK: Sending

  /// Publishes a message of several parts; they are sent at the end of the turn. Returns false, and drops the message,
  /// without a connection or if it is too large.
  @discardableResult
  package func publish(
    _ subject: NATSSubject, _ first: UnsafeRawBufferPointer,
    _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) -> Bool {
    loop.assertOnLoop()
    let size = first.count &+ second.count
    guard nats != nil, (try? nats!.publishLine(subject, size: size, to: &out)) != nil else { return false }
    out.append(first)
    out.append(second)
    out.append("\r\n")
    return true
  }

  /// Publishes with a reply subject or headers.
  @discardableResult
  package func publish(
    _ subject: NATSSubject, reply: NATSSubject?, headers: [UInt8]? = nil, payload: [UInt8]
  ) -> Bool {
    loop.assertOnLoop()
    guard nats != nil else { return false }
    return payload.withUnsafeBytes { body in
      guard let headers else {
        return (try? nats!.publish(subject, reply: reply, payload: body, to: &out)) != nil
      }
      return headers.withUnsafeBytes { block in
        (try? nats!.publish(subject, reply: reply, headers: block, payload: body, to: &out)) != nil
      }
    }
  }

  /// Sends a request. `completion` is called once, on the loop, never before this returns; the bytes of the answer are
  /// valid during the call.
  package func request(
    _ subject: NATSSubject, headers: [UInt8]? = nil, payload: [UInt8], timeout: Duration,
    completion: @escaping (Result<NATSMessage, NATSRequestFailure>) -> Void
  ) {
    loop.assertOnLoop()
    guard isConnected else { return fail(.disconnected, completion) }
    let time = Int64(clamping: timeout.components.seconds) * 1_000_000
    let micro = time + timeout.components.attoseconds / 1_000_000_000_000
    guard let reply = requests.begin(completion, timeout: micro, now: loop.moment) else {
      return fail(.refused, completion)
    }
    guard publish(subject, reply: reply, headers: headers, payload: payload) else {
      _ = reply.bytes.withUnsafeBytes { requests.answered($0) }
      return fail(.refused, completion)
    }
    arm()
  }

  private func fail(
    _ failure: NATSRequestFailure, _ completion: @escaping (Result<NATSMessage, NATSRequestFailure>) -> Void
  ) {
    loop.schedule(after: .zero) { completion(.failure(failure)) }
  }

  /// Subscribes, now and on each later connection; nil if there are too many subscriptions.
  /// - Parameter tag: at least 0; the handler gets it with each message.
  package func subscribe(_ pattern: NATSSubjectPattern, tag: Int) -> UInt64? {
    loop.assertOnLoop()
    guard let number = subscriptions.add(pattern, tag: tag) else { return nil }
    if isConnected { NATSEncoder.subscribe(pattern, number: number, to: &out) }
    return number
  }

  package func unsubscribe(_ number: UInt64) {
    loop.assertOnLoop()
    if subscriptions.remove(number), isConnected { NATSEncoder.unsubscribe(number, to: &out) }
  }

  /// Gives what this turn wrote to the connection.
  private func flush() {
    guard !out.isEmpty else { return }
    if let connection { connection.write(out.bytes) }
    out.removeAll()
  }

  // MARK: Connecting

  private func connectNext() {
    let (address, at) = pool.next(now: loop.moment)
    server = address
    let wait = at - loop.moment
    guard wait <= 0 else {
      timer?.cancel()
      timer = loop.schedule(after: .microseconds(wait)) { [weak self] in self?.connect(address) }
      return
    }
    connect(address)
  }

  private func connect(_ address: NATSServerAddress) {
    guard !hasEnded else { return }
    var options = settings.options
    let isFirst = if case .first = options.tls { true } else { false }
    options.tls = address.isTLS ? (isFirst ? .first : .afterInfo) : .off
    nats = NATSConnection(options, now: loop.moment)
    out.removeAll()
    arm()
    var limits = Connection.Limits()
    limits.queuedBytes = settings.queuedBytes
    attempt = Connector.connect(
      host: address.host, port: address.port, tls: address.isTLS && isFirst ? settings.tls : nil, loop: loop,
      limits: limits, timeout: .microseconds(options.connectTime), handler: self
    ) { [weak self] result in
      guard let self else { return }
      attempt = nil
      switch result {
      case .success(let made):
        connection = made
        if address.isTLS && isFirst { didStartTLS() }
      case .failure(let error): disconnected(error.description)
      }
    }
  }

  private func startTLS() {
    guard let connection, let server else { return }
    guard let context = settings.tls else { return disconnected("TLS is not configured") }
    do throws(TransportError) {
      try connection.startTLS(
        context, host: server.host, port: server.port, timeout: .microseconds(settings.options.connectTime)
      ) { [weak self] in self?.didStartTLS() }
    } catch { disconnected(error.description) }
  }

  private func didStartTLS() {
    do throws(NATSError) {
      try nats?.didStartTLS(now: loop.moment, output: &out)
      arm()
    } catch { disconnected(error.description) }
  }

  /// Ends the connection or attempt, and plans the next one.
  private func disconnected(_ reason: String) {
    guard !hasEnded, nats != nil else { return }
    let wasConnected = isConnected
    retired = nats.take()
    // What was not sent now would be stale later.
    out.removeAll()
    attempt?.cancel()
    attempt = nil
    let broken = connection
    connection = nil
    broken?.abort()
    if wasConnected { number &+= 1 }
    if let server { pool.failed(server, now: loop.moment, random: Self.random()) }
    failRequests()
    handler?.linkDidDisconnect(self, reason: reason)
    if !hasEnded { connectNext() }
  }

  private func failRequests() {
    for request in requests.failAll() { fail(.disconnected, request.context) }
  }

  private func opened() {
    isLeaving = false
    number &+= 1
    if let server { pool.connected(server) }
    takeInfo()
    subscriptions.appendAll(to: &out)
    handler?.linkDidConnect(self)
  }

  private func takeInfo() {
    guard let server, let info = nats?.serverInfo else { return }
    if nats?.infoIsTrusted == true { pool.discovered(info.connectURLs, from: server, seed: Self.random()) }
    guard info.isLameDuck, !isLeaving else { return }
    isLeaving = true
    pool.isLameDuck(server, now: loop.moment)
    // All clients of the server leave now; not all at the same moment.
    let leaving = number
    loop.schedule(after: .milliseconds(Int64(SystemRandom.uint32() % 1_000))) { [weak self] in
      guard let self, number == leaving, isConnected else { return }
      disconnected("the server shuts down")
    }
  }

  // MARK: Time

  /// Sets the timer to the next thing to do.
  private func arm() {
    guard let deadline = nats?.nextDeadline else { return }
    let next = min(deadline, requests.nextDeadline)
    timer?.cancel()
    guard next < .max else { return }
    timer = loop.schedule(after: .microseconds(max(0, next - loop.moment))) { [weak self] in self?.due() }
  }

  private func due() {
    let now = loop.moment
    for request in requests.expire(now: now) { request.context(.failure(.timeout)) }
    do throws(NATSError) {
      try nats?.runTimers(now: now, output: &out)
      arm()
    } catch { disconnected(error.description) }
  }
}

extension NATSLink: ConnectionHandler {
  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(NATSError) {
      // The handler may stop the link, or this connection may have been given up.
      while connection === self.connection, nats != nil,
        let event = try nats!.next(&input, now: loop.moment, output: &out)
      {
        take(event)
      }
    } catch { disconnected(error.description) }
    retired = nil
  }

  private func take(_ event: NATSConnection.Event) {
    switch event {
    case .startTLS: startTLS()
    case .connected:
      opened()
      arm()
    case .message(let message): take(message)
    case .infoChanged: takeInfo()
    case .refused(let error): handler?.link(self, wasRefused: error.text)
    }
  }

  private func take(_ message: NATSMessage) {
    guard message.subscription == inbox else {
      if let tag = subscriptions.tag(of: message.subscription) { handler?.link(self, didReceive: message, tag: tag) }
      return
    }
    guard let request = requests.answered(message.subject) else { return }
    let hasNoResponders =
      !message.headers.isEmpty && (try? NATSHeaders(message.headers))?.status == NATSHeaders.noResponders
    request.context(hasNoResponders ? .failure(.noResponders) : .success(message))
  }

  package func connectionDidDrain(_ connection: Connection) {}

  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    // An older connection, or one that this link has given up.
    guard connection === self.connection else { return }
    let words =
      switch reason {
      case .closedByPeer: "the server closed the connection"
      case .closedLocally: "the connection was closed"
      case .failed(let error): error.description
      }
    disconnected(words)
  }
}
