/// An action that a hub requests from its loop.
package enum HubAction: Sendable {
  /// Pass this to the publisher of that loop.
  case command(PublisherCommand, loop: Int)
  /// Send the client what is queued, then a close frame with this code and reason, then end the connection.
  case close(ClientID, code: UInt16, reason: String)
  /// Check whether this token is valid, and answer with `SubscriberHub.authorize` or `SubscriberHub.refuse`. Never log
  /// it.
  case authenticate(ClientID, token: String)
  /// Do this for the holder of this grant, and answer with `SubscriberHub.answer`.
  case control(ClientID, number: UInt32, ControlRequest, Grant)
  /// Pass this to the hub of that loop.
  case session(SessionMessage, loop: Int)
}
