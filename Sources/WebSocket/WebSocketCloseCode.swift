/// A close status (RFC 6455 section 7.4): 1000, 1001, …, 3000–4999.
package struct WebSocketCloseCode: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The purpose of the connection is fulfilled.
  package static let normal = Self(rawValue: 1000)
  /// The server is going down, or the page was left.
  package static let goingAway = Self(rawValue: 1001)
  /// The peer violated RFC 6455.
  package static let protocolError = Self(rawValue: 1002)
  /// The peer sent a kind of data that this end does not accept, such as binary.
  package static let unsupportedData = Self(rawValue: 1003)
  /// Stands for a close frame without a code; never sent.
  package static let noStatus = Self(rawValue: 1005)
  /// Text that is not UTF-8.
  package static let invalidPayload = Self(rawValue: 1007)
  /// The peer broke one of this end's own rules.
  package static let policyViolation = Self(rawValue: 1008)
  /// A message over the limit.
  package static let messageTooBig = Self(rawValue: 1009)
  /// This end had an internal error.
  package static let internalError = Self(rawValue: 1011)
  /// The server restarts: reconnect after a random delay.
  package static let serviceRestart = Self(rawValue: 1012)
  /// The server is overloaded: reconnect later, or elsewhere.
  package static let tryAgainLater = Self(rawValue: 1013)

  /// Whether a frame may have the code: 1000–1003, 1007–1014 (the registered ones that are not reserved) and
  /// 3000–4999.
  package var isSendable: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }
}

/// The state of the closing handshake (RFC 6455 section 7). What the owner of the connection does next:
///
/// - `open`: nothing. To close, send `WebSocketFrame.appendClose` and tell `WebSocketConnection.didSendClose()`.
/// - `sent`: this side began. Send nothing more, continue calling `next` until a `.close` event or a time-out of a few
///   seconds, then drop the transport.
/// - `received`: the peer began. Send a close frame with the same code, tell `didSendClose()`.
/// - `closed`: both have sent. The server drops the transport after its last byte is out; the client waits for that, a
///   few seconds at most (section 7.1.1).
/// - `failed`: the peer broke the protocol. Send a close frame with the error's code unless one was sent, drop the
///   transport.
package enum WebSocketCloseState: Sendable, Equatable {
  case open, sent, received, closed, failed
}
