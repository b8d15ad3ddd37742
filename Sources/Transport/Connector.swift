import Glibc

/// Makes outgoing connections: resolves the name, tries its addresses in turn, and does the TLS handshake.
package enum Connector {
  /// Connects to `host`:`port` within `timeout` ns, name look-up and TLS handshake included. `completion` runs on
  /// `loop`, never before this returns; the connection has `handler` then and has read nothing yet.
  ///
  /// A numeric `host` needs no look-up. If an address refuses, or has not answered within its share of the remaining
  /// time (at most 2 s while others remain), the next one is tried. The returned token cancels the attempt; its
  /// completion is then not called. On the loop only.
  /// - Parameter allows: decides about each address of the name, and about a numeric one; only allowed addresses are
  ///   tried. The connection goes to exactly the checked address.
  @discardableResult
  package static func connect(
    host: String, port: UInt16, tls: TLSClientContext?, loop: EventLoop, limits: Connection.Limits = .init(),
    timeout: Duration = .seconds(10), allows: ((IPAddress) -> Bool)? = nil, handler: any ConnectionHandler,
    completion: @escaping (Result<Connection, TransportError>) -> Void
  ) -> ConnectAttempt {
    connect(
      host: host, port: port, tls: tls, loop: loop, limits: limits, timeout: timeout, allows: allows,
      resolve: Resolver.resolve, handler: handler, completion: completion)
  }

  typealias Resolve =
    @Sendable (String, UInt16, @escaping @Sendable (Result<[KernelAddress], TransportError>) -> Void) -> Void

  static func connect(
    host: String, port: UInt16, tls: TLSClientContext?, loop: EventLoop, limits: Connection.Limits = .init(),
    timeout: Duration = .seconds(10), allows: ((IPAddress) -> Bool)? = nil, resolve: Resolve,
    handler: any ConnectionHandler,
    completion: @escaping (Result<Connection, TransportError>) -> Void
  ) -> ConnectAttempt {
    loop.assertOnLoop()
    let attempt = ConnectAttempt(
      host: host, port: port, tls: tls, loop: loop, limits: limits, timeout: timeout, handler: handler,
      completion: completion)
    attempt.allows = allows
    if let address = KernelAddress(host: host, port: port) {
      loop.schedule(after: .zero) { attempt.start([address]) }
    } else {
      resolve(host, port) { result in loop.execute { attempt.resolved(result) } }
    }
    return attempt
  }
}

/// A connection being made. Used on its loop only; its timer holds it until it has ended.
package final class ConnectAttempt: @unchecked Sendable {
  // `@unchecked`: only the reference crosses threads, on its way through the resolver; every method runs on `loop`.
  private let host: String
  private let port: UInt16
  private let tls: TLSClientContext?
  private let loop: EventLoop
  private let limits: Connection.Limits
  private let deadline: UInt64
  private var handler: (any ConnectionHandler)?
  private var completion: ((Result<Connection, TransportError>) -> Void)?
  private var addresses: ArraySlice<KernelAddress> = []
  fileprivate var allows: ((IPAddress) -> Bool)?
  private var socket: ConnectingSocket?
  private var connection: Connection?
  private var overallTimer: LoopTimer?
  private var addressTimer: LoopTimer?
  private var lastReason: String?

  /// The longest time for one address while others remain.
  private static let addressTime: Duration = .seconds(2)

  init(
    host: String, port: UInt16, tls: TLSClientContext?, loop: EventLoop, limits: Connection.Limits, timeout: Duration,
    handler: any ConnectionHandler, completion: @escaping (Result<Connection, TransportError>) -> Void
  ) {
    self.host = host
    self.port = port
    self.tls = tls
    self.loop = loop
    self.limits = limits
    self.handler = handler
    self.completion = completion
    let deadline = loop.uptime.addingReportingOverflow(timeout.wholeNanoseconds)
    self.deadline = deadline.overflow ? .max : deadline.partialValue
    overallTimer = loop.schedule(after: timeout) { [self] in timedOut() }
  }

  /// Cancels the attempt; its completion is not called.
  package func cancel() {
    loop.assertOnLoop()
    end()
  }

  fileprivate func resolved(_ result: Result<[KernelAddress], TransportError>) {
    switch result {
    case .success(let addresses): start(addresses)
    case .failure(let error): fail(error)
    }
  }

  fileprivate func start(_ addresses: [KernelAddress]) {
    guard completion != nil else { return }
    self.addresses = addresses[...]
    if let allows {
      self.addresses.removeAll { address in IPAddress(address.socketAddress.host).map { !allows($0) } ?? true }
      if self.addresses.isEmpty { lastReason = "its addresses are not allowed" }
    }
    tryNext()
  }

  private func tryNext() {
    abandonAddress()
    while let address = addresses.popFirst() {
      do {
        let descriptor = try loop.kernel.makeSocket(family: address.family)
        loop.kernel.setOptions(descriptor, limits)
        let status = loop.kernel.connect(descriptor, to: address)
        guard status == 0 || status == -EINPROGRESS else {
          loop.kernel.close(descriptor)
          lastReason = TransportError.words(-status)
          continue
        }
        let socket = ConnectingSocket(descriptor: descriptor, loop: loop) { [self] error in
          connected(address, error: error)
        }
        try loop.watch(socket)
        self.socket = socket
      } catch {
        lastReason = error.description
        continue
      }
      if !addresses.isEmpty {
        let left = deadline > loop.uptime ? deadline - loop.uptime : 0
        addressTimer = loop.schedule(after: min(Self.addressTime, .nanoseconds(left) / (addresses.count + 1))) {
          [self] in
          lastReason = "no answer from \(address.socketAddress.host)"
          tryNext()
        }
      }
      return
    }
    fail(.connectFailed(host: host, port: port, reason: lastReason ?? "the name has no address"))
  }

  /// The socket has answered.
  private func connected(_ address: KernelAddress, error: Int32) {
    guard error == 0, let socket else {
      lastReason = TransportError.words(error)
      return tryNext()
    }
    addressTimer?.cancel()
    addressTimer = nil
    let session: TLSSession?
    do {
      session = try tls?.makeSession(descriptor: socket.descriptor, host: host, port: port)
    } catch {
      return fail(error)
    }
    self.socket = nil
    let connection = Connection(
      loop: loop, peer: address.socketAddress, descriptor: socket.passOn(), limits: limits, tls: session)
    loop.table.replace(socket, with: connection)
    guard session != nil else { return succeed(connection) }
    self.connection = connection
    let left = deadline > loop.uptime ? deadline - loop.uptime : 0
    connection.startHandshake(timeout: .nanoseconds(left)) { [self] result in
      self.connection = nil
      switch result {
      case .success(let connection): succeed(connection)
      case .failure(let error): fail(error)
      }
    }
  }

  private func succeed(_ connection: Connection) {
    let completion = completion
    connection.handler = handler
    end()
    completion?(.success(connection))
    // The event of the connection may also have been the event of its first bytes.
    connection.readFromNextTurn()
  }

  private func fail(_ error: TransportError) {
    let completion = completion
    end()
    completion?(.failure(error))
  }

  private func timedOut() {
    fail(connection != nil ? .handshakeTimeout(peer: "\(host) port \(port)") : .connectTimeout(host: host))
  }

  private func abandonAddress() {
    addressTimer?.cancel()
    addressTimer = nil
    socket?.loopEnds()
    socket = nil
  }

  private func end() {
    abandonAddress()
    overallTimer?.cancel()
    overallTimer = nil
    completion = nil
    handler = nil
    addresses = []
    let connection = connection
    self.connection = nil
    connection?.abort()
  }
}

/// A socket whose connection is not established yet.
private final class ConnectingSocket: PolledDescriptor {
  private let loop: EventLoop
  /// Retains the attempt, which retains this, until one of them releases the other.
  private var answered: ((Int32) -> Void)?

  init(descriptor: Int32, loop: EventLoop, answered: @escaping (Int32) -> Void) {
    self.loop = loop
    self.answered = answered
    super.init(descriptor: descriptor)
  }

  deinit {
    if descriptor >= 0 { loop.kernel.close(descriptor) }
  }

  /// Passes the descriptor to another owner.
  func passOn() -> Int32 {
    let passed = descriptor
    descriptor = -1
    answered = nil
    return passed
  }

  override func ready(_ readiness: Readiness) {
    // Before `connect`, a socket reports a meaningless hang-up, so it is registered after `connect`.
    guard !readiness.isDisjoint(with: [.writable, .error]) else { return }
    answered?(loop.kernel.takeError(descriptor))
  }

  override func loopEnds() {
    loop.table.remove(self)
    if descriptor >= 0 { loop.kernel.close(descriptor) }
    descriptor = -1
    answered = nil
  }
}
