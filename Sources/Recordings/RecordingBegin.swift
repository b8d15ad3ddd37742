import MarketData
import Venues

/// The facts about a market in the first records of a recording: lists, answers, the protocol, names. Its memory is
/// bounded.
struct RecordingBegin {
  /// The most answers that are kept.
  private static let answerLimit = 64
  /// The most answers about single markets that are kept.
  private static let detailLimit = 1024
  /// The most bytes of all kept answers: a list has up to 4 MB.
  private static let byteLimit = 128 << 20
  /// The bytes of a frame that are searched for signs of one of the venue's protocols.
  private static let markLimit = 200

  private var start: RecordedStart
  /// Whether the header names its markets.
  private let isNamed: Bool
  private let replays: [VenueReplay]
  private let marks: [String]
  private let fields: [MarketField]
  private var frames = FrameNames()
  private var hasList = false
  private var bytes = 0
  /// Answers to requests other than for books, by path.
  private(set) var answers: [String: [UInt8]] = [:]

  /// Answers about single markets, by their name.
  var details: [String: [UInt8]] { start.details }

  /// Whether the markets must be found in the frames.
  private var needsNames: Bool { !hasList || !isNamed }

  /// - Parameters:
  ///   - isNamed: whether the header has symbols.
  ///   - replays: the possible venues of the recording.
  init(_ start: RecordedStart, isNamed: Bool, _ replays: [VenueReplay]) {
    self.start = start
    self.isNamed = isNamed
    self.replays = replays
    marks = Set(replays.flatMap { $0.marks + ($0.listMark.map { [$0] } ?? []) }).sorted()
    var fields: [MarketField] = []
    for field in replays.flatMap(\.marketFields) where !fields.contains(field) { fields.append(field) }
    self.fields = fields
  }

  mutating func note(_ record: RecordingReader.Record, _ payload: UnsafeRawBufferPointer) {
    switch record.kind {
    case .open: start.url = start.url ?? record.url
    case .text, .binary:
      if start.marks.count < marks.count {
        let text = String(decoding: payload.prefix(Self.markLimit), as: UTF8.self)
        for mark in marks where text.contains(mark) { start.marks.insert(mark) }
        hasList = hasList || replays.contains { $0.listMark.map(start.marks.contains) ?? false }
      }
      if needsNames { frames.note(payload, fields) }
    case .http:
      guard let url = record.url, record.status == 200, ReplaySource.depthSymbol(url) == nil,
        payload.count <= Self.byteLimit - bytes
      else { return }
      note(answer: payload, to: Self.path(of: url))
    case .sent, .close, .gap, .state: break
    }
  }

  private mutating func note(answer payload: UnsafeRawBufferPointer, to path: String) {
    let body = [UInt8](payload)
    bytes += body.count
    for replay in replays {
      guard let market = Self.market(path, replay) else { continue }
      if start.details.count < Self.detailLimit { start.details[market] = body }
      return
    }
    if replays.contains(where: { $0.isList(path) }) {
      start.list = start.list ?? body
      hasList = true
    }
    // Lists of several kinds differ in their queries.
    if answers.count < Self.answerLimit { answers[path] = answers[path] ?? body }
  }

  /// The found facts, for one of the possible venues.
  func start(for replay: VenueReplay) -> RecordedStart {
    var start = start
    if needsNames {
      let known = Set(start.names)
      start.names += frames.names.filter { !known.contains($0) }
    }
    return start
  }

  /// Path and query of a URL.
  private static func path(of url: String) -> String {
    guard let host = url.firstRange(of: "://")?.upperBound, let start = url[host...].firstIndex(of: "/") else {
      return url
    }
    return String(url[start...])
  }

  /// The market of a request for a market's details.
  static func market(_ path: String, _ replay: VenueReplay) -> String? {
    replay.details.flatMap { path.firstRange(of: $0) }.map { String(path[$0.upperBound...]) }
  }
}
