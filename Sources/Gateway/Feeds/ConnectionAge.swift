import MarketData

/// When a connection is replaced because the venue ends connections at an age: before that, with time to spare, and at
/// a time by chance, so that connections that were made together are not replaced together.
struct ConnectionAge: Equatable {
  /// How old the venue lets a connection get, µs.
  let lifetime: Int64

  /// How long before its end a connection is replaced at the earliest, µs: 10 minutes, or a quarter of a short life.
  var lead: Int64 { min(10 * Microseconds.minute, lifetime / 4) }

  /// When the replacement begins: in the first half of the lead.
  /// - Parameter random: from outside.
  func renewal(of openedAt: Timestamp, random: UInt32) -> Timestamp {
    openedAt + (lifetime - lead + Int64(random) % (lead / 2 + 1))
  }

  /// When the old connection is given up whatever there is instead: a minute before its end, or a tenth of the lead.
  func deadline(of openedAt: Timestamp) -> Timestamp {
    openedAt + (lifetime - min(Microseconds.minute, lead / 10))
  }
}
