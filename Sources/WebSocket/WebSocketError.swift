/// The peer broke the protocol: send a close frame with `code`, then close the transport.
package struct WebSocketError: Error, Sendable, Equatable {
  package let code: WebSocketCloseCode
  package let reason: String
  package init(_ code: WebSocketCloseCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}

/// What a peer may send, checked when a frame's header has come and before anything of it is kept.
package struct WebSocketLimits: Sendable {
  /// Bytes of a message, fragments together; also after inflating.
  package var messageBytes: Int
  /// Fragments of one message.
  package var fragments: Int
  package init(messageBytes: Int = 64 << 10, fragments: Int = 1024) {
    self.messageBytes = messageBytes
    self.fragments = fragments
  }
}
