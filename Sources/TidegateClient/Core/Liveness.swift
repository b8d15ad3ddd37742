/// Whether the gateway of a connection is there, and sends what it says it sends.
struct Liveness: Sendable {
  /// Whether the gateway has answered `hello`.
  private(set) var isWelcome = false
  /// Between heartbeats, ns; nil: none is expected yet.
  private var interval: UInt64?
  private var heardAt: UInt64 = 0
  /// When to leave a gateway that stops; nil: it goes on.
  private(set) var drainAt: UInt64?
  /// Snapshots and updates received, to be compared with the `sent` of heartbeats.
  private var received = 0

  /// When the next heartbeat is missing: after two and a half intervals; nil: none is expected.
  var silentAt: UInt64? { interval.map { heardAt + $0 * 5 / 2 } }

  /// An answer to `hello`; true: the first one. The gateway answers a fresh token with another one.
  mutating func welcome(_ interval: Duration, now: UInt64) -> Bool {
    self.interval = interval.nanoseconds
    heardAt = now
    defer { isWelcome = true }
    return !isWelcome
  }

  /// A heartbeat.
  mutating func hear(now: UInt64) { heardAt = now }

  /// A snapshot or update. A gateway may claim to have sent any number, also the largest.
  mutating func countData() { if received < .max { received += 1 } }

  /// Whether everything that was sent has arrived. What has not counts as arrived from now on.
  mutating func agrees(_ sent: Int) -> Bool {
    defer { received = sent }
    return sent == received
  }

  /// The gateway stops.
  mutating func drain(at time: UInt64) { drainAt = time }
}
