/// The settings of a connection to a NATS server.
package struct NATSOptions: Sendable {
  package enum TLS: Sendable {
    /// Nothing is encrypted, and a server that requires TLS is refused.
    case off
    /// The handshake follows the plain `INFO`; a server that offers none is refused.
    case afterInfo
    /// The handshake comes first, and `INFO` is encrypted (servers from 2.11 with `handshake_first`).
    case first
  }

  /// The name that the server's operators see.
  package var name: String
  package var credentials: NATSCredentials
  package var tls: TLS
  package var limits: NATSLimits
  /// Between two `PING`s, µs.
  package var pingInterval: Int64
  /// Unanswered `PING`s after which a server that sends nothing counts as gone.
  package var unansweredPings: Int
  /// From the connection to the first `PONG`, TLS included, µs.
  package var connectTime: Int64
  /// Whether the server sends this client its own messages.
  package var echo: Bool

  /// Precondition: all times and counts are positive.
  package init(
    name: String, credentials: NATSCredentials = .none, tls: TLS = .off, limits: NATSLimits = .init(),
    pingInterval: Int64 = 1_000_000, unansweredPings: Int = 2, connectTime: Int64 = 5_000_000, echo: Bool = false
  ) {
    precondition(pingInterval > 0 && unansweredPings > 0 && connectTime > 0)
    self.name = name
    self.credentials = credentials
    self.tls = tls
    self.limits = limits
    self.pingInterval = pingInterval
    self.unansweredPings = unansweredPings
    self.connectTime = connectTime
    self.echo = echo
  }
}
