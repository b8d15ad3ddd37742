/// `deck`: a document of an operator for the days of a time zone. The gateway makes it.
enum DeckChannel: Channel {
  static let facts = ChannelFacts(
    source: .documents, names: .decks, rate: .fixed(0), parameters: [.zone])
  static let data = WireDescription.ChannelData(["deck", "zone", "state"])

  static func document(of key: StreamKey) -> StreamDocumentName? {
    StreamDocumentName(.deck, key.symbol, zone: key.zone)
  }
}
