import Bytes
import MarketData
import Venues

/// The facts about a recording that a replay needs: its venue, its symbols in the gateway's spelling, its instruments.
/// `VenueReplay` has the venue's part.
package struct ReplaySource {
  /// How many records are looked through for the instrument list; recorders ask for it first.
  private static let searchLimit = 4096
  /// The largest number of replayed symbols: more than a connection of any venue follows.
  private static let symbolLimit = 4096

  package let venue: Venue
  /// `BTC-USDT`
  package let symbols: [String]
  /// Names of the recording that are not replayed, and why.
  package let skipped: [String: String]
  /// The instrument list to answer with: the recorded one, or one made from the header.
  package let instruments: [UInt8]
  /// Where the venue has that list; nil if it comes in the stream.
  package let instrumentsURL: String?
  /// Recorded answers to other requests that came before the first frames (24 h volumes), by path.
  package let answers: [String: [UInt8]]
  /// By the market's name: recorded answers about single instruments, where the list has names only.
  private let details: [String: [UInt8]]
  private let replay: VenueReplay
  /// A message that comes first on every connection: an instrument list that is part of the stream and was not
  /// recorded. Mostly empty.
  package let preamble: [UInt8]

  /// Reads the beginning of the recording. Mistakes after its first line show when it is replayed.
  /// - Throws: a mistake in its header, or that its venue, or every part of it, cannot be replayed.
  package init(path: String) throws(RecordingError) {
    let reader = try RecordingReader(path: path)
    let header = reader.header
    let candidates = VenueRegistry.replays(venue: header.venue, market: header.market)
    let unknown = RecordingError(
      path: path, line: 1, field: "venue", VenueRegistry.notReplayed(venue: header.venue, market: header.market))
    guard !candidates.isEmpty else { throw unknown }
    guard header.symbols.count <= Self.symbolLimit else {
      throw RecordingError(
        path: path, line: 1, field: "symbols",
        "has \(header.symbols.count) names; at most \(Self.symbolLimit) can be replayed")
    }
    // What selections came to is found again in the recorded list, with the recorded volumes.
    // A name of the venue's own may hold a colon, too (Bitfinex).
    let selections = header.symbols.filter { MarketSelection.isMeant(by: $0) && (try? MarketSelection($0)) != nil }
    var begin = RecordingBegin(
      RecordedStart(market: header.market, names: header.symbols.filter { !selections.contains($0) }),
      isNamed: !header.symbols.isEmpty, candidates.map(\.replay))
    for _ in 0..<Self.searchLimit {
      guard let record = try? reader.next() else { break }
      begin.note(record, reader.payload.unsafeBytes)
    }
    for (known, replay) in candidates {
      guard let start = replay.start(begin.start(for: replay)) else { continue }
      let symbols = start.symbols + selections
      guard !symbols.isEmpty else { throw Self.nothing(in: start.skipped, path: path) }
      let venue = known.parts.isEmpty ? known : known.connections(for: FeedConfiguration(symbols: symbols))[0].venue
      self.answers = begin.answers
      self.details = begin.details
      self.replay = replay
      self.venue = venue
      self.symbols = symbols
      skipped = start.skipped
      instruments = start.instruments
      preamble = start.preamble
      instrumentsURL = replay.listPath(of: header.market).map { venue.restEndpoint + $0 }
      return
    }
    throw unknown
  }

  private static func nothing(in skipped: [String: String], path: String) -> RecordingError {
    guard let first = skipped.min(by: { $0.key < $1.key }) else {
      return RecordingError(
        path: path, line: 1, field: "symbols",
        "is empty, and no frame at its beginning names a market, so there is nothing to replay")
    }
    let others = skipped.count > 1 ? " (and \(skipped.count - 1) more like it)" : ""
    return RecordingError(
      path: path, line: 1, field: "symbols", "has no market that can be replayed: \(first.value)\(others)")
  }

  /// What a REST request for anything but an order book is answered with; nil if the recording has nothing.
  package func answer(to path: String) -> [UInt8]? {
    if let known = answers[path] { return known }
    guard replay.details != nil, !replay.isList(path) else { return instruments }
    return RecordingBegin.market(path, replay).flatMap { details[$0] }
  }

  /// The symbol that a REST path or URL asks the order book of; nil if it asks for something else.
  static func depthSymbol(_ path: String) -> String? { VenueRegistry.bookMarket(path) }
}
