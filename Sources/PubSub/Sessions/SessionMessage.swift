/// Where a client stopped in a stream: it has all messages up to `seq`.
package struct StreamPosition: Sendable, Equatable {
  /// The number that the stream had; nil if the client does not say. It distinguishes positions of different rate
  /// classes.
  package var stream: UInt32?
  package var epoch: String
  package var seq: UInt64
  package init(stream: UInt32? = nil, epoch: String, seq: UInt64) {
    self.stream = stream
    self.epoch = epoch
    self.seq = seq
  }
}

/// A client of one loop that wants to continue with a session that another loop may have made.
package struct SessionClaim: Sendable {
  package var token: SessionToken
  /// The requester's identity; a session is given only to the identity that it was issued to.
  package var subject: String?
  package var loop: Int
  package var client: ClientID
  /// The client's request, echoed in the answer.
  package var request: UInt32
}

/// A message about sessions between the hubs of two loops. Messages are in order, and each claim has one answer.
package enum SessionMessage: Sendable {
  /// To the loop that made the token.
  case claim(SessionClaim)
  /// The answer: whether the session could be taken, and whether it was paused.
  case answer(client: ClientID, request: UInt32, isGranted: Bool, isPaused: Bool)
}
