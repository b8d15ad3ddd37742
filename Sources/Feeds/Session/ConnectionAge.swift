import MarketData

/// When the gateway replaces a connection because the venue closes connections of a certain age. It does so some time
/// before that age. The moment is random, so that connections opened together are not replaced together.
struct ConnectionAge: Equatable {
  /// The age at which the venue closes a connection, µs.
  let lifetime: Int64

  /// How long before its end a connection is replaced at the earliest, µs: 10 minutes, or a quarter of a shorter life.
  var lead: Int64 { min(10 * Microseconds.minute, lifetime / 4) }

  /// When the replacement begins: at a random time in the first half of the lead.
  /// - Parameter random: a random number.
  func renewal(of openedAt: Timestamp, random: UInt32) -> Timestamp {
    openedAt + (lifetime - lead + Int64(random) % (lead / 2 + 1))
  }

  /// When the gateway gives the old connection up even if the new one is not ready: a minute before its end, or a tenth
  /// of a shorter lead.
  func deadline(of openedAt: Timestamp) -> Timestamp {
    openedAt + (lifetime - min(Microseconds.minute, lead / 10))
  }
}
