import MarketData

/// The times of clients' heartbeats: a ring of ticks of 100 ms, so that each advance visits only clients that are due.
struct HeartbeatWheel {
  static let ticksPerSecond: Int32 = 10
  private static let tickMicroseconds: Int64 = 100 * Microseconds.millisecond
  /// More than the longest cadence, 60 s.
  private static let size = 1024

  private var slots: [[ClientID]] = Array(repeating: [], count: size)
  /// The last tick that was run, or that entries were first counted from; nil before either.
  private var last: Int64?

  static func tick(at now: Timestamp) -> Int64 { now.microseconds / tickMicroseconds }

  /// The tick that new entries are counted from. It is the last that was run and not the present one: after a pause of
  /// minutes, or when the clock has just been set forward, the next advance runs all slots, and what stood in one of
  /// them for a later tick would be lost.
  mutating func base(at now: Timestamp) -> Int64 {
    let base = last ?? Self.tick(at: now)
    last = base
    return base
  }

  /// Enters a client at a tick less than `size` ahead. O(1).
  mutating func insert(_ client: ClientID, at tick: Int64) { slots[Int(tick) & (Self.size - 1)].append(client) }

  /// Removes and returns the clients whose ticks have come by `now`, with stale entries among them. O(ticks + due).
  mutating func removeDue(at now: Timestamp) -> [ClientID] {
    let tick = Self.tick(at: now)
    let from = max((last ?? tick - 1) + 1, tick - Int64(Self.size) + 1)
    last = max(last ?? tick, tick)
    guard from <= tick else { return [] }
    var due: [ClientID] = []
    for past in from...tick {
      let slot = Int(past) & (Self.size - 1)
      if slots[slot].isEmpty { continue }
      due.append(contentsOf: slots[slot])
      slots[slot].removeAll(keepingCapacity: true)
    }
    return due
  }
}
