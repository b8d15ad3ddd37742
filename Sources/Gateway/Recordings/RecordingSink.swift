import Dispatch
import Logging
import MarketData
import Synchronization
import Transport
import Venues

/// Records one feed: takes what its session saw on the loop, writes it on a queue of its own, so that a slow disk never stops
/// the loop. What waits for the disk is bounded.
///
/// A disk that is full or fails, or that is too slow for the bound, costs the recording and nothing else: it ends there, one line
/// in the log says why and how many records the file holds, and the file reads to its end. The feed and its clients go on.
/// Nothing is recorded again before the next start.
package final class RecordingSink: FeedRecorder, Sendable {
  /// Bytes that may wait for the disk.
  private static let pendingLimit = 64 << 20

  private struct State: ~Copyable {
    var writer: RecordingWriter?
    var connection = -1
  }

  package let path: String
  private let queue = DispatchQueue(label: "tidegate.recording")
  private let pending = Atomic<Int>(0)
  private let hasEnded = Atomic<Bool>(false)
  private let written = Atomic<Int>(0)
  private let state: Mutex<State>
  private let log: Logger

  /// Records taken so far; after an error, those that the file holds.
  package var records: Int { written.load(ordering: .relaxed) }
  /// Whether nothing more is recorded.
  package var isEnded: Bool { hasEnded.load(ordering: .relaxed) }

  /// Makes the file. - Throws: `RecordingError` with the path and the reason.
  package convenience init(
    path: String, venue: Venue, configuration: FeedConfiguration, log: Logger
  ) throws(RecordingError) {
    try self.init(file: try RecordingFile(path: path), venue: venue, configuration: configuration, log: log)
  }

  init(
    file: sending RecordingFile, venue: Venue, configuration: FeedConfiguration, log: Logger
  ) throws(RecordingError) {
    self.path = file.path
    self.log = log
    let header = RecordingHeader(
      venue: venue.name, market: venue.marketName, symbols: configuration.symbols.map(venue.recordedName), channels: [],
      started: Timestamp(microseconds: SystemKernel.shared.wallMicroseconds()),
      note: "recorded by tidegate \(TidegateVersion.current)")
    let writer = try RecordingWriter(file: file, header: header)
    self.state = Mutex(State(writer: writer))
  }

  func opened(url: String, at now: Timestamp) {
    submit(bytes: url.utf8.count) { writer, connection throws(RecordingError) in
      connection += 1
      try writer.open(url: url, connection: connection, at: now)
    }
  }

  func received(_ message: UnsafeRawBufferPointer, at now: Timestamp) {
    let copy = [UInt8](message)
    submit(bytes: copy.count) { writer, connection throws(RecordingError) in
      try Self.withBytes(copy) { bytes throws(RecordingError) in
        try writer.text(bytes, connection: max(0, connection), at: now)
      }
    }
  }

  func sent(_ message: String, at now: Timestamp) {
    submit(bytes: message.utf8.count) { writer, connection throws(RecordingError) in
      try writer.sent(message, connection: max(0, connection), at: now)
    }
  }

  func answered(url: String, status: Int, body: [UInt8], at now: Timestamp) {
    guard status != 0 else { return }
    submit(bytes: body.count) { writer, _ throws(RecordingError) in
      try Self.withBytes(body) { bytes throws(RecordingError) in
        try writer.http(url: url, status: status, body: bytes, at: now)
      }
    }
  }

  func closed(at now: Timestamp) {
    submit(bytes: 0) { writer, connection throws(RecordingError) in
      try writer.close(connection: max(0, connection), at: now)
    }
  }

  /// Writes what waits and makes the file whole; then calls `completion` on a queue of its own.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      end(nil)
      completion()
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

  private func submit(
    bytes: Int, _ write: @escaping @Sendable (RecordingWriter, inout Int) throws(RecordingError) -> Void
  ) {
    guard !hasEnded.load(ordering: .relaxed) else { return }
    guard pending.add(bytes, ordering: .relaxed).newValue <= Self.pendingLimit else {
      hasEnded.store(true, ordering: .relaxed)
      return queue.async { [self] in end("the disk is too slow: \(Self.pendingLimit >> 20) MiB were waiting") }
    }
    queue.async { [self] in
      pending.subtract(bytes, ordering: .relaxed)
      let failure: RecordingError? = state.withLock { state in
        guard let writer = state.writer else { return nil }
        do throws(RecordingError) {
          try write(writer, &state.connection)
          written.store(writer.records, ordering: .relaxed)
          return nil
        } catch {
          return error
        }
      }
      if let failure { end(failure.description) }
    }
  }

  private func end(_ reason: String?) {
    hasEnded.store(true, ordering: .relaxed)
    let outcome: (saved: Int, taken: Int, failure: RecordingError?)? = state.withLock { state in
      guard let writer = state.writer else { return nil }
      state.writer = nil
      var failure: RecordingError?
      do throws(RecordingError) { try writer.finish() } catch { failure = error }
      return (writer.savedRecords, writer.records, failure)
    }
    guard let outcome else { return }
    written.store(outcome.saved, ordering: .relaxed)
    guard let reason = reason ?? outcome.failure?.description else { return }
    log.error(
      "recording ended; the feed goes on without it",
      metadata: [
        "file": "\(path)", "reason": "\(reason)", "records_kept": "\(outcome.saved)",
        "records_lost": "\(outcome.taken - outcome.saved)",
      ])
  }
}
