import Feeds
import Operations
import Transport
import Venues

/// Measures the pace of one loop once a second, even without viewers: O(feeds).
final class NodePace: @unchecked Sendable {
  // `@unchecked`: made before the loop begins, then used only on its node's loop.

  private unowned let node: LoopNode
  private(set) var pace = LoopPace()

  init(_ node: LoopNode) { self.node = node }

  /// Begins to measure. From anywhere, once.
  func start() {
    node.loop.execute { [self] in
      pace.take(LoopTotals(node))
      node.loop.scheduleRepeating(every: .seconds(1)) { [self] in pace.take(LoopTotals(node)) }
    }
  }
}

extension LoopTotals {
  /// On the node's loop. O(feeds).
  init(_ node: LoopNode) {
    node.loop.assertOnLoop()
    self.init(
      uptime: node.loop.uptime, turns: node.loop.times.turns, lag: node.loop.times.lag,
      delivery: node.delivery.toSocket, frames: node.metrics.framesSent,
      messages: node.feeds.all.map { UInt64($0.pipeline.counts.messages) }, arrivals: node.delivery.toArrival)
  }
}
