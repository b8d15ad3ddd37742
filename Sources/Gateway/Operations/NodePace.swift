import Bytes
import Feeds
import Transport
import Venues

/// The present pace of one loop: the growth of counters in each of the last seconds, and recent durations. It measures
/// once a second, even without viewers: O(feeds).
final class NodePace: @unchecked Sendable {
  // `@unchecked`: made before the loop begins, then used only on its node's loop.

  /// Seconds of one interval of `RecentTimes`.
  private static let interval = 10

  private unowned let node: LoopNode
  private var second = 0
  private var lookedAt: UInt64 = 0
  /// The total time of the loop's turns at the last measurement, ns.
  private var worked: UInt64 = 0
  private var turnsTime: RecentTimes
  private var lagTime = RecentTimes(.durations)
  private var deliveryTime = RecentTimes(.durations)
  /// By the feed's slot.
  private(set) var messages: [SecondCounts] = []
  private var arrivals: [RecentTimes] = []
  /// Frames handed to clients' connections.
  private(set) var frames = SecondCounts()
  /// The busy part of the loop's last second, 0…1.
  private(set) var busy = 0.0

  init(_ node: LoopNode) {
    self.node = node
    turnsTime = RecentTimes(.durations)
  }

  /// Begins to measure. From anywhere, once.
  func start() {
    node.loop.execute { [self] in
      look()
      node.loop.scheduleRepeating(every: .seconds(1)) { [self] in look() }
    }
  }

  /// Recent times: of turns, of late timers, and from venues' messages to clients' sockets.
  var turns: Histogram { turnsTime.recent(node.loop.times.turns) }
  var lag: Histogram { lagTime.recent(node.loop.times.lag) }
  var delivery: Histogram { deliveryTime.recent(node.delivery.toSocket) }

  /// The recent times from the venue's time of a trade to its arrival; nil if no trade came.
  func arrival(of slot: Int) -> Histogram? {
    let times = node.delivery.toArrival
    guard slot < times.count else { return nil }
    return slot < arrivals.count ? arrivals[slot].recent(times[slot]) : times[slot]
  }

  private func look() {
    node.loop.assertOnLoop()
    for feed in node.feeds.all {
      if feed.slot == messages.count { messages.append(SecondCounts()) }
      messages[feed.slot].note(total: UInt64(feed.pipeline.counts.messages))
    }
    frames.note(total: node.metrics.framesSent)
    let now = node.loop.uptime
    let sum = node.loop.times.turns.sum
    if now > lookedAt { busy = min(1, Double(sum - worked) / Double(now - lookedAt)) }
    (lookedAt, worked) = (now, sum)
    second += 1
    guard second % Self.interval == 0 else { return }
    turnsTime.turn(node.loop.times.turns)
    lagTime.turn(node.loop.times.lag)
    deliveryTime.turn(node.delivery.toSocket)
    for (slot, times) in node.delivery.toArrival.enumerated() {
      if slot == arrivals.count { arrivals.append(RecentTimes(Histogram(from: 100_000, to: 10_000_000_000))) }
      arrivals[slot].turn(times)
    }
  }
}
