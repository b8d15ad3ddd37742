/// Accepts connections on an address and gives them to loops in turn.
package final class Listener {
  /// Listens on `address` (port 0: any; see `address`). Every accepted connection is put on one of `loops` in turn, where
  /// `accept` is called, on that loop; it returns the handler, or nil to refuse.
  /// Under TLS it is called after the handshake. Running out of descriptors sheds the connection and goes on.
  package init(
    address: SocketAddress, loops: [EventLoop], tls: TLSServerContext? = nil, limits: Connection.Limits = .init(),
    accept: @escaping @Sendable (Connection) -> (any ConnectionHandler)?
  ) throws(TransportError) { fatalError("being written") }

  /// The address in use, with the port the system chose.
  package var address: SocketAddress { fatalError("being written") }

  /// Stops accepting; accepted connections live on. Callable from anywhere.
  package func close() { fatalError("being written") }
}
