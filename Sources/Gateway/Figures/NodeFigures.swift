import Feeds
import MarketData
import Operations
import PubSub
import Transport
import Venues
import WebSocket

/// A copy of all counters of one loop, made on request. O(clients + instruments).
struct NodeFigures: Sendable {
  var metrics: NodeMetrics
  var feeds: [FeedMetrics]
  var loop: LoopMetrics
  var backfill: CandleBackfill.Figures

  /// On the node's loop.
  init(_ node: LoopNode) {
    node.loop.assertOnLoop()
    metrics = node.metrics
    let counts = node.compression.counts
    metrics.framesCompressed = counts.made
    metrics.compressedFramesSent = counts.frames
    metrics.bytesBeforeCompression = counts.bytesBefore
    metrics.bytesAfterCompression = counts.bytesAfter
    metrics.streams = node.publisher.subscribedStreams
    metrics.streamsKept = node.publisher.keptStreams - metrics.streams
    metrics.replayBytes = node.publisher.ringBytes
    metrics.delivery = node.delivery.toSocket
    metrics.hub = HubFigures(node.hub)
    feeds = node.feeds.running.map { FeedMetrics($0, of: node) }
    loop = LoopMetrics(index: node.loop.index, times: node.loop.times)
    backfill = node.history?.backfillFigures ?? .init()
  }
}

extension FeedMetrics {
  /// On the node's loop.
  init(_ feed: any Feed, of node: LoopNode) {
    let pipeline = feed.pipeline
    let symbols = pipeline.symbolCounts
    let session = feed as? FeedSession
    self.init(
      venue: pipeline.venue.name, connection: pipeline.venue.label, state: feed.status.state.rawValue,
      startedAt: node.feeds.starts[feed.slot].microseconds)
    messages = pipeline.counts.messages
    rejected = pipeline.counts.rejected
    bytes = feed.bytesReceived
    connects = feed.connects
    instruments = pipeline.market.instruments.count - (session?.leftOut.count ?? 0)
    gaps = symbols.reduce(0) { $0 + $1.gaps }
    trades = symbols.reduce(0) { $0 + $1.trades }
    lastMessage = feed.status.lastMessage?.microseconds
    errors = pipeline.errors.counts
    isSimulated = feed.status.source != .live
    refusedValues = pipeline.market.refusedValues
    renumberings = pipeline.market.renumberingCount
    tradesMissed = symbols.reduce(0) { $0 &+ $1.missedTrades }
    tradesFound = symbols.reduce(0) { $0 &+ $1.foundTrades }
    if let session {
      replaced = session.connectionsReplaced
      handoversFailed = session.handoversFailed
      silences = session.silences
      resyncs = ResyncReason.allCases.map { session.resyncs[$0] ?? 0 }
      channelSilences = MarketChannel.allCases.map { session.channelSilences[$0] ?? 0 }
    }
    channelsSilent = MarketChannel.allCases.map { channel in
      feed.status.silent.values.count { $0.contains(MarketChannels(channel)) }
    }
    let isHeard = feed.status.state == .live || feed.status.state == .syncing
    let leftOut = session?.leftOut ?? []
    for state in pipeline.market.instruments where !leftOut.contains(state.instrument.symbol) {
      let condition: BookCondition =
        state.isCrossedForNow ? .crossed : state.bookState != .live ? .syncing : isHeard ? .live : .stale
      books[BookCondition.allCases.firstIndex(of: condition)!] += 1
    }
    let arrivals = node.delivery.toArrival
    if feed.slot < arrivals.count { arrival = arrivals[feed.slot] }
  }
}
