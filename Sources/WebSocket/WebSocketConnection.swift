import Bytes
import HTTP1

/// Which end of the connection this is: clients mask what they send, servers must not (RFC 6455 section 5.1).
package enum WebSocketRole: Sendable { case client, server }

/// A close status (RFC 6455 section 7.4): 1000, 1001, …, 3000–4999.
package struct WebSocketCloseCode: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }
  package static let normal = Self(rawValue: 1000)
  package static let goingAway = Self(rawValue: 1001)
  package static let protocolError = Self(rawValue: 1002)
  package static let unsupportedData = Self(rawValue: 1003)
  package static let invalidPayload = Self(rawValue: 1007)
  package static let policyViolation = Self(rawValue: 1008)
  package static let messageTooBig = Self(rawValue: 1009)
  package static let internalError = Self(rawValue: 1011)
}

package struct WebSocketLimits: Sendable {
  /// Bytes of a message, fragments together; also after inflating.
  package var messageBytes: Int
  /// Fragments of one message.
  package var fragments: Int
  package init(messageBytes: Int = 64 << 10, fragments: Int = 1024) {
    self.messageBytes = messageBytes; self.fragments = fragments
  }
}

/// What arrived. A payload stands in the input or in the connection's own buffer and is valid until the next call of `next`.
package enum WebSocketEvent {
  case text(UnsafeRawBufferPointer)
  case binary(UnsafeRawBufferPointer)
  /// A pong with the same payload must be sent: `encodePong`.
  case ping(UnsafeRawBufferPointer)
  case pong(UnsafeRawBufferPointer)
  /// The peer began (or answered) the closing handshake; 1005 if it gave no code. If `mustReply`, send a close frame.
  case close(code: UInt16, reason: String, mustReply: Bool)
}

/// The peer broke the protocol: send a close frame with `code`, then close the transport.
package struct WebSocketError: Error, Sendable, Equatable {
  package let code: WebSocketCloseCode
  package let reason: String
  package init(_ code: WebSocketCloseCode, _ reason: String) { self.code = code; self.reason = reason }
}

/// The receiving half of RFC 6455 after the handshake, for one connection and either role. Sans-IO.
///
/// A whole unfragmented message in one read is handed out where it lies, unmasked in place; only what is split is copied.
package struct WebSocketConnection: ~Copyable {
  package init(role: WebSocketRole, limits: WebSocketLimits = .init()) {}
  /// The next event in `input`, whose start is moved past what was taken; nil when all is taken. After an error, or after a
  /// close has been received, everything else is ignored.
  package mutating func next(_ input: inout UnsafeMutableRawBufferPointer) throws(WebSocketError) -> WebSocketEvent? {
    fatalError("being written")
  }
}

/// The sending half: frames as bytes.
package enum WebSocketFrame {
  package enum Opcode: UInt8, Sendable { case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

  /// Appends a whole frame. `mask`: nil from a server; four random bytes, fresh for each frame, from a client.
  package static func append(_ opcode: Opcode, payload: RawSpan, mask: UInt32?, to out: inout ByteBuffer) {
    fatalError("being written")
  }
  /// Appends a close frame; a reason over 123 bytes is cut at a character.
  package static func appendClose(_ code: WebSocketCloseCode, reason: String, mask: UInt32?, to out: inout ByteBuffer) {
    fatalError("being written")
  }
  /// Reserves room for an unmasked header at the end of `out`, lets `body` append the payload, and then writes the header
  /// in front of it: a frame is encoded once, in one pass, into one run of bytes.
  package static func appendUnmasked(_ opcode: Opcode, to out: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void) {
    fatalError("being written")
  }
}
