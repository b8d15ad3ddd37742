/// An operation that a server sent. Its bytes are in the input or in the parser's own buffer, and are valid until the
/// next call of `NATSParser.next`.
package enum NATSOperation {
  /// The server's description of itself, JSON. The first operation of a connection, and again after a change.
  case info(UnsafeRawBufferPointer)
  /// `MSG` or `HMSG`.
  case message(NATSMessage)
  /// The receiver must answer with `PONG`.
  case ping
  case pong
  /// Only in verbose mode, which this client does not use.
  case ok
  /// The text after `-ERR`, with its quotes.
  case error(UnsafeRawBufferPointer)
}

/// A message for one subscription.
package struct NATSMessage {
  package let subject: UnsafeRawBufferPointer
  /// The number of the subscription that the message is for.
  package let subscription: UInt64
  /// The subject that an answer goes to; empty if the sender wants none.
  package let reply: UnsafeRawBufferPointer
  /// The header block with its version line; empty for `MSG`. Read it with `NATSHeaders`.
  package let headers: UnsafeRawBufferPointer
  package let payload: UnsafeRawBufferPointer
}

/// The limits of a server's messages. The parser checks them once the control line is there, before it stores a
/// payload.
package struct NATSLimits: Sendable {
  /// Bytes of an `INFO` line, which lists the servers of the cluster.
  package var infoBytes: Int
  /// Bytes of any other control line: the server's own limit is 4,096 (`max_control_line`).
  package var lineBytes: Int
  /// Bytes of headers and payload together: the server's default is 1 MiB (`max_payload`).
  package var messageBytes: Int

  package init(infoBytes: Int = 64 << 10, lineBytes: Int = 8 << 10, messageBytes: Int = 8 << 20) {
    self.infoBytes = infoBytes
    self.lineBytes = lineBytes
    self.messageBytes = messageBytes
  }
}
