import Bytes

/// The reason why a connection to a NATS server cannot continue: close the transport. No case holds a secret.
package enum NATSError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server sent bytes that the protocol does not allow: what, in words.
  case protocolViolation(String)
  /// A control line is longer than the limit, in bytes.
  case lineTooLong(limit: Int)
  /// A message is announced that is larger than the limit, in bytes. Nothing of it was stored.
  case messageTooLarge(bytes: Int, limit: Int)
  /// The configuration requires TLS, and the server does not offer it.
  case tlsUnavailable
  /// The server requires TLS, and the configuration has none.
  case tlsRequired
  /// Bytes arrived between `INFO` and the TLS handshake. Someone on the path may have put them there.
  case bytesBeforeTLS
  /// The server wants a signature and sent no nonce, or OpenSSL refused to sign.
  case cannotSign
  /// The server refuses or ends the connection.
  case refused(NATSServerError)
  /// The server answers no `PING`, or its `INFO` or first `PONG` did not arrive in time.
  case silent

  package var description: String {
    switch self {
    case .protocolViolation(let what): "the NATS server broke the protocol: \(what)"
    case .lineTooLong(let limit): "the NATS server sent a line of more than \(limit) bytes"
    case .messageTooLarge(let bytes, let limit):
      "the NATS server announced a message of \(bytes) bytes; the limit is \(limit)"
    case .tlsUnavailable: "the NATS server offers no TLS, which the configuration requires"
    case .tlsRequired: "the NATS server requires TLS: write tls:// in its address"
    case .bytesBeforeTLS: "the NATS server sent bytes between INFO and the TLS handshake"
    case .cannotSign: "the NATS server's nonce cannot be signed"
    case .refused(let error): "the NATS server refused the connection: \(error.text)"
    case .silent: "the NATS server does not answer"
    }
  }
}

/// An error that a server reported with `-ERR`.
package struct NATSServerError: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Unknown or expired credentials, or none in time.
    case authorization
    /// A subject that this user may not publish or subscribe to. The connection stays open.
    case permissions
    /// A subject that the server does not accept. The connection stays open.
    case invalidSubject
    /// This side reads too slowly.
    case slowConsumer
    /// The server has as many connections or subscriptions as it may.
    case tooMany
    /// This side sent more than the server accepts: a payload or a line.
    case tooLarge
    /// The server got no answer to its `PING`.
    case stale
    case tlsRequired
    case other
  }

  package let kind: Kind
  /// The server's words: printable ASCII, at most 256 bytes.
  package let text: String

  /// Whether the server closes the connection after it.
  package var endsConnection: Bool { kind != .permissions && kind != .invalidSubject }

  /// - Parameter line: the text after `-ERR`, with its quotes.
  package init(_ line: UnsafeRawBufferPointer) {
    var bytes = line.prefix(256)[...]
    if bytes.first == UInt8(ascii: "'") { bytes.removeFirst() }
    if bytes.last == UInt8(ascii: "'") { bytes.removeLast() }
    text = String(decoding: bytes.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    kind = Self.kind(text.lowercased())
  }

  /// The texts of nats-server 2.9 to 2.12 (`server/errors.go`, `server/client.go`).
  private static func kind(_ text: String) -> Kind {
    if text.hasPrefix("permissions violation") { return .permissions }
    if text.hasPrefix("invalid subject") || text.hasPrefix("invalid publish subject") { return .invalidSubject }
    if text.hasPrefix("authorization") || text.hasPrefix("authentication") || text.contains("authentication") {
      return .authorization
    }
    if text.hasPrefix("slow consumer") { return .slowConsumer }
    if text.hasPrefix("maximum payload") || text.hasPrefix("maximum control line") { return .tooLarge }
    if text.hasPrefix("maximum") { return .tooMany }
    if text.hasPrefix("stale connection") { return .stale }
    if text.hasPrefix("secure connection") { return .tlsRequired }
    return .other
  }
}

/// The reason why a message was not written. Nothing was appended to the buffer.
package enum NATSPublishError: Error, Sendable, Equatable {
  /// The connection is not established. Nothing waits for it: what is not sent now would be stale later.
  case notConnected
  /// Headers and payload together are larger than the server's `max_payload`, in bytes.
  case tooLarge(bytes: Int, limit: Int)
}
