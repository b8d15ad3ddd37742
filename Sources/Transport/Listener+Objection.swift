import Glibc

extension Listener {
  /// Ports below this one may need a privilege (`ip_unprivileged_port_start`, ip(7)).
  private static let firstPlainPort: UInt16 = 1024

  /// Why this process can never listen on an address: no interface has it, or its port needs a privilege. Nil if it
  /// can, also if another process has the port now. Opens a socket for a moment and does not listen.
  package static func objection(
    to address: SocketAddress, kernel: any Kernel = SystemKernel.shared
  ) -> TransportError? {
    let isPrivileged = (1..<firstPlainPort).contains(address.port)
    let tried = KernelAddress(isPrivileged ? address : SocketAddress(address.address, port: 0))
    do throws(TransportError) {
      let descriptor = try kernel.makeSocket(family: tried.family)
      defer { kernel.close(descriptor) }
      let bound = kernel.bind(descriptor, to: tried)
      guard bound == 0 || -bound == EADDRINUSE else {
        throw .system(call: "bind \(address.description)", errno: -bound)
      }
      return nil
    } catch {
      return error
    }
  }
}
