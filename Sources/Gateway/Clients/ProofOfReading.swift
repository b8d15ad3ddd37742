/// Whether a client has shown that it reads, and how much it may get before that.
struct ProofOfReading {
  /// The most bytes that a client gets before it has shown that it reads; a message that crosses the limit goes whole.
  /// The client shows it by the pong to its greeting ping. A kernel takes 200 KB for a peer that does not read, so ten
  /// thousand such peers would be served at full rate until then. A client that reads sends its pong before its first
  /// request and waits for nothing.
  static let limit = 4 << 10

  /// The bytes that it got before its proof; negative: the proof is there.
  private var given: Int32 = 0

  var isThere: Bool { given < 0 }
  /// Bytes that the client may get, even if its connection takes more; none at 0 and below.
  var room: Int { isThere ? .max : Self.limit - Int(given) }

  mutating func note(given bytes: Int) {
    if !isThere { given = Int32(clamping: Int(given) + bytes) }
  }

  mutating func come() { given = -1 }
}
