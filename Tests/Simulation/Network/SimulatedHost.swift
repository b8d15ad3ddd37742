import Glibc
import TestSupport
import Transport

/// A machine on a simulated network: the kernel of the loops on it. It has an address, a wall clock that can be set,
/// and a bound on descriptors.
package final class SimulatedHost: Kernel, @unchecked Sendable {
  // `@unchecked`: a world runs in one thread, its hosts with it.
  unowned let network: FaultyTransport
  package let address: String
  /// Microseconds by which its wall clock is wrong; a step when it changes.
  package var wallError: Int64 = 0
  /// Descriptors that may be open; at the bound `socket` and `accept` fail with `EMFILE`.
  package var descriptorLimit = 4_096
  /// Connections that were made from here and are open at this end, oldest first.
  package internal(set) var links: [Link] = []

  private var secrets: SeededGenerator
  private var sockets: [Int32: SimulatedSocket] = [:]
  private var spares: Set<Int32> = []
  private var listeners: [UInt16: SimulatedSocket] = [:]
  private var nextPort: UInt16 = 40_000

  /// Numbers that no descriptor of the process has, in case one gets to the real kernel.
  private static let firstDescriptor: Int32 = 1_000_000

  init(network: FaultyTransport, address: String, secrets: UInt64) {
    self.network = network
    self.address = address
    self.secrets = SeededGenerator(seed: secrets)
  }

  /// Sockets and spares that are open.
  package var openDescriptors: Int { sockets.count + spares.count }

  func socket(_ descriptor: Int32) -> SimulatedSocket? { sockets[descriptor] }
  func listener(port: UInt16) -> SimulatedSocket? { listeners[port] }

  func tearDown() {
    for socket in sockets.values { socket.leave() }
    sockets = [:]
    listeners = [:]
    links = []
  }

  /// As a kernel does: the lowest that is free.
  private func freeDescriptor() -> Int32? {
    guard openDescriptors < descriptorLimit else { return nil }
    var descriptor = Self.firstDescriptor
    while sockets[descriptor] != nil || spares.contains(descriptor) { descriptor += 1 }
    return descriptor
  }

  private func kernelAddress(port: UInt16) -> KernelAddress { KernelAddress(host: address, port: port)! }

  // MARK: - Kernel

  package func uptime() -> UInt64 { network.uptime }
  package func wallMicroseconds() -> Int64 { network.wallMicroseconds + wallError }

  package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
    for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: secrets.next() >> 32) }
  }

  package func socket(family: Int32) -> Int32 {
    guard let descriptor = freeDescriptor() else { return -EMFILE }
    let socket = SimulatedSocket(
      host: self, network: network, local: kernelAddress(port: 0), peer: kernelAddress(port: 0))
    socket.descriptor = descriptor
    sockets[descriptor] = socket
    return descriptor
  }

  package func setOptions(_ descriptor: Int32, _ limits: Connection.Limits) {
    sockets[descriptor]?.sendLimit = limits.kernelUnsentBytes
  }

  package func takeError(_ descriptor: Int32) -> Int32 { sockets[descriptor]?.takeError() ?? EBADF }

  package func bind(_ descriptor: Int32, to address: KernelAddress) -> Int32 {
    guard let socket = sockets[descriptor] else { return -EBADF }
    var port = address.socketAddress.port
    if port == 0 { port = ephemeralPort() }
    if let other = listeners[port], !other.sharesPort || !socket.sharesPort { return -EADDRINUSE }
    socket.local = kernelAddress(port: port)
    return 0
  }

  private func ephemeralPort() -> UInt16 {
    nextPort = nextPort < 60_000 ? nextPort + 1 : 40_000
    return nextPort
  }

  package func sharePort(_ descriptor: Int32) -> Int32 {
    guard let socket = sockets[descriptor] else { return -EBADF }
    socket.sharesPort = true
    return 0
  }

  package func hasWaiting(_ descriptor: Int32) -> Bool { sockets[descriptor]?.hasWaiting ?? false }

  /// Of several that share a port, the last one gets the connections.
  package func listen(_ descriptor: Int32, backlog: Int32) -> Int32 {
    guard let socket = sockets[descriptor] else { return -EBADF }
    socket.listen(backlog: backlog)
    listeners[socket.local.socketAddress.port] = socket
    return 0
  }

  package func localAddress(_ descriptor: Int32) -> KernelAddress {
    sockets[descriptor]?.local ?? kernelAddress(port: 0)
  }

  package func accept(_ descriptor: Int32) -> (descriptor: Int32, peer: KernelAddress) {
    let nobody = kernelAddress(port: 0)
    guard let listener = sockets[descriptor] else { return (-EBADF, nobody) }
    // Looked for first, whether or not anyone waits (accept(2), Linux).
    guard let free = freeDescriptor() else {
      network.statistics.acceptFailures += 1
      return (-EMFILE, nobody)
    }
    let (accepted, error) = listener.accept()
    guard let accepted else { return (error, nobody) }
    accepted.descriptor = free
    sockets[free] = accepted
    return (free, accepted.peer)
  }

  package func connect(_ descriptor: Int32, to address: KernelAddress) -> Int32 {
    guard let socket = sockets[descriptor] else { return -EBADF }
    socket.local = kernelAddress(port: ephemeralPort())
    socket.beginConnecting(to: address)
    return -EINPROGRESS
  }

  package func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    sockets[descriptor]?.receive(into: buffer) ?? Int(-EBADF)
  }

  package func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    sockets[descriptor]?.send(UnsafeRawBufferPointer(start: bytes, count: count)) ?? Int(-EBADF)
  }

  package func send(_ descriptor: Int32, pieces: UnsafeMutableBufferPointer<iovec>) -> Int {
    guard let socket = sockets[descriptor] else { return Int(-EBADF) }
    var sent = 0
    for piece in pieces {
      let taken = socket.send(UnsafeRawBufferPointer(start: piece.iov_base, count: piece.iov_len))
      guard taken >= 0 else { return sent > 0 ? sent : taken }
      sent += taken
      if taken < piece.iov_len { break }
    }
    return sent
  }

  package func queuedBytes(_ descriptor: Int32) -> Int { sockets[descriptor]?.queuedBytes ?? Int(-EBADF) }

  package func endSending(_ descriptor: Int32) -> Int32 { sockets[descriptor]?.endSending() ?? -EBADF }

  package func close(_ descriptor: Int32) {
    if spares.remove(descriptor) != nil { return }
    guard let socket = sockets.removeValue(forKey: descriptor) else {
      preconditionFailure("descriptor \(descriptor) of \(address) is closed twice")
    }
    let port = socket.local.socketAddress.port
    if listeners[port] === socket { listeners[port] = nil }
    socket.close()
  }

  package func openSpare() -> Int32 {
    guard let descriptor = freeDescriptor() else { return -EMFILE }
    spares.insert(descriptor)
    return descriptor
  }
}
