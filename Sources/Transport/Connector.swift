/// Makes connections out: resolves the name, tries its addresses in turn, and shakes hands under TLS.
package enum Connector {
  /// Connects to `host`:`port` within `timeout` ns, name look-up and TLS handshake included. `completion` runs on `loop`.
  /// The returned token cancels the attempt; its completion is then not called. On the loop only.
  @discardableResult
  package static func connect(
    host: String, port: UInt16, tls: TLSClientContext?, loop: EventLoop, limits: Connection.Limits = .init(),
    timeout: UInt64 = 10_000_000_000, handler: any ConnectionHandler,
    completion: @escaping (Result<Connection, TransportError>) -> Void
  ) -> ConnectAttempt { fatalError("being written") }
}

/// A connection being made.
package final class ConnectAttempt {
  package func cancel() { fatalError("being written") }
}
