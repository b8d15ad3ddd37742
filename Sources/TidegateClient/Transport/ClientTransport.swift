/// Makes WebSocket connections for a client. There are two: `TidegateURLSession` for Apple's platforms and
/// `TidegateEpoll` for Linux.
///
/// A transport does the opening handshake, pings and frames; the client does everything inside the messages.
public protocol ClientTransport: Sendable {
  /// Begins to connect to a `ws` or `wss` URL, offering `subprotocol`, and returns at once.
  ///
  /// `receive` is called with events in order, one at a time, from any thread, but never from inside `connect`, `send`
  /// or `close`; `.closed`, `.refused` or `.unusable` is the last one and always comes, unless the client closed the
  /// connection.
  func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection

  /// The same, offering several subprotocols, the preferred one first; any of them will do. The default offers the last
  /// one only.
  func connect(
    to url: GatewayURL, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection
}

extension ClientTransport {
  /// Connects with the last of the subprotocols alone.
  public func connect(
    to url: GatewayURL, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    connect(to: url, subprotocol: subprotocols.last ?? Subprotocol.json, receive: receive)
  }
}

/// The encodings of the client protocol, by the name that a handshake offers.
package enum Subprotocol {
  package static let json = "tidegate.v1.json"
  /// Data as binary records, everything else as in JSON.
  package static let binary = "tidegate.v1.bin"
}

/// One connection of a `ClientTransport`. Its functions return at once and may be called from any thread.
public protocol ClientTransportConnection: Sendable {
  /// Sends a text message. Ignored before `.opened` and after the connection ended.
  func send(_ text: String)
  /// Sends a close frame and ends the connection.
  func close(code: UInt16, reason: String)
}

/// An event of a connection of a `ClientTransport`.
public enum ClientTransportEvent: Sendable {
  /// The opening handshake succeeded.
  case opened
  /// A whole text message, as UTF-8.
  case message([UInt8])
  /// A whole binary message. Only where the server chose the subprotocol `tidegate.v1.bin`.
  case binary([UInt8])
  /// The server answered the opening handshake with a status other than 101, and the connection has ended; no event
  /// follows. Only HTTP answers are reported this way; a failure below HTTP is `.closed`.
  /// - Parameters:
  ///   - status: 100…999 except 101.
  ///   - retryAfter: the `Retry-After` field, if there was one.
  ///   - reason: for people.
  case refused(status: Int, retryAfter: Duration?, reason: String)
  /// No attempt like this one will succeed until somebody changes something, with the reason in words: this machine has
  /// no WebSockets, the server's certificate is not trusted, the server does not speak the subprotocol. The connection
  /// has ended; no event follows.
  ///
  /// The client ends with this reason, unless a gateway has answered it before: then it tries again.
  case unusable(reason: String)
  /// The connection ended, with the code of the close frame, nil if there was none, and the reason in words.
  case closed(code: UInt16?, reason: String)
}
