import Bytes

/// What one loop has done since its start.
package struct LoopTotals: Sendable {
  /// Monotonic ns.
  package var uptime: UInt64
  package var turns: Histogram
  package var lag: Histogram
  /// From venues' messages to clients' sockets.
  package var delivery: Histogram
  /// Frames handed to clients' connections.
  package var frames: UInt64
  /// Messages received, by the feed's slot.
  package var messages: [UInt64]
  /// From the venue's time of a trade to its arrival, by the feed's slot, as far as trades came.
  package var arrivals: [Histogram]

  package init(
    uptime: UInt64, turns: Histogram, lag: Histogram, delivery: Histogram, frames: UInt64, messages: [UInt64],
    arrivals: [Histogram]
  ) {
    self.uptime = uptime
    self.turns = turns
    self.lag = lag
    self.delivery = delivery
    self.frames = frames
    self.messages = messages
    self.arrivals = arrivals
  }
}

/// The present pace of one loop: the growth of its totals in each of the last seconds, and recent durations. A value of
/// one owner.
package struct LoopPace: Sendable {
  /// Seconds of one interval of `RecentTimes`.
  static let interval = 10

  private var second = 0
  /// The last totals' time, and the time of all the loop's turns by then, ns.
  private var lookedAt: UInt64 = 0
  private var worked: UInt64 = 0
  private var turns = RecentTimes(.durations)
  private var lag = RecentTimes(.durations)
  private var delivery = RecentTimes(.durations)
  private var arrivals: [RecentTimes] = []
  private var messages: [SecondCounts] = []
  /// Of the growth of frames.
  package private(set) var frames = SecondCounts()
  /// The busy part of the loop's last second, 0…1.
  package private(set) var busy = 0.0

  package init() {}

  /// Takes the totals; call once a second.
  package mutating func take(_ totals: LoopTotals) {
    for (slot, count) in totals.messages.enumerated() {
      if slot == messages.count { messages.append(SecondCounts()) }
      messages[slot].note(total: count)
    }
    frames.note(total: totals.frames)
    let sum = totals.turns.sum
    if totals.uptime > lookedAt { busy = min(1, Double(sum - worked) / Double(totals.uptime - lookedAt)) }
    (lookedAt, worked) = (totals.uptime, sum)
    second += 1
    guard second % Self.interval == 0 else { return }
    turns.turn(totals.turns)
    lag.turn(totals.lag)
    delivery.turn(totals.delivery)
    for (slot, times) in totals.arrivals.enumerated() {
      if slot == arrivals.count { arrivals.append(RecentTimes(.arrivals)) }
      arrivals[slot].turn(times)
    }
  }

  /// The growth of a feed's messages.
  package func messages(of slot: Int) -> SecondCounts { slot < messages.count ? messages[slot] : SecondCounts() }

  /// Durations of the last 10 to 20 s.
  /// - Parameter totals: the present ones.
  package func recentTurns(_ totals: LoopTotals) -> Histogram { turns.recent(totals.turns) }
  package func recentLag(_ totals: LoopTotals) -> Histogram { lag.recent(totals.lag) }
  package func recentDelivery(_ totals: LoopTotals) -> Histogram { delivery.recent(totals.delivery) }

  /// The same of a feed's arrivals; nil if no trade came.
  package func recentArrival(_ totals: LoopTotals, of slot: Int) -> Histogram? {
    guard slot < totals.arrivals.count else { return nil }
    return slot < arrivals.count ? arrivals[slot].recent(totals.arrivals[slot]) : totals.arrivals[slot]
  }
}
