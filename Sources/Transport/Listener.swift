import Glibc
import Synchronization

/// Accepts connections on an address and distributes them to loops in turn. It works until `close`, or until its first
/// loop ends. The loop retains it.
package final class Listener: Sendable {
  /// The address in use, with the port the system chose.
  package let address: SocketAddress
  private let acceptor: Acceptor
  private let descriptor: Int32

  /// Decides by the peer's address whether a connection is accepted.
  package typealias Gate = @Sendable (SocketAddress) -> (any ConnectionPermit)?

  /// Listens on `address` (port 0: any; see `address`). Every accepted connection is put on one of `loops` in turn,
  /// where `accept` is called, on that loop; it returns the handler, or nil to refuse. Under TLS it is called after the
  /// handshake, within the limits of `tls`. Without a free descriptor, it closes the connection and continues.
  ///
  /// `gate` is called first, on the first loop, before any other work for a connection. If it returns nil, the
  /// connection is closed at once; any other result stays with the connection (`Connection.permit`) until its
  /// descriptor is closed. `arrived` is called for each connection on its loop, before its handshake.
  /// - Parameter sharesPort: whether others of the same user may listen on the address, too, if they share it as well
  ///   (`SO_REUSEPORT`, socket(7)); the kernel spreads new connections over all of them.
  /// - Parameter kept: a socket of an earlier process that already listens on the address; the listener owns it from
  ///   now on.
  /// - Parameter waits: whether connections wait in the kernel until `begin`.
  /// - Throws: `.system` with the call that failed, as `bind` for an address in use.
  package init(
    address: SocketAddress, loops: [EventLoop], tls: TLSServerContext? = nil, limits: Connection.Limits = .init(),
    sharesPort: Bool = false, kept: Int32? = nil, waits: Bool = false, gate: Gate? = nil,
    arrived: (@Sendable (Connection) -> Void)? = nil,
    accept: @escaping @Sendable (Connection) -> (any ConnectionHandler)?
  ) throws(TransportError) {
    precondition(!loops.isEmpty, "a listener needs a loop")
    let kernelAddress = KernelAddress(address)
    let kernel = loops[0].kernel
    let descriptor: Int32
    if let kept {
      descriptor = kept
      kernel.setOptions(descriptor, limits)
    } else {
      descriptor = try kernel.makeSocket(family: kernelAddress.family)
      kernel.setOptions(descriptor, limits)
      try Self.listen(descriptor, kernelAddress, sharesPort: sharesPort, named: address.description, kernel)
    }
    self.address = kernel.localAddress(descriptor).socketAddress
    self.descriptor = descriptor
    let acceptor = Acceptor(
      descriptor: descriptor, loops: loops, tls: tls, limits: limits, gate: gate, arrived: arrived, accept: accept)
    self.acceptor = acceptor
    if !waits { begin() }
  }

  /// Begins to accept. Callable from any thread; a second call has no effect.
  package func begin() { acceptor.loops[0].execute { [acceptor] in acceptor.start() } }

  /// Binds and listens; a descriptor that cannot is closed.
  private static func listen(
    _ descriptor: Int32, _ kernelAddress: KernelAddress, sharesPort: Bool, named name: String, _ kernel: any Kernel
  ) throws(TransportError) {
    do throws(TransportError) {
      if sharesPort {
        let shared = kernel.sharePort(descriptor)
        guard shared == 0 else { throw .system(call: "setsockopt SO_REUSEPORT", errno: -shared) }
      }
      let bound = kernel.bind(descriptor, to: kernelAddress)
      guard bound == 0 else { throw .system(call: "bind \(name)", errno: -bound) }
      let listening = kernel.listen(descriptor, backlog: Self.backlog)
      guard listening == 0 else { throw .system(call: "listen", errno: -listening) }
    } catch {
      kernel.close(descriptor)
      throw error
    }
  }

  /// Connections that have not been accepted yet; the kernel's own bound (`net.core.somaxconn`) may be lower.
  fileprivate static let backlog: Int32 = 4096

  /// The number of connections that were closed because the process had no free descriptors. Callable from any thread.
  package var shedCount: Int { acceptor.shed.load(ordering: .relaxed) }

  /// Passes the socket to the code that keeps it for the next process; call it before `close`. From then on, waiting
  /// connections are left to the next process. On the first loop, while it listens.
  package func leaveSocket(to keeper: @escaping @Sendable (_ descriptor: Int32) -> Void) {
    let (acceptor, descriptor) = (acceptor, descriptor)
    acceptor.loops[0].execute {
      guard acceptor.leaveQueue() else { return }
      keeper(descriptor)
    }
  }

  /// Passes `body` another descriptor of the socket for a new process (`Program.start`), or nil if the socket is closed
  /// or no descriptor is free; the receiver closes it. `body` is called on the first loop.
  package func copySocket(_ body: @escaping @Sendable (_ descriptor: Int32?) -> Void) {
    let acceptor = acceptor
    acceptor.loops[0].execute {
      let copy = acceptor.descriptor >= 0 ? Program.copy(acceptor.descriptor) : -1
      body(copy >= 0 ? copy : nil)
    }
  }

  /// Stops accepting; accepted connections live on. Connections that already wait are still accepted, because the
  /// kernel would reset them, unless another process keeps the socket. Callable from any thread.
  package func close() {
    let acceptor = acceptor
    acceptor.loops[0].execute { acceptor.end() }
  }
}

/// The listening socket on its loop.
private final class Acceptor: PolledDescriptor, @unchecked Sendable {
  // `@unchecked`: mutable state is used only on `loops[0]`, except `shed`, which is atomic.
  let loops: [EventLoop]
  private let kernel: any Kernel
  let shed = Atomic<Int>(0)
  private let tls: TLSServerContext?
  private let handshakes: HandshakeLimit?
  /// The handshakes in progress, by loop; each is used only on its loop.
  private let underWay: [HandshakesUnderWay]
  /// Whether there is no room for another handshake; a callback comes when there is.
  private var isWaitingForHandshakes = false
  /// Whether a loop is searching for a handshake whose time is up.
  private var isMakingRoom = false
  private var nextRoom = 0
  private let limits: Connection.Limits
  private let gate: Listener.Gate?
  private let arrived: (@Sendable (Connection) -> Void)?
  private let accept: @Sendable (Connection) -> (any ConnectionHandler)?
  private var nextLoop = 0
  private var isOpen = true
  /// Whether connections are accepted.
  private var hasBegun = false
  /// Whether another process continues with the same socket.
  private var isLeft = false
  /// Closes when no connection waits to be accepted, or when this many more have been accepted: then the queue holds
  /// none of the connections that waited at the call.
  private var acceptsLeft: Int?
  /// Waits to try again; one such wait at a time, however many connections are announced in the meantime.
  private var isRetrying = false
  /// A spare descriptor, to accept and close a connection when all others are in use. Otherwise the queue would stay
  /// full, and its edge would never come again.
  private var spare: Int32

  /// The most connections accepted in one turn. Other work on the loop waits 20 to 60 µs for each.
  private static let acceptsPerTurn = 16
  /// The wait before the next attempt if not even the spare descriptor was available.
  private static let retryDelay: Duration = .milliseconds(100)

  init(
    descriptor: Int32, loops: [EventLoop], tls: TLSServerContext?, limits: Connection.Limits,
    gate: Listener.Gate?, arrived: (@Sendable (Connection) -> Void)?,
    accept: @escaping @Sendable (Connection) -> (any ConnectionHandler)?
  ) {
    self.loops = loops
    self.tls = tls
    self.handshakes = tls.map {
      HandshakeLimit($0.configuration.handshakeLimitPerListener, within: $0.handshakes)
    }
    underWay = loops.map { _ in HandshakesUnderWay() }
    self.limits = limits
    self.gate = gate
    self.arrived = arrived
    self.accept = accept
    kernel = loops[0].kernel
    spare = kernel.openSpare()
    super.init(descriptor: descriptor)
  }

  deinit { loopEndsUnwatched() }

  func start() {
    guard isOpen, !hasBegun else { return }
    do {
      try loops[0].watch(self)
      hasBegun = true
    } catch {
      // The kernel has no memory for watches. Nothing has been accepted yet, so this can wait.
      loops[0].schedule(after: Self.retryDelay) { [self] in start() }
    }
  }

  /// Leaves waiting connections to the next owner of the socket from now on. False if the listener is closed.
  func leaveQueue() -> Bool {
    if isOpen { isLeft = true }
    return isOpen
  }

  /// Accepts the waiting connections, and closes.
  func end() {
    guard isOpen, acceptsLeft == nil else { return }
    if isLeft {
      // The socket stays open elsewhere, so the kernel would continue to report its events here.
      if hasBegun { loops[0].unwatch(self) }
      return loopEndsUnwatched()
    }
    start()
    acceptsLeft = Int(Listener.backlog)
    ready(.readable)
  }

  override func loopEnds() {
    loops[0].table.remove(self)
    loopEndsUnwatched()
  }

  private func loopEndsUnwatched() {
    guard isOpen else { return }
    isOpen = false
    kernel.close(descriptor)
    if spare >= 0 { kernel.close(spare) }
    spare = -1
    descriptor = -1
  }

  override func ready(_ readiness: Readiness) {
    for _ in 0..<Self.acceptsPerTurn {
      guard isOpen else { return }
      if isWaitingForHandshakes { return waitForPlace() }
      var slot: HandshakeSlot?
      if let handshakes {
        slot = enter(handshakes)
        guard slot != nil else { return waitForPlace() }
      }
      let (accepted, peer) = kernel.accept(descriptor)
      if let left = acceptsLeft {
        guard accepted >= 0 || -accepted == ECONNABORTED, left > 0 else {
          if accepted >= 0 { kernel.close(accepted) }
          return loopEnds()
        }
        acceptsLeft = left - 1
      }
      guard accepted >= 0 else {
        switch -accepted {
        case EAGAIN: return
        case EMFILE, ENFILE:
          // Linux returns this error even if no connection waits, because it allocates the descriptor first. The
          // listener gives its spare descriptor up only for a waiting connection, because another thread may take the
          // free descriptor in the meantime.
          guard kernel.hasWaiting(descriptor) else { return }
          guard shedOne() else { return retryLater() }
        case ENOBUFS, ENOMEM: return retryLater()
        default: break  // The connection was gone before it was accepted (accept(2), "Error handling").
        }
        continue
      }
      let address = peer.socketAddress
      var permit: (any ConnectionPermit)?
      if let gate {
        permit = gate(address)
        guard permit != nil else {
          kernel.close(accepted)
          continue
        }
      }
      handOver(accepted, address, slot, permit)
    }
    loops[0].markUnfinished(self)
  }

  private func enter(_ handshakes: HandshakeLimit) -> HandshakeSlot? {
    let slot = handshakes.enter { [self] in
      loops[0].execute { [self] in
        isWaitingForHandshakes = false
        if isOpen { ready(.readable) }
      }
    }
    isWaitingForHandshakes = slot == nil
    return slot
  }

  /// All slots for handshakes are taken. If a connection waits for one, a handshake whose time is up loses its slot.
  /// Otherwise a thousand silent connections would keep out all others until their time-out.
  private func waitForPlace() {
    if acceptsLeft != nil { return loopEnds() }
    guard let tls, !isMakingRoom, kernel.hasWaiting(descriptor) else { return }
    isMakingRoom = true
    let now = loops[0].uptime
    let time = tls.configuration.crowdedHandshakeTime.wholeNanoseconds
    nextRoom = (nextRoom + 1) % loops.count
    makeRoom(on: nextRoom, hops: loops.count, before: now > time ? now - time : 0)
  }

  /// Ends the handshake that began first on a loop, or where none began before `time`, on the next of `hops` loops.
  private func makeRoom(on index: Int, hops: Int, before time: UInt64) {
    loops[index].execute { [self] in
      if let connection = underWay[index].popFirst(before: time) {
        loops[0].execute { [self] in isMakingRoom = false }
        // This frees the handshake's slot and causes the callback.
        connection.endCrowdedHandshake()
      } else if hops > 1 {
        makeRoom(on: (index + 1) % loops.count, hops: hops - 1, before: time)
      } else {
        loops[0].execute { [self] in
          isMakingRoom = false
          if isOpen, isWaitingForHandshakes { retryLater() }
        }
      }
    }
  }

  private func retryLater() {
    guard !isRetrying else { return }
    isRetrying = true
    loops[0].schedule(after: Self.retryDelay) { [self] in
      isRetrying = false
      if isOpen { ready(.readable) }
    }
  }

  /// Accepts and closes one connection with the spare descriptor. Returns false if there is no spare one.
  private func shedOne() -> Bool {
    if spare < 0 { spare = kernel.openSpare() }
    guard spare >= 0 else { return false }
    kernel.close(spare)
    let accepted = kernel.accept(descriptor).descriptor
    if accepted >= 0 {
      kernel.close(accepted)
      shed.add(1, ordering: .relaxed)
    }
    spare = kernel.openSpare()
    return accepted >= 0
  }

  private func handOver(
    _ accepted: Int32, _ peer: SocketAddress, _ slot: HandshakeSlot?, _ permit: (any ConnectionPermit)?
  ) {
    let index = nextLoop
    nextLoop = (nextLoop + 1) % loops.count
    guard index > 0 else { return begin(accepted, peer, slot, permit, on: index) }
    let parcel = DescriptorParcel(accepted, kernel)
    loops[index].execute { [self] in begin(parcel.take(), peer, slot, permit, on: index) }
  }

  /// On the connection's loop.
  private func begin(
    _ accepted: Int32, _ peer: SocketAddress, _ slot: HandshakeSlot?,
    _ permit: (any ConnectionPermit)?, on index: Int
  ) {
    let loop = loops[index]
    let session: TLSSession?
    do {
      session = try tls?.makeSession(descriptor: accepted, slot: slot)
    } catch {
      kernel.close(accepted)
      return
    }
    let connection = Connection(loop: loop, peer: peer, descriptor: accepted, limits: limits, tls: session)
    connection.permit = permit
    guard (try? loop.watch(connection)) != nil else { return }
    arrived?(connection)
    guard session != nil, let tls else { return admit(connection) }
    underWay[index].append(connection, at: loop.uptime)
    connection.startHandshake(timeout: tls.configuration.handshakeTimeout) { [self] result in
      if case .success(let connection) = result { admit(connection) }
    }
  }

  private func admit(_ connection: Connection) {
    if let handler = accept(connection) {
      connection.handler = handler
    } else {
      connection.abort()
    }
  }
}

/// A descriptor in transit to another loop; it is closed if that loop ends before it arrives.
private final class DescriptorParcel: @unchecked Sendable {
  // `@unchecked`: made on one loop, and taken or released on another, once.
  private var descriptor: Int32
  private let kernel: any Kernel

  init(_ descriptor: Int32, _ kernel: any Kernel) {
    self.descriptor = descriptor
    self.kernel = kernel
  }

  func take() -> Int32 {
    defer { descriptor = -1 }
    return descriptor
  }

  deinit { if descriptor >= 0 { kernel.close(descriptor) } }
}

/// Handshakes of one listener on one loop. On that loop only.
private final class HandshakesUnderWay: @unchecked Sendable {
  // `@unchecked`: made before the loops have it, then used only on its loop.
  private var queue = ArrivalQueue()

  func append(_ connection: Connection, at time: UInt64) {
    queue.append(connection, at: time) { $0.isHandshaking }
  }

  /// Removes and returns the handshake that began first, if that was before `time`.
  func popFirst(before time: UInt64) -> Connection? {
    queue.popFirst(until: time) { connection, _ in connection.isHandshaking ? .take : .forget }
  }
}
