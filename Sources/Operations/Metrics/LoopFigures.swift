import Feeds
import PubSub

/// A copy of all counters of one loop, made on request.
package struct LoopFigures: Sendable {
  package var metrics: NodeMetrics
  package var feeds: [FeedMetrics]
  package var loop: LoopMetrics
  package var backfill: CandleBackfill.Figures

  package init(metrics: NodeMetrics, feeds: [FeedMetrics], loop: LoopMetrics, backfill: CandleBackfill.Figures) {
    self.metrics = metrics
    self.feeds = feeds
    self.loop = loop
    self.backfill = backfill
  }
}
