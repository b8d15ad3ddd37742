/// What the core asks its owner to do, in order.
package enum ClientAction: Equatable {
  case connect
  case send(String)
  /// End the transport.
  case close(code: UInt16, reason: String)
  /// Get a fresh token, and answer with `renewed`.
  case refreshToken
  /// This consumer has something to take, or has ended.
  case wake(Int)
}
