import Bytes
import Foundation
import MarketData

/// Copies a part of a recording to a file that can be replayed alone. It begins with what the part would lack: the
/// recorded lists, the messages that set up the connection, and the books (`RecordKind.state`).
package struct RecordingCut: Sendable {
  /// Records at the beginning of a recording in which its lists are looked for, as for a replay.
  private static let searchLimit = 4_096

  package var records = 0
  package var bytes = 0
  /// Of the first and the last copied record; nil if the window has none.
  package var first: Timestamp?
  package var last: Timestamp?
  /// What could not be done as it should.
  package var notes: [String] = []

  /// Copies the records from `window.lowerBound` on that are before `window.upperBound`.
  /// - Parameters:
  ///   - paths: the files of one connection, in the order of time.
  ///   - output: a new file.
  ///   - onProgress: is called about every 1,000 records with the time of the last one.
  /// - Throws: if the recording cannot be replayed, or the file exists or cannot be written. Then there is no file.
  package static func make(
    _ paths: [String], window: Range<Timestamp>, output: String, onProgress: (Timestamp) -> Void = { _ in }
  ) throws(RecordingError) -> RecordingCut {
    let file = try RecordingFile(path: output, mode: .new)
    do throws(RecordingError) {
      var cut = RecordingCut()
      try cut.copy(paths, window, file, onProgress)
      return cut
    } catch {
      unlink(output)
      throw error
    }
  }

  private mutating func copy(
    _ paths: [String], _ window: Range<Timestamp>, _ file: RecordingFile, _ onProgress: (Timestamp) -> Void
  ) throws(RecordingError) {
    let (entry, problems) = RecordingEntry.find(paths, before: window.lowerBound)
    notes = problems
    let replayer: Replayer
    if let entry { replayer = try Replayer(paths: paths, at: entry) } else { replayer = try Replayer(paths: paths) }
    let tracker = StateTracker(replayer, from: entry)
    var failure: RecordingError?
    while failure == nil, let record = replayer.nextRecord, record.time < window.lowerBound {
      do throws(RecordingError) { try tracker.step() } catch { failure = error }
      if replayer.recordsPlayed % 1_000 == 0 { onProgress(record.time) }
    }
    guard failure == nil, let next = replayer.nextRecord, next.time < window.upperBound else {
      throw failure
        ?? RecordingError(
          path: paths[0],
          "has no record from \(RecordingTime.text(window.lowerBound)) on that is before "
            + RecordingTime.text(window.upperBound))
    }
    var header = replayer.header
    header.part = nil
    header.started = next.time
    header.note = "cut"
    let writer = try RecordingWriter(file: file, header: header)
    try Self.writeBeginning(paths[0], tracker.frame, connection: next.connection, before: next.time, to: writer)
    while failure == nil, let record = replayer.nextRecord, record.time < window.upperBound {
      try Self.write(record, replayer.nextPayload, to: writer)
      records += 1
      first = first ?? record.time
      last = record.time
      if records % 1_000 == 0 { onProgress(record.time) }
      do throws(RecordingError) { try replayer.skip() } catch { failure = error }
    }
    if let failure { notes.append(failure.description) }
    try writer.finish()
    bytes = writer.savedBytes
  }

  /// Lists, the connection, its messages and books, at times before the first record.
  private static func writeBeginning(
    _ path: String, _ frame: KeyFrame, connection: Int, before time: Timestamp, to writer: RecordingWriter
  ) throws(RecordingError) {
    let times = frame.setUpTimes(endingAt: time)
    let start = times.first ?? time
    let reader = try RecordingReader(path: path)
    var url = ""
    for _ in 0..<searchLimit {
      guard let record = try? reader.next() else { break }
      if record.kind == .open, url.isEmpty { url = record.url ?? "" }
      guard record.kind == .http, let asked = record.url, ReplaySource.depthSymbol(asked) == nil else { continue }
      try writer.http(
        url: asked, status: record.status, body: reader.payload.unsafeBytes, at: start, isRepeated: true)
    }
    guard frame.isConnected else { return }
    try writer.open(url: url, connection: connection, at: start, isRepeated: true)
    for (message, time) in zip(frame.messages, times) {
      try message.payload.withBytes { (bytes) throws(RecordingError) in
        try writer.text(bytes, connection: connection, at: time)
      }
    }
    try writer.state(frame.record, connection: connection, at: time)
  }

  private static func write(
    _ record: RecordingReader.Record, _ payload: UnsafeRawBufferPointer, to writer: RecordingWriter
  ) throws(RecordingError) {
    let (connection, time) = (record.connection, record.time)
    switch record.kind {
    case .open: try writer.open(url: record.url ?? "", connection: connection, at: time)
    case .text: try writer.text(payload, connection: connection, at: time)
    case .binary: try writer.binary(payload, connection: connection, at: time)
    case .sent: try writer.sent(String(decoding: payload, as: UTF8.self), connection: connection, at: time)
    case .http: try writer.http(url: record.url ?? "", status: record.status, body: payload, at: time)
    case .close: try writer.close(connection: connection, at: time)
    case .gap:
      try writer.gap(
        records: record.lost, reason: String(decoding: payload, as: UTF8.self), connection: connection, at: time)
    case .state: try writer.state(String(decoding: payload, as: UTF8.self), connection: connection, at: time)
    }
  }
}

extension [UInt8] {
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) throws(RecordingError) -> Void) throws(RecordingError) {
    var failure: RecordingError?
    withUnsafeBytes { bytes in
      do throws(RecordingError) { try body(bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
