import Access
import Venues

/// The differences between two configurations, and which of them take effect while the gateway runs.
package struct ConfigurationChange {
  package struct Item: Equatable {
    package let key: String
    package let old: String
    package let new: String
  }
  /// What a reload does with a connection to a venue.
  package enum FeedStep: Equatable {
    case begin(String)
    case end(String)
    /// Follow other symbols, or use another endpoint.
    case change(String, added: [String], removed: [String])
  }

  /// Settings that take effect at once.
  package private(set) var applied: [Item] = []
  /// Settings that take effect when the process starts.
  package private(set) var needsRestart: [Item] = []
  package private(set) var feeds: [FeedStep] = []

  package var isEmpty: Bool { applied.isEmpty && needsRestart.isEmpty && feeds.isEmpty }

  package init(from old: GatewayConfiguration, to new: GatewayConfiguration) {
    for setting in Setting.all {
      let item = Item(key: setting.key, old: setting.show(old), new: setting.show(new))
      guard item.old != item.new else { continue }
      if setting.isLive { applied.append(item) } else { needsRestart.append(item) }
    }
    // Taking this over now would close every client without a token.
    if (old.access == nil) != (new.access == nil) {
      needsRestart.append(
        Item(key: "access", old: old.access?.summary ?? "anybody", new: new.access?.summary ?? "anybody"))
    }
    guard !old.demo, !new.demo, old.replay.isEmpty, new.replay.isEmpty else { return }
    compareFeeds(old, new)
  }

  private mutating func compareFeeds(_ old: GatewayConfiguration, _ new: GatewayConfiguration) {
    let before = old.feedConnections
    let after = new.feedConnections
    // A venue with several connections of a kind splits its symbols anew at every change, so all of them would change.
    let shared = Set((before + after).filter { $0.venue.number > 1 }.map(\.venue.name))
    for venue in shared.sorted() {
      let (was, becomes) = (old.feeds.first { $0.venue == venue }, new.feeds.first { $0.venue == venue })
      guard was != becomes else { continue }
      needsRestart.append(
        Item(
          key: "feeds.\(venue)", old: "\(was?.symbols.count ?? 0) symbols",
          new: "\(becomes?.symbols.count ?? 0) symbols"))
    }
    func own(_ connections: [(venue: Venue, configuration: FeedConfiguration)]) -> [String: FeedConfiguration] {
      Dictionary(
        connections.filter { !shared.contains($0.venue.name) }.map { ($0.venue.label, $0.configuration) }
      ) { first, _ in first }
    }
    let (was, becomes) = (own(before), own(after))
    for label in Set(was.keys).union(becomes.keys).sorted() {
      switch (was[label], becomes[label]) {
      case (nil, _?): feeds.append(.begin(label))
      case (_?, nil): feeds.append(.end(label))
      case (let was?, let becomes?):
        guard
          was.symbols != becomes.symbols || was.endpoint != becomes.endpoint
            || was.restEndpoint != becomes.restEndpoint
        else { continue }
        feeds.append(
          .change(
            label, added: becomes.symbols.filter { !was.symbols.contains($0) },
            removed: was.symbols.filter { !becomes.symbols.contains($0) }))
      case (nil, nil): break
      }
    }
  }
}
