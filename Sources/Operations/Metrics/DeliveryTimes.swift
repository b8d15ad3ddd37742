import Bytes
import MarketData

/// How long a venue's message takes to reach clients' sockets, and how old it is on arrival. Owned by one loop; each
/// call passes the time.
package struct DeliveryTimes: Sendable {
  /// The time from the turn that read a message to the write of its frames, ns. Each loop with clients for it records
  /// one value for each turn that wrote: the oldest message's.
  package private(set) var toSocket = Histogram.durations
  /// The time from the venue's time of a trade to its arrival, ns, by the feed's slot. A trade dated in the future
  /// counts as 0: then a clock is wrong.
  package private(set) var toArrival: [Histogram] = []
  /// The arrival of the oldest message of this turn, monotonic ns; 0: none.
  private var oldest: UInt64 = 0
  /// The same for deliveries that another loop has not taken yet.
  private var oldestHeld: UInt64 = 0

  package init() {}

  /// Records changes of a slot's feed, from a message that was read in the turn that began at `uptime`.
  package mutating func came(_ changes: borrowing MarketChanges, slot: Int, now: Timestamp, uptime: UInt64) {
    came(at: uptime)
    while toArrival.count <= slot { toArrival.append(.arrivals) }
    for item in changes.items {
      guard case .trades(_, let range) = item, let trade = changes.trades[range].last, !trade.isLate else { continue }
      toArrival[slot].record(UInt64(max(0, now - trade.time)) &* 1_000)
    }
  }

  /// A message that arrived at `uptime` is for clients of this loop, too.
  package mutating func came(at uptime: UInt64) {
    if uptime != 0, oldest == 0 || uptime < oldest { oldest = uptime }
  }

  /// Whether this turn has data of a venue to write.
  package var isPending: Bool { oldest != 0 }

  /// The turn has handed frames to connections by `uptime`.
  package mutating func wrote(at uptime: UInt64) {
    if oldest != 0, uptime >= oldest { toSocket.record(uptime - oldest) }
  }

  /// The arrival of the oldest message in the deliveries for other loops; 0: they contain no message of a venue.
  package var offered: UInt64 { oldestHeld == 0 ? oldest : oldestHeld }

  /// Ends the turn.
  /// - Parameter isHeld: whether another loop has not taken what it was offered.
  package mutating func endTurn(isHeld: Bool) {
    oldestHeld = isHeld ? offered : 0
    oldest = 0
  }
}

extension Histogram {
  /// Times from a venue's clock to this one's, ns, from 100 µs to 10 s.
  static var arrivals: Histogram { Histogram(from: 100_000, to: 10_000_000_000) }
}
