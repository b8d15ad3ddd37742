import Foundation
import MarketData
import Venues

/// Makes the indexes of a recording, or of the files of a set, by playing them: the books at the beginning of a file
/// are those at the end of the file before.
///
/// Memory: that of a replay, and of one key frame. An index takes at most about half as much of the disk as its
/// recording, because a key frame waits until twice its size of the recording has passed.
package final class RecordingIndexer {
  /// A key frame is due after this many records, or after so long if the market is quiet.
  package static let recordSpacing = 10_000
  private static let timeSpacing = Microseconds.minute
  /// Fewer are played sooner than a key frame is read.
  private static let leastRecords = 500

  package struct Indexed: Sendable {
    package var path: String
    package var contents: RecordingContents
    /// Points at which a replay can begin.
    package var points: Int
    /// Of the index.
    package var bytes: Int
    /// CRC-32 of the recording.
    package var checksum: UInt32
  }

  /// How far indexing is.
  package struct Progress: Sendable {
    package var path: String
    package var records: Int
    package var bytesRead: Int
  }

  private let paths: [String]
  private let recordSpacing: Int
  private let tracker: StateTracker
  private let writes: Bool
  private var file: IndexFile
  /// What the files before the present one had.
  private var rejected = 0
  private var counted: [String: RecordingContents.Symbol] = [:]

  /// - Parameters:
  ///   - paths: at least one: the files of a set in the order of time.
  ///   - recordSpacing: records between key frames.
  ///   - writes: whether the indexes are stored; if not, the recordings are only looked through.
  /// - Throws: a mistake in the first, or that it cannot be replayed.
  package init(
    paths: [String], recordSpacing: Int = recordSpacing, writes: Bool = true
  ) throws(RecordingError) {
    self.paths = paths
    self.recordSpacing = recordSpacing
    self.writes = writes
    tracker = StateTracker(try Replayer(paths: paths, notesRestarts: true))
    file = try IndexFile(of: paths[0], header: tracker.replayer.header, writes: writes)
  }

  /// Indexes one file with `advance`.
  /// - Parameter before: the file of the set before it, from whose last key frame the books come; nil: none. Without a
  ///   usable index, the books come from the file itself.
  package init(
    of path: String, after before: String?, recordSpacing: Int = recordSpacing
  ) throws(RecordingError) {
    self.recordSpacing = recordSpacing
    writes = true
    let entry = before.flatMap { RecordingEntry.find([$0], before: .distantFuture).entry }
    if let before, let entry, let replayer = try? Replayer(paths: [before, path], at: entry, notesRestarts: true) {
      paths = [before, path]
      tracker = StateTracker(replayer, from: entry)
    } else {
      paths = [path]
      tracker = StateTracker(try Replayer(paths: paths, notesRestarts: true))
    }
    index = paths.count - 1
    file = try IndexFile(of: path, header: try RecordingReader(path: path).header, writes: true)
  }

  private var replayer: Replayer { tracker.replayer }
  /// The file that is being indexed, among `paths`, and what ended it before its end.
  private var index = 0
  private var stopped: RecordingError?
  private var hasBegun = false

  /// Plays at most so many records more of the file of `init(of:after:)`.
  /// - Returns: the index, when it has been written; nil if there is more to do.
  /// - Throws: if the index cannot be written, or the file has changed.
  package func advance(records: Int) throws(RecordingError) -> Indexed? {
    var left = records
    while left > 0, stopped == nil, let record = replayer.nextRecord {
      left -= 1
      if replayer.fileIndex < index {
        // A mistake in the file before it ends that one only.
        do throws(RecordingError) { try tracker.step() } catch { break }
        continue
      }
      if !hasBegun { beginCounting() }
      try take(record)
    }
    if left > 0 || stopped != nil || replayer.nextRecord == nil { return try finish(stopped) }
    return nil
  }

  /// All records played so far belong to the file before.
  private func beginCounting() {
    hasBegun = true
    tracker.messages.isStored = false
    rejected = replayer.pipeline.engine.counts.rejected
    for symbol in symbolCounts() { counted[symbol.name] = symbol }
  }

  private func take(_ record: RecordingReader.Record) throws(RecordingError) {
    try takePoint(record)
    file.contents.note(record, bytes: replayer.nextPayload.count)
    do throws(RecordingError) { try tracker.step() } catch { stopped = error }
  }

  /// Writes the indexes, one beside each file. Calls `onProgress` about every 1,000 records.
  /// - Throws: if a file cannot be read at all, or an index cannot be written.
  package func run(onProgress: (Progress) -> Void = { _ in }) throws(RecordingError) -> [Indexed] {
    var done: [Indexed] = []
    var records = 0
    while stopped == nil, let record = replayer.nextRecord {
      while index < replayer.fileIndex {
        done.append(try finish(nil))
        index += 1
        file = try IndexFile(of: paths[index], header: replayer.header, writes: writes)
        tracker.messages.isStored = false
      }
      try take(record)
      records += 1
      if records % 1_000 == 0 {
        onProgress(Progress(path: paths[index], records: records, bytesRead: replayer.fileBytesRead))
      }
    }
    done.append(try finish(stopped))
    guard index + 1 < paths.count else { return done }
    // A file that cannot be read to its end, or files without records after this one.
    let rest = try RecordingIndexer(paths: Array(paths[(index + 1)...]), recordSpacing: recordSpacing, writes: writes)
    return done + (try rest.run(onProgress: onProgress))
  }

  // MARK: Points

  private func takePoint(_ record: RecordingReader.Record) throws(RecordingError) {
    guard isDue(record), let restart = replayer.restartPoint else { return }
    try file.add(
      RecordingIndexEntry(time: record.time, restart: restart), tracker.frame, messages: &tracker.messages)
  }

  private func isDue(_ record: RecordingReader.Record) -> Bool {
    guard let last = file.lastPlace else { return true }
    let records = file.contents.records - file.lastRecords
    let spacing = recordSpacing << file.doublings
    guard
      records >= spacing
        || records >= Self.leastRecords << file.doublings
          && record.time - last.time >= Self.timeSpacing << Int64(file.doublings)
    else { return false }
    guard file.contents.messageBytes - file.lastBytes >= file.leastBytes else { return false }
    // A book that waits for a snapshot may join messages that a key frame does not have.
    let isSettled = !replayer.pipeline.market.instruments.contains {
      if case .syncing = $0.bookState { !$0.isCrossedForNow } else { false }
    }
    return isSettled || records >= 2 * spacing
  }

  private func finish(_ stopped: RecordingError?) throws(RecordingError) -> Indexed {
    file.contents.isCutOff = replayer.cutOff.contains(file.path)
    if let bad = paths.firstIndex(of: file.path).flatMap({ replayer.badLinesByFile[$0] }) {
      file.contents.badLines = bad.count
      file.contents.firstBadLine = bad.first.shortDescription
    }
    if let stopped, stopped.path == file.path { file.contents.stoppedBy = stopped.shortDescription }
    file.contents.rejected = replayer.pipeline.engine.counts.rejected - rejected
    rejected += file.contents.rejected
    for symbol in symbolCounts() {
      file.contents.symbols.append(symbol.since(counted[symbol.name]))
      counted[symbol.name] = symbol
    }
    file.contents.symbols.sort { $0.name < $1.name }
    return try file.finish()
  }

  /// The counts of each symbol since the beginning.
  private func symbolCounts() -> [RecordingContents.Symbol] {
    let counts = replayer.pipeline.symbolCounts
    var symbols: [RecordingContents.Symbol] = []
    for state in replayer.pipeline.market.instruments.prefix(RecordingIndex.symbolLimit) {
      let index = state.instrument.id.index
      guard counts.indices.contains(index) else { continue }
      var symbol = RecordingContents.Symbol(name: state.instrument.venueSymbol)
      symbol.deltas = counts[index].deltas
      symbol.snapshots = counts[index].snapshots
      symbol.trades = counts[index].trades
      symbol.gaps = counts[index].gaps
      symbol.checksums = state.checksumsOK
      symbol.mismatches = tracker.mismatches[index] ?? 0
      symbols.append(symbol)
    }
    return symbols
  }
}

extension RecordingContents.Symbol {
  fileprivate func since(_ before: Self?) -> Self {
    guard let before else { return self }
    var symbol = self
    symbol.deltas -= before.deltas
    symbol.snapshots -= before.snapshots
    symbol.trades -= before.trades
    symbol.gaps -= before.gaps
    symbol.checksums -= before.checksums
    symbol.mismatches -= before.mismatches
    return symbol
  }
}

/// A record before which a replay can begin.
struct RecordingIndexEntry {
  var time: Timestamp
  var restart: RestartPoint
}

/// An index while it is made: a file beside the one that it will replace, so that nobody reads half of it.
final class IndexFile {
  let path: String
  var contents: RecordingContents
  private let identity: RecordingIndex.Identity
  /// Nil if nothing is stored.
  private let file: RecordingFile?
  private let temporary: String
  private var offset = 0
  private var points: [RecordingIndex.Point] = []
  private var messageBlobs: [IndexBlob] = []
  /// Messages shrink to about an eighth in a recording.
  private static let bytesPerByte = 16
  private(set) var lastPlace: RecordingIndexEntry?
  private(set) var lastRecords = 0
  /// Bytes of messages that have to pass before the next key frame, and those before the last one.
  private(set) var leastBytes = 0
  private(set) var lastBytes = 0
  /// How often the distance of points was doubled.
  private(set) var doublings = 0
  private var isFinished = false

  init(of recording: String, header: RecordingHeader, writes: Bool) throws(RecordingError) {
    path = recording
    contents = RecordingContents(
      venue: String(header.venue.prefix(256)), market: String(header.market.prefix(256)))
    identity = try RecordingIndex.Identity(of: recording)
    temporary = "\(RecordingIndex.path(of: recording)).\(getpid())"
    file = writes ? try RecordingFile(path: temporary) : nil
    try write(RecordingIndex.magic)
  }

  deinit { if !isFinished, file != nil { unlink(temporary) } }

  func add(
    _ entry: RecordingIndexEntry, _ frame: KeyFrame, messages: inout ConnectionMessages
  ) throws(RecordingError) {
    let raw = frame.encode()
    guard raw.count <= IndexBlob.limit else { return }
    if !messages.isStored {
      messages.isStored = true
      messages.stored = 0
      messages.firstBlob = messageBlobs.count
    }
    if messages.stored < messages.list.count, messageBlobs.count < 2 * RecordingIndex.pointLimit {
      messageBlobs.append(try store(KeyFrame.encode(messages.list[messages.stored...])))
      messages.stored = messages.list.count
    }
    let window = entry.restart.window.isEmpty ? nil : try store(entry.restart.window)
    let blob = try store(raw)
    leastBytes = Self.bytesPerByte * (blob.count + (window?.count ?? 0))
    lastBytes = contents.messageBytes
    var restart = entry.restart
    restart.window = []
    points.append(
      RecordingIndex.Point(
        time: entry.time, records: contents.records, restart: restart, window: window, frame: blob,
        messages: messages.firstBlob..<messageBlobs.count))
    lastPlace = entry
    lastRecords = contents.records
    guard points.count == RecordingIndex.pointLimit else { return }
    points = points.indices.filter { $0 % 2 == 0 }.map { points[$0] }
    doublings += 1
  }

  private func store(_ raw: [UInt8]) throws(RecordingError) -> IndexBlob {
    let packed = IndexBlob.pack(raw)
    let blob = IndexBlob(
      offset: offset, count: packed.count, rawCount: raw.count, checksum: IndexBlob.checksum(packed))
    try write(packed)
    return blob
  }

  private func write(_ bytes: [UInt8]) throws(RecordingError) {
    offset += bytes.count
    guard let file else { return }
    var failure: RecordingError?
    bytes.withUnsafeBytes {
      do throws(RecordingError) { try file.append($0) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Completes the file and puts it in its place.
  func finish() throws(RecordingError) -> RecordingIndexer.Indexed {
    let checksum = try RecordingIndex.Identity.checksum(of: path)
    let present = try RecordingIndex.Identity(of: path)
    guard file == nil || present == identity else {
      throw RecordingError(path: path, "has changed while it was read: it is still being recorded; index it later")
    }
    contents.firstBadLine = contents.firstBadLine.map { String($0.prefix(1_000)) }
    contents.stoppedBy = contents.stoppedBy.map { String($0.prefix(1_000)) }
    let index = RecordingIndex(
      path: path, identity: identity, checksum: checksum, contents: contents, messageBlobs: messageBlobs, points: points
    )
    try write(index.end(at: offset))
    if let file {
      try file.close()
      let final = RecordingIndex.path(of: path)
      guard rename(temporary, final) == 0 else {
        throw RecordingError(path: final, "cannot be written: \(RecordingFile.reason(errno))")
      }
      isFinished = true
    }
    return RecordingIndexer.Indexed(
      path: path, contents: contents, points: points.count, bytes: offset, checksum: checksum)
  }
}
