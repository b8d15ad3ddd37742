import MarketData
import PubSub

/// The `Tidegate-Feeds` field: the state and age of the feeds that an answer is about, a dictionary of RFC 9651:
///
///     kraken=live;age_ms=12, coinbase=stale;age_ms=31200;simulated
///
/// An age always changes, so it is a header and the body keeps its entity tag. A 304 has it, too.
enum FeedAges {
  static let name = "Tidegate-Feeds"

  /// The field's value for `venues`, in their order; nil if there are none.
  static func value(of venues: [String], _ feeds: [FeedStatus], now: Timestamp) -> String? {
    guard !venues.isEmpty else { return nil }
    return venues.map { venue in
      guard let feed = feeds.first(where: { $0.venue == venue }) else {
        return "\(venue)=\(FeedState.connecting.rawValue)"
      }
      var item = "\(venue)=\(feed.state.rawValue)"
      if let age = feed.ageMilliseconds(at: now) { item += ";age_ms=\(age)" }
      if feed.source != .live { item += ";simulated" }
      if feed.source == .replayed { item += ";replayed" }
      return item
    }.joined(separator: ", ")
  }
}
