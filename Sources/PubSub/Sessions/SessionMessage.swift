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
  package var token: String
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

/// The name of a session: random text, then its location (loop, slot and generation of its client).
enum SessionToken {
  /// The length of a token in bytes; a longer one matches no session.
  static let limit = 128

  static func make(_ random: String, loop: Int, client: ClientID) -> String {
    random + ".\(loop)." + String(client.slot, radix: 16) + "." + String(client.generation, radix: 16)
  }

  /// The location in the token; nil if the text is not a session token.
  static func origin(of token: String) -> (loop: Int, client: ClientID)? {
    guard token.utf8.count <= limit else { return nil }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, let loop = UInt16(parts[1]), let slot = UInt32(parts[2], radix: 16),
      let generation = UInt32(parts[3], radix: 16)
    else { return nil }
    return (Int(loop), ClientID(slot: slot, generation: generation))
  }

  /// Compares in a time that depends only on the lengths, so that nobody can guess a token byte by byte.
  static func areEqual(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    var difference: UInt8 = 0
    for (left, right) in zip(one.utf8, other.utf8) { difference |= left ^ right }
    return difference == 0
  }
}
