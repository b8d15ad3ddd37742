import Bytes
import MarketData

/// Reads the files of a set one after the other as one recording. If a file does not continue from the previous one,
/// because that is missing, was cut off, or belongs to an earlier run, there is a `gap` record between them. An
/// unreadable line becomes a `gap` record, too.
package final class RecordingSequence {
  private let paths: [String]
  private var index = 0
  private var reader: RecordingReader
  private var last = Timestamp.distantPast
  /// The bytes of the files before the present one.
  private var bytesBefore = 0
  /// Whether repeated records of the present file are skipped.
  private var isContinued = false
  /// A record that was read but not returned, because a gap came before it.
  private var held: RecordingReader.Record?
  /// Files that ended in the middle of a record.
  package private(set) var cutOff: [String] = []
  /// The number of unreadable lines, which are left out.
  package private(set) var badLines = 0
  /// The mistake in the first of them.
  package private(set) var firstBadLine: RecordingError?
  /// By index of the file: how many, and the mistake in the first.
  private(set) var badLinesByFile: [Int: (count: Int, first: RecordingError)] = [:]
  /// With this many bad lines, the file is not a recording.
  private static let badLineLimit = 10_000

  private let notesRestarts: Bool

  /// - Parameter paths: at least one, in the order of time.
  /// - Throws: the mistake in the first.
  package convenience init(paths: [String]) throws(RecordingError) {
    try self.init(paths: paths, notesRestarts: false)
  }

  /// - Parameter notesRestarts: whether `restartPoint` is asked for.
  init(paths: [String], notesRestarts: Bool) throws(RecordingError) {
    precondition(!paths.isEmpty, "a sequence has a file")
    self.paths = paths
    self.notesRestarts = notesRestarts
    reader = try RecordingReader(path: paths[0], notesRestarts: notesRestarts)
  }

  /// Begins in the middle.
  /// - Parameters:
  ///   - file: an index of `paths`. The files before it are not read.
  ///   - point: a record of it.
  ///   - notesRestarts: whether `restartPoint` is asked for in the files after that one.
  init(
    paths: [String], file: Int, at point: RestartPoint, notesRestarts: Bool = false
  ) throws(RecordingError) {
    self.paths = paths
    self.notesRestarts = notesRestarts
    index = file
    reader = try RecordingReader(path: paths[file], at: point)
    isContinued = true
  }

  /// The index in `paths` of the present file.
  var fileIndex: Int { index }
  /// The point of the present file at which another sequence would begin with the last record; nil at a gap between
  /// two files, and if it is not known.
  var restartPoint: RestartPoint? { isBetweenFiles ? nil : reader.restartPoint }
  /// What the present file's reader says of itself.
  var header: RecordingHeader { reader.header }
  var isCutOff: Bool { reader.isCutOff }

  /// The header of the first file.
  package var firstPath: String { paths[0] }
  /// The present file.
  package var path: String { reader.path }
  package var lineNumber: Int { reader.lineNumber }
  /// The text of the last record; empty for a gap between files.
  package var payload: UnsafeRawBufferPointer {
    isBetween ? UnsafeRawBufferPointer(start: nil, count: 0) : reader.payload.unsafeBytes
  }
  /// Bytes of the files that were read so far.
  package var bytesRead: Int { bytesBefore + reader.bytesRead }
  private var isBetween = false
  private var isBetweenFiles = false

  /// The next record, nil at the end of the last file.
  package func next() throws(RecordingError) -> RecordingReader.Record? {
    isBetween = false
    isBetweenFiles = false
    if let record = held {
      held = nil
      return record
    }
    while true {
      while let record = try readNext() {
        if isContinued, record.isRepeated { continue }
        guard record.time >= last else { throw overlap(record.time) }
        last = record.time
        return record
      }
      if reader.isCutOff { cutOff.append(reader.path) }
      guard index + 1 < paths.count else { return nil }
      if let gap = try enterNext() { return gap }
    }
  }

  /// The next record of the present file; a gap for an unreadable line.
  private func readNext() throws(RecordingError) -> RecordingReader.Record? {
    do throws(RecordingError) {
      return try reader.next()
    } catch {
      guard error.isOfOneLine, badLines < Self.badLineLimit else { throw error }
      badLines += 1
      firstBadLine = firstBadLine ?? error
      badLinesByFile[index, default: (0, error)].count += 1
      isBetween = true
      var gap = RecordingReader.Record(kind: .gap, time: max(last, reader.time), connection: 0, url: nil, status: 0)
      gap.lost = 1
      return gap
    }
  }

  /// Opens the next file; returns the gap before it, if there is one.
  private func enterNext() throws(RecordingError) -> RecordingReader.Record? {
    let before = reader
    index += 1
    reader = try RecordingReader(path: paths[index], notesRestarts: notesRestarts)
    bytesBefore += before.bytesRead
    isContinued = Self.continues(reader.header, before.header) && !before.isCutOff
    guard !isContinued else { return nil }
    guard let first = try readNext() else { return nil }
    guard first.time >= last else { throw overlap(first.time) }
    held = first
    isBetween = true
    isBetweenFiles = true
    last = first.time
    var gap = RecordingReader.Record(kind: .gap, time: first.time, connection: first.connection, url: nil, status: 0)
    gap.lost = 1
    return gap
  }

  private func overlap(_ time: Timestamp) -> RecordingError {
    RecordingError(
      path: reader.path, line: reader.lineNumber, field: "t",
      "is \((last - time) / Microseconds.millisecond) ms before the end of \(paths[index - 1]): they overlap; replay each one alone"
    )
  }

  /// Whether a file continues where another ended.
  private static func continues(_ header: RecordingHeader, _ before: RecordingHeader) -> Bool {
    guard let part = header.part, let old = before.part else { return false }
    return part.set == old.set && part.run == old.run && part.number == old.number &+ 1
  }
}
