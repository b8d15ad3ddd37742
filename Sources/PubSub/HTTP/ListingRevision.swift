import MarketData

/// How often what answers say of instruments and of their feeds has changed on one loop: where instruments are, what
/// they are called, whether their feeds live. Prices are not in it.
package struct ListingRevision: Equatable, Sendable {
  var directory: UInt64
  var names: UInt64
  var feeds: UInt64
}

extension SubscriberHub {
  /// The present one. O(1).
  package var listingRevision: ListingRevision {
    ListingRevision(directory: directory.revision, names: UInt64(directory.names.revision), feeds: feedsRevision)
  }
}

extension FeedStatus {
  /// Whether answers about it are equal: they contain the time of the last message only if the venue sends none.
  func isShownAs(_ other: FeedStatus) -> Bool {
    state.indicator == "connected" ? !differsInMoreThanAge(from: other) : self == other
  }
}
