import Foundation
import MarketData
import Venues

/// An event of a feed that is recorded.
package enum RecordedEvent: Sendable {
  case open(url: String)
  case text([UInt8])
  case sent(String)
  case http(url: String, status: Int, body: [UInt8])
  case close
}

/// A change of a recording's state, for the log.
package enum RecordingEvent: Equatable {
  case began(path: String)
  /// Nothing can be written; the file holds `kept` records.
  case paused(path: String, reason: String, kept: Int)
  /// Writing continues, in this file; `lost` records are missing.
  case resumed(path: String, lost: Int)
  case deleted(path: String)
  case notDeleted(path: String, reason: String)
}

/// The files of one recorder. It begins files and deletes the oldest ones by the policy. If the disk does not accept
/// data, it pauses and tries again until it does. Used by one thread at a time; the caller passes the time.
///
/// Each file of a folder begins with a header that names the previous file. It repeats data that the venue does not
/// send again: the connection, and the answers to REST requests other than books (instrument lists). So each file can
/// be read alone; its books are in sync from its first snapshot.
package final class RecordingSet {
  /// The destination of the files.
  package enum Destination: Equatable {
    /// One file, regardless of the policy for several files.
    case file(String)
    /// A folder (its path ends in `/`); each file has the name of the set and the time of its beginning.
    case folder(String, set: String)
  }

  package typealias MakeFile = (_ path: String, _ mode: RecordingFile.Mode) throws(RecordingError) -> RecordingFile

  /// The REST answers that the next file repeats, and the sum of their bytes.
  private static let answerLimit = 256
  private static let answerBytesLimit = 32 << 20
  /// The time between attempts to write again, µs.
  private static let waits = (first: 1 * Microseconds.second, last: 30 * Microseconds.second)

  private struct Answer {
    var url: String
    var status: Int
    var body: [UInt8]
  }

  package let destination: Destination
  private let policy: RecordingPolicy
  private let template: RecordingHeader
  private let makeFile: MakeFile
  private let report: (RecordingEvent) -> Void

  private var writer: RecordingWriter?
  private(set) var path: String
  /// The counts of complete files.
  private var closedRecords = 0
  private var closedBytes = 0
  private var number = 0
  private var previous: String?
  private var partStarted: Timestamp
  private var flushedAt: Timestamp
  private var syncedAt: Timestamp
  private var lastTime = Timestamp.distantPast

  private var connection = -1
  private var openURL: String?
  private var answers: [Answer] = []

  /// Records that are missing since the last gap record, and why.
  private var missing = 0
  private var missingReason: String?
  private var lost = 0
  private(set) var pausedBy: String?
  private var retryAt = Timestamp.distantPast
  private var wait = waits.first
  /// For a file to be continued after a pause: its length up to its last whole member.
  private var resumeLength = 0
  private var failures = 0
  private var filesDeleted = 0
  /// The complete files of this recorder and of its earlier runs, oldest first. Empty if the policy does not limit
  /// them.
  private var complete: [RecordingPart] = []

  /// Makes the first file.
  /// - Parameters:
  ///   - header: the header of every file, except its time and part.
  ///   - now: UTC.
  ///   - makeFile: opens files; tests pass disks that fill up.
  /// - Throws: if the file cannot be created. If the disk does not accept the first bytes, the set is paused instead.
  package init(
    to destination: Destination, header: RecordingHeader, policy: RecordingPolicy, at now: Timestamp,
    makeFile: @escaping MakeFile = { (path, mode) throws(RecordingError) in try RecordingFile(path: path, mode: mode) },
    report: @escaping (RecordingEvent) -> Void
  ) throws(RecordingError) {
    self.destination = destination
    self.policy = policy
    self.template = header
    self.makeFile = makeFile
    self.report = report
    partStarted = now
    flushedAt = now
    syncedAt = now
    switch destination {
    case .file(let path): self.path = path
    case .folder(let folder, _): self.path = folder
    }
    if case .folder(let folder, let set) = destination, policy.keepFiles > 0 || policy.keepMegabytes > 0 {
      complete = RecordingPart.earlier(in: folder, set: set)
    }
    let file = try makeNext(at: now)
    begin(file, at: now)
  }

  package var figures: RecordingFigures {
    let name =
      switch destination {
      case .file(let path): path.split(separator: "/").last.map(String.init) ?? path
      case .folder(_, let set): set
      }
    return RecordingFigures(
      set: name, path: path, records: closedRecords + (writer?.savedRecords ?? 0),
      bytes: closedBytes + (writer?.savedBytes ?? resumeLength), files: number, filesDeleted: filesDeleted, lost: lost,
      failures: failures, pausedBy: pausedBy)
  }

  // MARK: What comes

  /// Writes an event, or counts it if it cannot be written.
  package func record(_ event: RecordedEvent, at time: Timestamp) {
    note(event)
    guard let writer else { return lose(1, nil) }
    attempt(at: time) { () throws(RecordingError) in
      try writeGap(to: writer, at: time)
      let number = max(0, connection)
      switch event {
      case .open(let url): try writer.open(url: url, connection: number, at: time)
      case .text(let bytes):
        try Self.withBytes(bytes) { (bytes) throws(RecordingError) in
          try writer.text(bytes, connection: number, at: time)
        }
      case .sent(let text): try writer.sent(text, connection: number, at: time)
      case .http(let url, let status, let body):
        try Self.withBytes(body) { (bytes) throws(RecordingError) in
          try writer.http(url: url, status: status, body: bytes, at: time)
        }
      case .close: try writer.close(connection: number, at: time)
      }
    }
    if self.writer != nil, policy.rotateMegabytes > 0, writer.savedBytes >= policy.rotateMegabytes * 1_000_000 {
      rotate(at: time)
    }
  }

  /// Counts records that could not be recorded, with the reason.
  package func lose(_ records: Int, _ reason: String?) {
    missing += records
    lost += records
    if let reason { missingReason = reason }
  }

  /// Flushes, synchronises, rotates and resumes when due; call it about once a second.
  package func tick(at now: Timestamp) {
    guard let writer else {
      if now >= retryAt { resume(at: now) }
      return
    }
    let isOld = policy.rotateSeconds > 0 && now - partStarted >= Int64(policy.rotateSeconds) * Microseconds.second
    if isOld, case .folder = destination { return rotate(at: now) }
    // If the clock was set back, nothing must wait for hours.
    if case .seconds(let seconds) = policy.sync,
      now < syncedAt || now - syncedAt >= Int64(seconds) * Microseconds.second
    {
      syncedAt = now
      flushedAt = now
      return attempt(at: now) { () throws(RecordingError) in
        try writeGap(to: writer, at: now)
        try writer.synchronize()
      }
    }
    if now < flushedAt || now - flushedAt >= Int64(policy.flushSeconds) * Microseconds.second {
      flushedAt = now
      attempt(at: now) { () throws(RecordingError) in
        try writeGap(to: writer, at: now)
        try writer.flush()
      }
      prune()
    }
  }

  /// Writes the remaining records and closes the file.
  package func finish(at now: Timestamp) {
    guard let writer else { return }
    attempt(at: now) { () throws(RecordingError) in
      try writeGap(to: writer, at: now)
      try finish(writer)
    }
    if self.writer != nil { close(writer) }
  }

  // MARK: Files

  private func makeNext(at now: Timestamp) throws(RecordingError) -> RecordingFile {
    switch destination {
    case .file(let path):
      return try makeFile(path, number == 0 ? .replace : .append(at: resumeLength))
    case .folder(let folder, let set):
      return try makeFile(RecordingPart.unusedPath(in: folder, set: set, at: now), .new)
    }
  }

  /// Writes the beginning of a file, to check that the disk accepts it.
  private func begin(_ file: RecordingFile, at now: Timestamp) {
    let wasPausedBy = pausedBy
    let before = (previous: previous, complete: complete, records: closedRecords, bytes: closedBytes)
    path = file.path
    partStarted = now
    flushedAt = now
    syncedAt = now
    attempt(at: now) { () throws(RecordingError) in
      let isContinued = resumeLength > 0
      let writer = try RecordingWriter(
        file: file, header: isContinued ? nil : header(at: now), length: resumeLength, after: lastTime)
      self.writer = writer
      if case .folder = destination, number > 0 { try repeatState(to: writer, at: now) }
      try writeGap(to: writer, at: now)
      try writer.flush()
      overhead = 0
    }
    guard writer != nil else {
      if case .folder = destination {
        // This file is new (`O_EXCL`), and all of its content is also elsewhere.
        unlink(file.path)
        (previous, complete, closedRecords, closedBytes) = before
      }
      return
    }
    if case .folder(let folder, _) = destination, policy.sync != .none { RecordingFile.synchronize(folder: folder) }
    wait = Self.waits.first
    pausedBy = nil
    if wasPausedBy != nil {
      report(.resumed(path: path, lost: lastGap))
      if resumeLength > 0 { return }
    } else {
      report(.began(path: path))
    }
    number += 1
    prune()
  }

  private func header(at now: Timestamp) -> RecordingHeader {
    var header = template
    if number > 0 { header.started = now }
    if case .folder(_, let set) = destination {
      header.part = .init(set: set, run: template.started.microseconds, number: number + 1, follows: previous)
    }
    return header
  }

  private func repeatState(to writer: RecordingWriter, at now: Timestamp) throws(RecordingError) {
    overhead += answers.count + (openURL == nil ? 0 : 1)
    for answer in answers {
      try Self.withBytes(answer.body) { (bytes) throws(RecordingError) in
        try writer.http(url: answer.url, status: answer.status, body: bytes, at: now, isRepeated: true)
      }
    }
    if let openURL { try writer.open(url: openURL, connection: max(0, connection), at: now, isRepeated: true) }
  }

  private func rotate(at now: Timestamp) {
    guard case .folder = destination, let writer else { return }
    attempt(at: now) { () throws(RecordingError) in
      try writeGap(to: writer, at: now)
      try finish(writer)
    }
    guard self.writer != nil else { return }
    close(writer)
    do throws(RecordingError) {
      begin(try makeNext(at: now), at: now)
    } catch {
      pause(error, at: now, kept: 0, taken: 0)
    }
  }

  private func finish(_ writer: RecordingWriter) throws(RecordingError) {
    if policy.sync != .none { try writer.synchronize() }
    try writer.finish()
  }

  /// The file is finished, whole or cut back.
  private func close(_ writer: RecordingWriter) {
    self.writer = nil
    lastTime = max(lastTime, writer.lastTime)
    closedRecords += writer.savedRecords
    guard case .folder = destination, writer.savedBytes > 0 else {
      resumeLength = writer.savedBytes
      return
    }
    closedBytes += writer.savedBytes
    previous = writer.path.split(separator: "/").last.map(String.init)
    if policy.keepFiles > 0 || policy.keepMegabytes > 0 {
      complete.append(RecordingPart(path: writer.path, bytes: writer.savedBytes, started: partStarted, number: number))
    }
  }

  // MARK: Failures

  /// The number in the last gap record.
  private var lastGap = 0
  /// The number of records in memory that are not new events: repeated ones and gaps.
  private var overhead = 0

  private func writeGap(to writer: RecordingWriter, at now: Timestamp) throws(RecordingError) {
    guard missing > 0 || missingReason != nil else { return }
    overhead += 1
    try writer.gap(
      records: missing, reason: missingReason ?? "not written", connection: max(0, connection), at: now)
    // Written before the counts are reset, so that a crash does not lose the gap.
    try writer.flush()
    overhead = 0
    lastGap = missing
    missing = 0
    missingReason = nil
  }

  private func attempt(at now: Timestamp, _ body: () throws(RecordingError) -> Void) {
    do throws(RecordingError) {
      try body()
    } catch {
      let writer = writer
      let (kept, taken) = (writer?.savedRecords ?? 0, writer?.records ?? 0)
      if let writer { close(writer) }
      pause(error, at: now, kept: kept, taken: taken)
    }
  }

  private func pause(_ error: RecordingError, at now: Timestamp, kept: Int, taken: Int) {
    failures += 1
    lose(max(0, taken - kept - overhead), error.reason)
    overhead = 0
    retryAt = now + wait
    wait = min(2 * wait, Self.waits.last)
    if pausedBy == nil { report(.paused(path: path, reason: error.reason, kept: kept)) }
    pausedBy = error.reason
  }

  private func resume(at now: Timestamp) {
    do throws(RecordingError) {
      begin(try makeNext(at: now), at: now)
    } catch {
      pause(error, at: now, kept: 0, taken: 0)
    }
  }

  // MARK: State that files repeat

  private func note(_ event: RecordedEvent) {
    switch event {
    case .open(let url):
      connection += 1
      openURL = url
    case .close: openURL = nil
    case .http(let url, let status, let body):
      guard case .folder = destination, status == 200, ReplaySource.depthSymbol(url) == nil else { return }
      answers.removeAll { $0.url == url }
      answers.append(Answer(url: url, status: status, body: body))
      while answers.count > Self.answerLimit || answers.reduce(0, { $0 + $1.body.count }) > Self.answerBytesLimit {
        answers.removeFirst()
      }
    case .text, .sent: break
    }
  }

  // MARK: Old files

  /// Deletes the oldest complete files while there are too many.
  private func prune() {
    func isTooMuch() -> Bool {
      if policy.keepFiles > 0, complete.count + (writer == nil ? 0 : 1) > policy.keepFiles { return true }
      return policy.keepMegabytes > 0
        && complete.reduce(0) { $0 + $1.bytes } > policy.keepMegabytes * 1_000_000
    }
    while !complete.isEmpty, isTooMuch() {
      let oldest = complete.removeFirst()
      unlink(RecordingIndex.path(of: oldest.path))
      if unlink(oldest.path) == 0 {
        filesDeleted += 1
        report(.deleted(path: oldest.path))
      } else if errno != ENOENT {
        report(.notDeleted(path: oldest.path, reason: RecordingFile.reason(errno)))
      }
    }
  }

  private static func withBytes(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(RecordingError) -> Void
  ) throws(RecordingError) {
    var failure: RecordingError?
    bytes.withUnsafeBytes { pointer in
      do throws(RecordingError) { try body(pointer) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
