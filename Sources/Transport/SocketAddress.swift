/// An IPv4 or IPv6 address and port.
package struct SocketAddress: Sendable, Hashable {
  /// The numeric host: `127.0.0.1`, `::1`.
  package let host: String
  package let port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `HOST:PORT` or `[V6]:PORT`; the host must be a numeric address or `localhost`.
  package init(parsing text: String) throws(TransportError) { fatalError("being written") }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
