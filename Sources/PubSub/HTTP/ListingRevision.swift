import MarketData

/// Counts the changes on one loop of the data about instruments and their feeds: locations, names, and whether feeds
/// are live. It does not count prices.
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
  /// Whether answers about the two are equal. Answers contain the time of the last message only if the venue sends
  /// none.
  func isShownAs(_ other: FeedStatus) -> Bool {
    state.indicator == "connected" ? !differsInMoreThanAge(from: other) : self == other
  }
}
