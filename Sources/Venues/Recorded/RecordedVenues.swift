/// What recordings of all venues have in common.
extension VenueRegistry {
  /// The venue of a recording by its header; nil if none says that such recordings are its own.
  package static func replay(venue: String, market: String) -> (venue: Venue, replay: VenueReplay)? {
    for known in venues {
      if let replay = known.replay, replay.isMeant(venue: venue, market: market) { return (known, replay) }
    }
    return nil
  }

  /// What can be replayed, for whoever tries something else.
  package static var replayable: String { venues.compactMap(\.replay?.title).joined(separator: ", ") }

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
