import Bytes
import Transport
import Venues

/// How fast one loop goes at present: what counters grew by in each of the last seconds, and how long things took of
/// late. It measures once a second, with or without a request: O(feeds).
final class NodePace: @unchecked Sendable {
  // `@unchecked`: made before the loop begins, used on its node's loop from then on.

  /// Seconds after which times count as old.
  private static let interval = 10

  private unowned let node: LoopNode
  private var second = 0
  private var lookedAt: UInt64 = 0
  /// ns of the loop's turns, at the last look.
  private var worked: UInt64 = 0
  private var turnsTime: RecentTimes
  private var lagTime = RecentTimes(.durations)
  private var deliveryTime = RecentTimes(.durations)
  /// By the feed's slot.
  private(set) var messages: [SecondCounts] = []
  private var arrivals: [RecentTimes] = []
  /// Frames handed to clients' connections.
  private(set) var frames = SecondCounts()
  /// The part of the last second in which the loop did something, 0…1.
  private(set) var busy = 0.0

  init(_ node: LoopNode) {
    self.node = node
    turnsTime = RecentTimes(.durations)
  }

  /// Begins to look. From anywhere, once.
  func start() {
    node.loop.execute { [self] in
      look()
      node.loop.scheduleRepeating(every: .seconds(1)) { [self] in look() }
    }
  }

  /// How long turns took, how late timers ran, and how long venues' messages took to clients' sockets, of late.
  var turns: Histogram { turnsTime.recent(node.loop.times.turns) }
  var lag: Histogram { lagTime.recent(node.loop.times.lag) }
  var delivery: Histogram { deliveryTime.recent(node.delivery.toSocket) }

  /// From the venue's time of a trade to its arrival, of late; nil where no trade came.
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
