/// What recordings of all venues have in common.
extension VenueRegistry {
  /// The venues that say that recordings with such a header are their own: one, but where a venue has several
  /// protocols that each are a venue here. Frames tell those apart.
  package static func replays(venue: String, market: String) -> [(venue: Venue, replay: VenueReplay)] {
    venues.compactMap { known in
      known.replay.flatMap { $0.isMeant(venue: venue, market: market) ? (known, $0) : nil }
    }
  }

  /// Why a recording with such a header cannot be replayed, and what can.
  package static func notReplayed(venue: String, market: String) -> String {
    let own = venues.compactMap(\.replay).filter { $0.names.contains(venue) }
    let can = own.map(\.title).joined(separator: ", ")
    if !replays(venue: venue, market: market).isEmpty {
      return
        "\(venue) \(market) cannot be replayed: the gateway does not read the protocol of its frames; it replays \(can)"
    }
    guard own.isEmpty else { return "\(venue) \(market) cannot be replayed; of that venue, the gateway replays \(can)" }
    let all = venues.compactMap(\.replay?.title).joined(separator: ", ")
    return "\(venue) \(market) cannot be replayed: the gateway does not know this venue; it replays \(all)"
  }

  private static let bookRequests = venues.flatMap { $0.replay?.books ?? [] }

  /// The market whose book a URL, or its path, asks for, at whatever venue; nil if it asks for something else.
  package static func bookMarket(_ url: String) -> String? {
    for request in bookRequests {
      if let market = request.market(url) { return market }
    }
    return nil
  }

  /// The parameters that name a market in requests for books.
  package static let bookParameters = Set(bookRequests.compactMap(\.parameter))
}
