/// What the core asks its owner to do, in order.
package enum ClientAction: Equatable {
  case connect
  case send(String)
  /// End the transport.
  case close(code: UInt16, reason: String)
  /// Get a fresh token, and answer with `renewed`.
  case refreshToken
  case emit(TidegateEvent)
  /// The last action.
  case finish
}
