import Bytes
import MarketData
import Venues

/// What has to be known of a recording before it can be played: its venue, its symbols in the gateway's words, its instruments. What
/// is to be known of a venue for that is the venue's (`VenueReplay`).
package struct ReplaySource {
  /// How many records are looked through for the instrument list; recorders ask for it first.
  private static let searchLimit = 4096
  /// Bytes of a frame that are looked through for what tells a venue's protocols apart.
  private static let markLimit = 200

  package let venue: Venue
  /// `BTC-USDT`
  package let symbols: [String]
  /// The instrument list to answer with: the recorded one, or one made from the header.
  package let instruments: [UInt8]
  /// Where the venue has that list; nil if it comes in the stream.
  package let instrumentsURL: String?
  /// Recorded answers to other requests that came before the first frames (24 h volumes), by path; at most `answerLimit`.
  let answers: [String: [UInt8]]
  private static let answerLimit = 64
  /// By the market's name: recorded answers about single instruments, where the list has names only.
  private let details: [String: [UInt8]]
  private let replay: VenueReplay
  /// A message that comes first on every connection: an instrument list that is part of the stream and was not recorded. Mostly empty.
  package let preamble: [UInt8]

  /// Looks through the beginning of the recording.
  /// - Throws: what is wrong with it, or that its venue is none of those that can be replayed.
  package init(path: String) throws(RecordingError) {
    let reader = try RecordingReader(path: path)
    let header = reader.header
    guard !header.symbols.isEmpty else {
      throw RecordingError(path: path, line: 1, field: "symbols", "is empty: there is no market to replay")
    }
    let unknown = RecordingError(
      path: path, line: 1, field: "venue",
      "\(header.venue) \(header.market) cannot be replayed; what can is \(VenueRegistry.replayable)")
    guard let (known, replay) = VenueRegistry.replay(venue: header.venue, market: header.market) else { throw unknown }
    // What selections came to is found again in the recorded list, with the recorded volumes.
    // A name of the venue's own may hold a colon, too (Bitfinex).
    let selections = header.symbols.filter { MarketSelection.isMeant(by: $0) && (try? MarketSelection($0)) != nil }
    var begin = RecordedStart(market: header.market, names: header.symbols.filter { !selections.contains($0) })
    var answers: [String: [UInt8]] = [:]
    for _ in 0..<Self.searchLimit {
      guard let record = try reader.next() else { break }
      switch record.kind {
      case .open: begin.url = begin.url ?? record.url
      case .text where begin.marks.count < replay.marks.count:
        let text = String(decoding: reader.payload.unsafeBytes.prefix(Self.markLimit), as: UTF8.self)
        for mark in replay.marks where text.contains(mark) { begin.marks.insert(mark) }
      case .http:
        guard let url = record.url, record.status == 200, Self.depthSymbol(url) == nil else { break }
        let path = Self.path(of: url)
        let body = [UInt8](reader.payload.unsafeBytes)
        if let market = Self.market(path, replay) {
          begin.details[market] = body
        } else if replay.isList(path) {
          begin.list = begin.list ?? body
          // Lists of several kinds differ in their queries.
          if answers.count < Self.answerLimit { answers[path] = answers[path] ?? body }
        } else if answers.count < Self.answerLimit {
          answers[path] = body
        }
      case .text, .binary, .sent, .close, .gap: break
      }
    }
    let start: ReplayStart?
    do throws(RecordedNameError) {
      start = try replay.start(begin)
    } catch {
      throw RecordingError(path: path, line: 1, field: "symbols", error.detail)
    }
    guard let start else { throw unknown }
    self.answers = answers
    self.details = begin.details
    self.replay = replay
    let symbols = start.symbols + selections
    let venue = known.parts.isEmpty ? known : known.connections(for: FeedConfiguration(symbols: symbols))[0].venue
    self.venue = venue
    self.symbols = symbols
    instruments = start.instruments
    preamble = start.preamble
    instrumentsURL = replay.listPath(of: header.market).map { venue.restEndpoint + $0 }
  }

  /// Path and query of a URL.
  private static func path(of url: String) -> String {
    guard let host = url.firstRange(of: "://")?.upperBound, let start = url[host...].firstIndex(of: "/") else {
      return url
    }
    return String(url[start...])
  }

  /// The market that a request for the details of one is about.
  private static func market(_ path: String, _ replay: VenueReplay) -> String? {
    replay.details.flatMap { path.firstRange(of: $0) }.map { String(path[$0.upperBound...]) }
  }

  /// What a REST request for anything but an order book is answered with; nil if the recording has nothing.
  func answer(to path: String) -> [UInt8]? {
    if let known = answers[path] { return known }
    guard replay.details != nil, !replay.isList(path) else { return instruments }
    return Self.market(path, replay).flatMap { details[$0] }
  }

  /// The symbol that a REST path or URL asks the order book of; nil if it asks for something else.
  static func depthSymbol(_ path: String) -> String? { VenueRegistry.bookMarket(path) }
}
