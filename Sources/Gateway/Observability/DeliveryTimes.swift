import Bytes
import MarketData

/// How long a venue's message takes to reach clients' sockets, and how old it is when it comes. Owned by one loop; all
/// times from outside.
struct DeliveryTimes: Sendable {
  /// From the turn in which a message was read to its frames' way to the sockets, ns: one value for each turn that
  /// wrote, for the oldest message of it, on each loop that has clients for it.
  private(set) var toSocket = Histogram.durations
  /// From the venue's time of a trade to its arrival, ns, by the feed's slot. Trades that the venue dates in the future
  /// count as 0: a clock is wrong then.
  private(set) var toArrival: [Histogram] = []
  /// The arrival of the oldest message of this turn, monotonic ns; 0: none.
  private var oldest: UInt64 = 0
  /// The same of what another loop has not taken yet.
  private var oldestHeld: UInt64 = 0

  /// The feed of a slot has changed something, by a message that was read in the turn that began at `uptime`.
  mutating func came(_ changes: borrowing MarketChanges, slot: Int, now: Timestamp, uptime: UInt64) {
    came(at: uptime)
    while toArrival.count <= slot { toArrival.append(Histogram(from: 100_000, to: 10_000_000_000)) }
    for item in changes.items {
      guard case .trades(_, let range) = item, let trade = changes.trades[range].last else { continue }
      toArrival[slot].record(UInt64(max(0, now - trade.time)) &* 1_000)
    }
  }

  /// What came at `uptime` is for clients of this loop, too.
  mutating func came(at uptime: UInt64) {
    if uptime != 0, oldest == 0 || uptime < oldest { oldest = uptime }
  }

  /// Whether something of a venue is to be written in this turn.
  var isPending: Bool { oldest != 0 }

  /// The turn has handed frames to connections by `uptime`.
  mutating func wrote(at uptime: UInt64) {
    if oldest != 0, uptime >= oldest { toSocket.record(uptime - oldest) }
  }

  /// The arrival of the oldest message in the deliveries for other loops; 0: they contain no message of a venue.
  var offered: UInt64 { oldestHeld == 0 ? oldest : oldestHeld }

  /// The turn ends.
  /// - Parameter isHeld: whether another loop has not taken what it was offered.
  mutating func endTurn(isHeld: Bool) {
    oldestHeld = isHeld ? offered : 0
    oldest = 0
  }
}
