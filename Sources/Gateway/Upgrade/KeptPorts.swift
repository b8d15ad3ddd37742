import Transport

/// The gateway's listening sockets, if the service manager keeps them between two processes: clients that connect in
/// between wait, and none is refused.
final class KeptPorts {
  /// The names under which the service manager keeps the sockets.
  enum Name: String, CaseIterable, Sendable { case clients, `internal` }

  private var sockets: [ServiceManager.KeptSocket]
  private let kernel: any Kernel

  init(_ sockets: [ServiceManager.KeptSocket], _ kernel: any Kernel) {
    self.sockets = sockets
    self.kernel = kernel
  }

  /// Closes the sockets that no listener has taken: the configuration no longer has their addresses.
  deinit { for socket in sockets { kernel.close(socket.descriptor) } }

  /// The kept socket that listens on an address; nil if there is none. A configured port 0 matches any port.
  func take(_ name: Name, _ address: SocketAddress) -> Int32? {
    guard
      let index = sockets.firstIndex(where: { $0.name == name.rawValue && Self.fits($0, address, kernel) })
    else { return nil }
    return sockets.remove(at: index).descriptor
  }

  /// Whether a socket listens on an address; see `take`.
  static func fits(_ socket: ServiceManager.KeptSocket, _ address: SocketAddress, _ kernel: any Kernel) -> Bool {
    let bound = kernel.localAddress(socket.descriptor).socketAddress
    return bound.address == address.address && (address.port == 0 || bound.port == address.port)
  }
}
