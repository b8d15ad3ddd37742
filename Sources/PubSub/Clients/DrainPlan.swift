import MarketData

/// When each client is sent away, one after the other, so that the gateways that take them in are not hit by all at
/// once. Times are steady, but for `deadline`.
struct DrainPlan {
  /// The part of the window in which clients are closed, in tenths; the rest is for their farewells.
  private static let tenths: Int64 = 9

  /// When the clients are closed, rising.
  private var moments: [(client: ClientID, moment: Timestamp)] = []
  private var next = 0
  /// When the last one is closed.
  let end: Timestamp
  /// Told to clients: when the gateway ends, UTC.
  let deadline: Timestamp
  /// Clients closed so far.
  private(set) var evicted = 0

  /// Spreads the clients evenly over `window`, here and over all loops together.
  init(_ clients: [ClientID], window: Int64, loop: Int, loops: Int, now: Timestamp, deadline: Timestamp) {
    let span = max(0, window) * Self.tenths / 10
    let parts = Int64(clients.count * loops)
    end = now + span
    self.deadline = deadline
    moments = clients.enumerated().map { index, client in
      (client, now + span * Int64(index * loops + loop + 1) / max(1, parts))
    }
  }

  /// How long each of the clients has, µs.
  func waits(now: Timestamp) -> [(client: ClientID, wait: Int64)] { moments.map { ($0.client, $0.moment - now) } }

  /// Adds a client that came while draining: it goes with the last. Returns how long it has, µs.
  mutating func add(_ client: ClientID, now: Timestamp) -> Int64 {
    let moment = max(end, now)
    moments.append((client, moment))
    return moment - now
  }

  /// The next client whose moment has come.
  mutating func popDue(now: Timestamp) -> ClientID? {
    guard next < moments.count, moments[next].moment <= now else { return nil }
    next += 1
    return moments[next - 1].client
  }

  mutating func noteEviction() { evicted += 1 }
}
