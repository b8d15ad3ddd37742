import Bytes
import MarketData
import Venues

/// Plays a recording through a `FeedPipeline` as if the venue sent it: connections, frames, and the answers to the
/// dialect's REST requests, all at the times of the records.
///
/// `run` plays the whole recording as fast as possible. To play it at the recorded speed, read the time of the next
/// record from `nextTime`, and call `step` at that time. The pipeline's changes are published after each step.
///
/// A request is answered with a record of the same symbol at its time or later, never with an earlier one, except one
/// before the first frame of its connection. After missing records, all books are out of sync until their next
/// snapshot.
package final class Replayer {
  /// Time between two `tick`s of the engine, in record time.
  private static let tickInterval = 250 * Microseconds.millisecond
  /// A longer pause in the recording is skipped without ticks.
  private static let longestIdle = 10 * Microseconds.minute

  package let pipeline: FeedPipeline
  package let venue: Venue
  private let reader: RecordingSequence
  private let source: ReplaySource
  /// The state of the books when the recording closes their connection.
  private var symbolsAtClose: [ReplayResult.Symbol]?
  /// The reason why the rest could not be read; nil if there is none.
  private var stoppedBy: RecordingError?
  private var upcoming: RecordingReader.Record?
  private var tally: ReplayTally
  private var nextTick: Timestamp?
  private(set) var isConnected = false
  /// The newest recorded answer of each symbol, and requests that wait for the first.
  private var snapshots: [String: (status: Int, body: [UInt8])] = [:]
  private var snapshotBytes = 0
  /// The most bytes of kept answers: a book has up to 1 MB.
  private static let snapshotLimit = 256 << 20
  private var waiting: [String: [Int]] = [:]

  /// - Throws: a mistake in the recording, or that its venue cannot be replayed.
  package convenience init(path: String) throws(RecordingError) { try self.init(paths: [path]) }

  /// - Parameter paths: at least one: the files of a set in the order of time.
  package convenience init(paths: [String]) throws(RecordingError) { try self.init(paths: paths, notesRestarts: false) }

  /// - Parameter notesRestarts: whether `restartPoint` is asked for.
  convenience init(paths: [String], notesRestarts: Bool) throws(RecordingError) {
    try self.init(try ReplaySource(path: paths[0]), try RecordingSequence(paths: paths, notesRestarts: notesRestarts))
  }

  /// Begins in the middle.
  /// - Parameter notesRestarts: whether `restartPoint` is asked for in the files after the entry's.
  /// - Throws: also if the entry does not fit the recording.
  convenience init(
    paths: [String], at entry: RecordingEntry, notesRestarts: Bool = false
  ) throws(RecordingError) {
    let reader = try RecordingSequence(
      paths: paths, file: entry.file, at: entry.restart, notesRestarts: notesRestarts)
    try self.init(try ReplaySource(path: paths[0]), reader)
    guard upcoming?.time == entry.time else { throw entry.failure(paths, "names another record") }
    guard entry.frame.isConnected else { return }
    guard restore(entry.frame, at: entry.time) else { throw entry.failure(paths, "has books that do not fit") }
  }

  private init(_ source: ReplaySource, _ reader: RecordingSequence) throws(RecordingError) {
    self.source = source
    self.reader = reader
    self.venue = source.venue
    var configuration = FeedConfiguration(symbols: source.symbols)
    // A recording has no answers to what a replay asks for.
    configuration.findsTrades = false
    self.pipeline = FeedPipeline(venue: source.venue, configuration: configuration)
    self.tally = ReplayTally()
    tally.skipped = source.skipped
    self.upcoming = try reader.next()
  }

  /// Names of the recording that are not replayed, with the reason.
  package var skipped: [String: String] { source.skipped }

  /// When the next record is due; nil at the end.
  package var nextTime: Timestamp? { upcoming?.time }

  /// The next record, and its text; the index looks at both.
  var nextRecord: RecordingReader.Record? { upcoming }
  var nextPayload: UnsafeRawBufferPointer { reader.payload }
  var restartPoint: RestartPoint? { reader.restartPoint }
  /// The file of the next record.
  var fileIndex: Int { reader.fileIndex }
  var header: RecordingHeader { reader.header }
  var cutOff: [String] { reader.cutOff }
  var badLinesByFile: [Int: (count: Int, first: RecordingError)] { reader.badLinesByFile }

  /// Goes on to the next record without playing this one.
  func skip() throws(RecordingError) { upcoming = try reader.next() }

  /// Counts from here on; what was played before only built the books.
  func beginCounting() {
    tally = ReplayTally()
    tally.skipped = source.skipped
    tally.before = pipeline.symbolCounts
    tally.badLinesBefore = reader.badLines
    tally.checksumsBefore = pipeline.market.instruments.map(\.checksumsOK)
  }

  /// The number of played records, for progress.
  package var recordsPlayed: Int { tally.recordCount }

  /// The bytes of the played records.
  package private(set) var bytesPlayed = 0

  /// The bytes of the files that have been read, which is up to a block ahead of the played records.
  package var fileBytesRead: Int { reader.bytesRead }

  /// Plays the next record as if it arrived at `moment`, or at the recorded time. Returns false at the end. Moments
  /// never decrease. The pipeline's `changes` grow until its `clear()`.
  /// - Throws: the reason why the record after this one cannot be read. This one has been played and is the last.
  @discardableResult
  package func step(at moment: Timestamp? = nil) throws(RecordingError) -> Bool {
    guard let record = upcoming else { return false }
    let now = moment ?? record.time
    let start = pipeline.changes.items.count
    advance(to: now)
    tally.note(record, bytes: reader.payload.count)
    if record.kind == .gap { tally.lost += record.lost }
    bytesPlayed += reader.payload.count
    switch record.kind {
    case .open: connect(now)
    // Some venues send their text in binary frames. Compressed data is not text, and is refused as such.
    case .text, .binary:
      symbolsAtClose = nil
      connect(now)
      pipeline.receive(reader.payload.bytes, now: now)
      carryOut(now)
    case .sent: break
    case .http: answer(record, now)
    case .close:
      if isConnected {
        symbolsAtClose = symbols(tally)
        pipeline.disconnected(now: now)
      }
      isConnected = false
      forgetAnswers()
      carryOut(now)
    case .state:
      // Books that do not fit are as if they were missing.
      if !isConnected || !restoreState(now) { pipeline.lostTrack(now: now) }
      carryOut(now)
    case .gap:
      guard record.lost > 0 else { break }
      forgetAnswers()
      pipeline.lostTrack(now: now)
      carryOut(now)
    }
    if pipeline.changes.items.count > start { tally.note(pipeline.changes, from: start, market: pipeline.market) }
    upcoming = nil
    do throws(RecordingError) {
      upcoming = try reader.next()
    } catch {
      stoppedBy = error
      throw error
    }
    return true
  }

  /// Plays all remaining records. Calls `onProgress` about every 10,000 records with the number of played ones.
  package func run(onProgress: (Int) -> Void = { _ in }) throws(RecordingError) -> ReplayResult {
    let clock = ReplayClock()
    while try step() {
      pipeline.clear()
      if tally.recordCount % 10_000 == 0 { onProgress(tally.recordCount) }
    }
    return result(clock)
  }

  /// The result so far.
  package func result(_ clock: ReplayClock) -> ReplayResult {
    var result = ReplayResult(
      path: reader.firstPath, tally: tally, symbols: symbolsAtClose ?? symbols(tally),
      wallSeconds: clock.wallSeconds, cpuSeconds: clock.cpuSeconds)
    result.isClosedAtEnd = symbolsAtClose != nil
    result.cutOff = reader.cutOff
    result.badLines = reader.badLines - tally.badLinesBefore
    result.lostRecords -= result.badLines
    result.firstBadLine = result.badLines > 0 ? reader.firstBadLine : nil
    result.stoppedBy = stoppedBy
    result.ignoredMessages = pipeline.counts.ignored
    result.leftOutLevels = pipeline.counts.rejectedLevels
    result.unreadable = pipeline.errors.counts.compactMap { kind, count in
      // A request without a recorded answer is not a refusal by the venue.
      let own = kind == .answer ? count - tally.unanswered : count
      return own > 0 ? (kind, own) : nil
    }
    for entry in pipeline.errors.entries where entry.kind != .answer || tally.unanswered == 0 {
      guard result.unreadableExamples.count < ReplayResult.exampleLimit else { break }
      let example = "\(entry.kind.rawValue): \(entry.detail)"
      if !result.unreadableExamples.contains(example) { result.unreadableExamples.append(example) }
    }
    return result
  }

  private func symbols(_ tally: ReplayTally) -> [ReplayResult.Symbol] {
    let counts = pipeline.symbolCounts
    return pipeline.market.instruments.map { state in
      let index = state.instrument.id.index
      var own = index < counts.count ? counts[index] : SymbolCounts()
      if index < tally.before.count { own.subtract(tally.before[index]) }
      return ReplayResult.Symbol(state, own, tally)
    }
    .sorted { $0.name < $1.name }
  }

  // MARK: Steps

  /// The answers so far are older than every later request.
  private func forgetAnswers() {
    snapshots.removeAll()
    snapshotBytes = 0
    waiting.removeAll()
  }

  private func advance(to time: Timestamp) {
    var due = nextTick ?? time
    if time - due > Self.longestIdle { due = time }
    while due <= time {
      if isConnected {
        pipeline.tick(now: due)
        carryOut(due)
      }
      due = due + Self.tickInterval
    }
    nextTick = due
    if pipeline.market.nextDeadline <= time { pipeline.advance(now: time) }
  }

  /// Brings a pipeline that has read nothing to a state of another one. False if that does not fit.
  private func restore(_ frame: KeyFrame, at now: Timestamp) -> Bool {
    let times = frame.setUpTimes(endingAt: now)
    connect(times.first ?? now)
    for (message, time) in zip(frame.messages, times) {
      advance(to: time)
      pipeline.receive(message.payload.span.bytes, now: time)
      carryOut(time)
    }
    advance(to: now)
    guard pipeline.restore(frame.books, lost: frame.lost, now: now) else { return false }
    carryOut(now)
    return true
  }

  /// Takes the books of a `state` record, in place of the messages that were cut off before it.
  private func restoreState(_ now: Timestamp) -> Bool {
    guard let frame = KeyFrame(record: reader.payload) else { return false }
    return pipeline.restore(frame.books, lost: frame.lost, now: now)
  }

  private func connect(_ now: Timestamp) {
    guard !isConnected else { return }
    pipeline.prepare(now: now)
    carryOut(now)
    isConnected = true
    pipeline.connected(now: now)
    carryOut(now)
    let preamble = source.preamble
    guard !preamble.isEmpty else { return }
    pipeline.receive(preamble.span.bytes, now: now)
    carryOut(now)
  }

  private func carryOut(_ now: Timestamp) {
    while true {
      let actions = pipeline.takeActions()
      if actions.isEmpty { return }
      for action in actions {
        switch action {
        case .get(let request, let path, _): get(request, path, now)
        case .symbolFailed(let symbol, let reason): tally.failed[symbol] = reason
        // The recording determines the sent requests and the connections; a replay cannot change them.
        case .send, .reconnect, .renew, .symbolAccepted, .maintenance: break
        }
      }
    }
  }

  private func get(_ request: Int, _ path: String, _ now: Timestamp) {
    guard let symbol = ReplaySource.depthSymbol(path) else {
      let body = source.answer(to: path)
      if body == nil { tally.unanswered += 1 }
      let bytes = body ?? []
      return pipeline.response(to: request, status: body == nil ? 404 : 200, body: bytes.span.bytes, now: now)
    }
    if let known = snapshots[symbol] {
      pipeline.response(to: request, status: known.status, body: known.body.span.bytes, now: now)
    } else {
      waiting[symbol, default: []].append(request)
    }
  }

  private func answer(_ record: RecordingReader.Record, _ now: Timestamp) {
    guard let symbol = record.url.flatMap(ReplaySource.depthSymbol) else { return }
    let body = [UInt8](reader.payload)
    snapshotBytes -= snapshots.removeValue(forKey: symbol)?.body.count ?? 0
    if snapshotBytes + body.count <= Self.snapshotLimit {
      snapshotBytes += body.count
      snapshots[symbol] = (record.status, body)
    }
    for request in waiting.removeValue(forKey: symbol) ?? [] {
      pipeline.response(to: request, status: record.status, body: body.span.bytes, now: now)
      carryOut(now)
    }
  }
}
