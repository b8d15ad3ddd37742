import Bytes

/// The input of a client that must wait, and the reason. A session has it only while its client waits.
final class HeldInput {
  /// Why nothing is read from the client.
  enum Reason {
    /// The client exceeds its rates.
    case time
    /// The client has not taken its earlier answers, or one is being made.
    case replies
    /// Other clients come first.
    case turn
  }

  /// Nil: nothing is held back.
  var reason: Reason?
  /// Bytes that were read but not processed, at most `Connection.Limits.readBytes`. The session reads nothing in the
  /// meantime.
  var bytes = ByteBuffer()
  /// The payload of the newest ping that arrived while the connection took nothing. Pongs for earlier pings may be left
  /// out (RFC 6455 section 5.5.3), so a client that pings and does not read costs no memory.
  var owedPong: [UInt8]?

  var isEmpty: Bool { reason == nil && owedPong == nil && bytes.isEmpty }
}
