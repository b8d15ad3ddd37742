import MarketData
import PubSub

extension FeedStatus {
  /// One status for each venue, in the order of each venue's first connection. Clients see venues; they do not see that
  /// a venue may need several connections.
  ///
  /// Of several connections it reports the worst state with its reason, the last message of the connection that has
  /// been quiet longest, and the symbols of all.
  package static func byVenue(_ connections: [FeedStatus]) -> [FeedStatus] {
    var venues: [FeedStatus] = []
    for status in connections {
      if let index = venues.firstIndex(where: { $0.venue == status.venue }) {
        venues[index].join(status)
      } else {
        venues.append(status)
      }
    }
    return venues
  }

  private mutating func join(_ other: FeedStatus) {
    var joined = other.state.badness > state.badness ? other : self
    joined.lastMessage = lastMessage.flatMap { mine in other.lastMessage.map { min(mine, $0) } }
    if joined.gapFrom == nil {
      joined.gapFrom = gapFrom ?? other.gapFrom
      joined.gapTo = gapFrom == nil ? other.gapTo : gapTo
    }
    if joined.source == .live { joined.source = source == .live ? other.source : source }
    joined.syncing = syncing.merging(other.syncing) { mine, _ in mine }
    joined.failed = failed.merging(other.failed) { mine, _ in mine }
    joined.silent = silent.merging(other.silent) { $0.union($1) }
    self = joined
  }
}

extension FeedState {
  /// How bad a state is; the worst one is reported.
  fileprivate var badness: Int {
    switch self {
    case .live: 0
    case .syncing: 1
    case .maintenance: 2
    case .stale: 3
    case .connecting: 4
    case .reconnecting: 5
    case .disconnected: 6
    }
  }
}
