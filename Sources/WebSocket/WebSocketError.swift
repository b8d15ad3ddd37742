/// The peer broke the protocol: send a close frame with `code`, then close the transport.
package struct WebSocketError: Error, Sendable, Equatable {
  /// 1002, 1007 or 1009; 1011 if there was no memory to inflate with.
  package let code: WebSocketCloseCode
  /// What the peer did, in words fit for a close frame.
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

  /// Defaults for a server of small requests; a client of an exchange wants megabytes.
  package init(messageBytes: Int = 64 << 10, fragments: Int = 1024) {
    self.messageBytes = messageBytes
    self.fragments = fragments
  }
}
