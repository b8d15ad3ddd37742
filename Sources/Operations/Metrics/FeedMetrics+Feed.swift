import Bytes
import Feeds
import MarketData
import PubSub
import Venues

extension FeedMetrics {
  /// The counters of a feed, on its loop. O(instruments).
  /// - Parameters:
  ///   - startedAt: when the feed began on this loop.
  ///   - arrival: from the venue's time of a trade to its arrival; nil: no trade came.
  package init(_ feed: any Feed, startedAt: Timestamp, arrival: Histogram?) {
    let pipeline = feed.pipeline
    let symbols = pipeline.symbolCounts
    let session = feed as? FeedSession
    self.init(
      venue: pipeline.venue.name, connection: pipeline.venue.label, state: feed.status.state.rawValue,
      startedAt: startedAt.microseconds)
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
    if let arrival { self.arrival = arrival }
  }
}
