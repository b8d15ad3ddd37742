import Transport

/// A socket of a simulated host: what the kernel knows about it.
final class SimulatedSocket {
  private enum State {
    case fresh
    case listening(backlog: [SimulatedSocket], limit: Int)
    case connecting
    /// A failed or reset one is here too, with its error.
    case connected
    case closed
  }

  let host: SimulatedHost
  private let network: FaultyTransport
  var descriptor: Int32 = -1
  private var state = State.fresh
  var local: KernelAddress
  private(set) var peer: KernelAddress
  private(set) var link: Link?
  private var outgoing: Pipe?
  private var incoming: Pipe?
  /// Bytes that the sender's side of a connection may hold (`TCP_NOTSENT_LOWAT`).
  var sendLimit = 64 << 10
  /// `SO_REUSEPORT`.
  var sharesPort = false
  /// The pending error, an `errno`.
  private var error: Int32 = 0
  private var isReset = false
  /// A send found no room: the next room is announced.
  private var wantsRoom = false
  /// The kernel has no memory for this socket until this is over.
  private var isShort = false

  // In its poller.
  weak var poller: SimulatedPoller?
  var token: UInt64 = 0
  var isReported = false

  init(host: SimulatedHost, network: FaultyTransport, local: KernelAddress, peer: KernelAddress) {
    self.host = host
    self.network = network
    self.local = local
    self.peer = peer
  }

  var isClosed: Bool { if case .closed = state { true } else { false } }
  var isConnecting: Bool { if case .connecting = state { true } else { false } }
  var hasRoom: Bool { if case .listening(let backlog, let limit) = state { backlog.count < limit } else { false } }
  private var isConnected: Bool { if case .connected = state { true } else { false } }

  /// A way's worth of time.
  func latency() -> UInt64 { 20_000 + UInt64(network.pick(Int(network.faults.longestLatency))) }

  // MARK: - Readiness

  /// What epoll would say now.
  var readiness: Readiness {
    switch state {
    case .fresh: return [.writable, .hangUp]
    case .listening(let backlog, _): return backlog.isEmpty ? [] : .readable
    case .connecting, .closed: return []
    case .connected:
      if isReset || error != 0 { return [.readable, .writable, .peerEnded, .error, .hangUp] }
      guard let incoming, let outgoing else { return [] }
      var result: Readiness = []
      if incoming.delivered > 0 { result.insert(.readable) }
      if incoming.endHasArrived { result.formUnion([.readable, .peerEnded]) }
      if outgoing.hasFairRoom && !isShort { result.insert(.writable) }
      if incoming.endHasArrived && outgoing.isEnded { result.insert(.hangUp) }
      return result
    }
  }

  /// Something happened that epoll reports.
  func notify() { poller?.report(self) }

  // MARK: - Connecting

  var hasWaiting: Bool { if case .listening(let backlog, _) = state { !backlog.isEmpty } else { false } }

  func listen(backlog: Int32) { state = .listening(backlog: [], limit: Int(backlog)) }

  func beginConnecting(to address: KernelAddress) {
    state = .connecting
    peer = address
    if network.chance(network.faults.swallow) {
      network.statistics.halfOpens += 1
      return
    }
    if network.chance(network.faults.refuse) {
      network.statistics.refusedConnects += 1
      return network.schedule(.refused(self, 111), after: latency())
    }
    network.schedule(.reachable(self, address), after: latency())
  }

  /// A listener: makes the other end of `client`'s connection and puts it into the queue.
  func offer(to client: SimulatedSocket) {
    guard case .listening(var backlog, let limit) = state else { return }
    let server = SimulatedSocket(host: host, network: network, local: local, peer: client.local)
    server.sendLimit = sendLimit
    server.state = .connected
    _ = network.makeLink(from: client, to: server)
    backlog.append(server)
    state = .listening(backlog: backlog, limit: limit)
    notify()
  }

  func join(_ link: Link, outgoing: Pipe, incoming: Pipe) {
    self.link = link
    self.outgoing = outgoing
    self.incoming = incoming
  }

  func established() {
    guard isConnecting, let link else {
      // Given up while the answer was on its way.
      if let link, let other = link.server { network.schedule(.reset(other), after: latency()) }
      return
    }
    state = .connected
    host.links.append(link)
    notify()
  }

  func refused(_ error: Int32) {
    guard isConnecting else { return }
    state = .connected
    self.error = error
    isReset = true
    notify()
  }

  /// Takes the first of the queue; a negated `errno` if there is none.
  func accept() -> (socket: SimulatedSocket?, error: Int32) {
    guard case .listening(var backlog, let limit) = state, !backlog.isEmpty else { return (nil, -11) }  // EAGAIN
    let socket = backlog.removeFirst()
    state = .listening(backlog: backlog, limit: limit)
    if network.chance(network.faults.abortAccept) {
      network.statistics.acceptFailures += 1
      socket.close(resets: true)
      return (nil, -103)  // ECONNABORTED
    }
    return (socket, 0)
  }

  // MARK: - Bytes

  func takeError() -> Int32 {
    defer { error = 0 }
    return error
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard isConnected else { return -107 }  // ENOTCONN
    if let incoming, incoming.delivered > 0 { return incoming.receive(into: buffer) }
    if error != 0 { return Int(-takeError()) }
    if isReset || incoming?.endHasArrived ?? true { return 0 }
    return -11  // EAGAIN
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard isConnected, let outgoing else { return -32 }  // EPIPE
    if error != 0 { return Int(-takeError()) }
    if isReset || outgoing.isEnded { return -32 }
    var room = isShort ? 0 : outgoing.room
    if room > 0, network.chance(network.faults.partialSend) {
      room = 1 + network.pick(min(room, bytes.count))
      if room < bytes.count {
        isShort = true
        network.schedule(.room(self), after: UInt64(network.pick(3_000_000)) + 1)
      }
    }
    let count = min(bytes.count, max(0, room))
    if count < bytes.count {
      wantsRoom = true
      network.statistics.partialWrites += 1
    }
    guard count > 0 else { return -11 }
    outgoing.send(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    return count
  }

  /// The kernel has memory again.
  func roomReturned() {
    guard isShort else { return }
    isShort = false
    roomFreed()
  }

  func roomFreed() {
    guard wantsRoom, !isShort, let outgoing, outgoing.hasFairRoom else { return }
    wantsRoom = false
    notify()
  }

  /// Bytes that the peer has not got.
  var queuedBytes: Int { outgoing?.onTheWay ?? 0 }

  func endSending() -> Int32 {
    guard isConnected, !isReset, let outgoing else { return -107 }  // ENOTCONN
    outgoing.end()
    return 0
  }

  // MARK: - The end

  /// The peer, or the network, has reset the connection.
  func receiveReset() {
    guard isConnected, !isReset else { return }
    isReset = true
    error = 104  // ECONNRESET
    outgoing?.abandon()
    notify()
  }

  /// Its owner has closed it. With unread bytes, or on request, the peer is told by a reset.
  func close(resets: Bool = false) {
    switch state {
    case .listening(let backlog, _):
      state = .closed
      for socket in backlog { socket.close(resets: true) }
    case .connected where link != nil:
      let hasUnread = (incoming?.delivered ?? 0) > 0
      state = .closed
      guard !isReset else { break }
      if resets || hasUnread {
        outgoing?.abandon()
        if let link, !link.isBroken {
          let other = link.client === self ? link.server : link.client
          if let other { network.schedule(.reset(other), after: latency()) }
        }
      } else {
        outgoing?.end()
      }
    default: state = .closed
    }
    poller = nil
    host.links.removeAll { $0 === link }
  }

  /// Lets go of the connection, so that nothing holds itself.
  func leave() {
    outgoing?.forgetSockets()
    incoming?.forgetSockets()
    outgoing = nil
    incoming = nil
    link = nil
    if case .listening = state { state = .closed }
  }
}

/// The event queue of a driven loop: what epoll would report, in an order that the seed chooses.
final class SimulatedPoller: Poller {
  private let host: SimulatedHost
  private var reported: [SimulatedSocket] = []
  private var isAwake = false

  init(host: SimulatedHost) {
    self.host = host
  }

  var hasEvents: Bool { isAwake || !reported.isEmpty }

  func add(_ descriptor: Int32, token: UInt64) throws(TransportError) {
    guard let socket = host.socket(descriptor) else { throw .system(call: "epoll_ctl", errno: 9) }
    socket.poller = self
    socket.token = token
    if !socket.readiness.isEmpty { report(socket) }
  }

  func remove(_ descriptor: Int32) { host.socket(descriptor)?.poller = nil }

  func report(_ socket: SimulatedSocket) {
    guard !socket.isReported else { return }
    socket.isReported = true
    reported.append(socket)
  }

  func wait(milliseconds: Int32, into events: PollerEvents) -> Int {
    isAwake = false
    var count = 0
    while count < PollerEvents.capacity, !reported.isEmpty {
      let index = host.network.pick(reported.count)
      reported.swapAt(index, reported.count - 1)
      let socket = reported.removeLast()
      socket.isReported = false
      guard socket.poller === self else { continue }
      let readiness = socket.readiness
      guard !readiness.isEmpty else { continue }
      events.set(count, token: socket.token, readiness: readiness)
      count += 1
    }
    return count
  }

  func wake() { isAwake = true }
}
