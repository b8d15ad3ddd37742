import Build
import Dispatch
import Logging
import MarketData
import Recordings
import Synchronization
import Transport
import Venues

/// Calls on a queue about once a second, from `start` until it is cancelled or dropped.
private final class SecondTimer: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be used from any thread (dispatch_source_create(3)).
  private let source: any DispatchSourceTimer

  init(queue: DispatchQueue) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1), leeway: .milliseconds(100))
  }

  /// Call it once.
  func start(_ body: @escaping @Sendable () -> Void) {
    source.setEventHandler { @Sendable in body() }
    source.activate()
  }

  func cancel() { source.cancel() }

  deinit { source.cancel() }
}

/// Records one feed. The session passes records on the loop; a separate queue writes them, so a slow disk never stops
/// the loop. The number of waiting bytes is bounded.
///
/// If the disk is full or fails, only the records that arrive in the meantime are lost. The log has the reason, the
/// file is cut back to its last whole record, and writing continues as soon as possible, after a `gap` record with the
/// number of missing records. If the disk is too slow for the bound, records that do not fit are lost and marked in the
/// same way.
package final class RecordingSink: FeedRecorder, Sendable {
  /// Bytes that may wait for the disk. At the limit, nothing is taken until half of them are written.
  static let pendingLimit = 64 << 20
  /// The memory cost of a record in addition to its bytes.
  private static let recordCost = 64

  private struct Overflow {
    /// Records lost since the last one that was taken.
    var records = 0
    var isFull = false
  }

  private struct State: ~Copyable {
    var set: RecordingSet?
    var figures: RecordingFigures
  }

  private let queue = DispatchQueue(label: "tidegate.recording")
  private let timer: SecondTimer
  private let pending = Atomic<Int>(0)
  private let pendingLimit: Int
  /// Touched by the feed's loop and, at the end, the queue.
  private let overflow = Mutex(Overflow())
  private let state: Mutex<State>
  private let log: Logger
  /// UTC, µs.
  private let clock: @Sendable () -> Timestamp

  /// The sink's counters; waiting records count as not written.
  package var figures: RecordingFigures {
    var figures = state.withLock { $0.set?.figures ?? $0.figures }
    figures.queuedBytes = pending.load(ordering: .relaxed)
    figures.lost += overflow.withLock { $0.records }
    return figures
  }
  /// The number of records in files.
  package var records: Int { figures.records }
  /// The file that is being written, or was written last.
  package var path: String { figures.path }
  /// Whether recording has ended.
  package var isEnded: Bool { state.withLock { $0.set == nil } }

  /// Records to one file. Throws a `RecordingError` with the path and the reason.
  package convenience init(
    path: String, venue: Venue, configuration: FeedConfiguration, policy: RecordingPolicy = RecordingPolicy(),
    log: Logger
  ) throws(RecordingError) {
    try self.init(to: .file(path), venue: venue, configuration: configuration, policy: policy, log: log)
  }

  /// Records to files of a folder, whose names begin with that of the venue and its market.
  /// - Parameters:
  ///   - folder: an existing folder; its name ends in `/`.
  ///   - suffix: distinguishes several connections of one venue and market: `-2`.
  /// - Throws: `RecordingError` with the path and the reason.
  package convenience init(
    folder: String, suffix: String = "", venue: Venue, configuration: FeedConfiguration, policy: RecordingPolicy,
    log: Logger
  ) throws(RecordingError) {
    try self.init(
      to: .folder(folder, set: "\(venue.name)-\(venue.marketName)\(suffix)"), venue: venue,
      configuration: configuration, policy: policy, log: log)
  }

  init(
    to destination: RecordingSet.Destination, venue: Venue, configuration: FeedConfiguration, policy: RecordingPolicy,
    log: Logger, pendingLimit: Int = RecordingSink.pendingLimit,
    clock: @escaping @Sendable () -> Timestamp = {
      Timestamp(microseconds: SystemKernel.shared.wallMicroseconds())
    },
    makeFile: @escaping @Sendable (String, RecordingFile.Mode) throws(RecordingError) -> RecordingFile = {
      (path, mode) throws(RecordingError) in try RecordingFile(path: path, mode: mode)
    }
  ) throws(RecordingError) {
    self.log = log
    self.clock = clock
    self.pendingLimit = pendingLimit
    let now = clock()
    let header = RecordingHeader(
      venue: venue.name, market: venue.marketName, symbols: configuration.symbols.map(venue.recordedName), channels: [],
      started: now, note: "recorded by tidegate \(TidegateVersion.current)")
    var log = log
    log[metadataKey: "venue"] = "\(venue.label)"
    let sinkLog = log
    let set = try RecordingSet(
      to: destination, header: header, policy: policy, at: now, makeFile: makeFile,
      report: { Self.tell($0, to: sinkLog) })
    let figures = set.figures
    state = Mutex(State(set: set, figures: figures))
    timer = SecondTimer(queue: queue)
    timer.start { [weak self] in self?.tick() }
  }

  package func opened(url: String, at now: Timestamp) { submit(.open(url: url), bytes: url.utf8.count, at: now) }

  package func received(_ message: UnsafeRawBufferPointer, at now: Timestamp) {
    guard makeRoom(message.count) else { return }
    enqueue(.text([UInt8](message)), bytes: message.count, at: now)
  }

  package func sent(_ message: String, at now: Timestamp) { submit(.sent(message), bytes: message.utf8.count, at: now) }

  package func answered(url: String, status: Int, body: [UInt8], at now: Timestamp) {
    guard status != 0 else { return }
    submit(.http(url: url, status: status, body: body), bytes: body.count, at: now)
  }

  package func closed(at now: Timestamp) { submit(.close, bytes: 0, at: now) }

  /// Writes the waiting records and completes the file; then calls `completion` on its own queue.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      timer.cancel()
      let lost = takeOverflow()
      let now = clock()
      state.withLock { state in
        guard let set = state.set else { return }
        if lost > 0 { set.lose(lost, Self.tooSlow) }
        set.finish(at: now)
        state.figures = set.figures
        state.set = nil
      }
      completion()
    }
  }

  /// Flushes, rotates and resumes when it is due. On the queue.
  private func tick() {
    let now = clock()
    state.withLock { $0.set?.tick(at: now) }
  }

  /// Runs a tick and returns after it; for tests.
  func tickNow() { queue.sync { tick() } }

  /// Keeps the queue busy; for tests.
  func hold(until gate: DispatchSemaphore) { queue.async { gate.wait() } }

  private static let tooSlow = "the disk is too slow"

  private func submit(_ event: RecordedEvent, bytes: Int, at now: Timestamp) {
    guard makeRoom(bytes) else { return }
    enqueue(event, bytes: bytes, at: now)
  }

  /// Whether there is room for another record; counts it as lost if not.
  private func makeRoom(_ bytes: Int) -> Bool {
    let waiting = pending.load(ordering: .relaxed)
    let isNew: Bool? = overflow.withLock { overflow in
      let limit = overflow.isFull ? pendingLimit / 2 : pendingLimit
      if waiting + bytes + Self.recordCost <= limit || waiting == 0 {
        overflow.isFull = false
        return nil
      }
      overflow.records += 1
      defer { overflow.isFull = true }
      return !overflow.isFull
    }
    guard let isNew else { return true }
    if isNew {
      log.error("recording drops records: the disk is too slow", metadata: ["waiting_bytes": "\(waiting)"])
    }
    return false
  }

  private func takeOverflow() -> Int {
    overflow.withLock { overflow in
      defer { overflow.records = 0 }
      return overflow.records
    }
  }

  private func enqueue(_ event: RecordedEvent, bytes: Int, at now: Timestamp) {
    let cost = bytes + Self.recordCost
    pending.add(cost, ordering: .relaxed)
    let lost = takeOverflow()
    queue.async { [self] in
      state.withLock { state in
        guard let set = state.set else { return }
        if lost > 0 { set.lose(lost, Self.tooSlow) }
        set.record(event, at: now)
      }
      pending.subtract(cost, ordering: .relaxed)
    }
  }

  private static func tell(_ event: RecordingEvent, to log: Logger) {
    switch event {
    case .began(let path): log.notice("recording", metadata: ["file": "\(path)"])
    case .paused(let path, let reason, let kept):
      log.error(
        "recording paused; the feed continues without it",
        metadata: ["file": "\(path)", "reason": "\(reason)", "records_kept": "\(kept)"])
    case .resumed(let path, let lost):
      log.notice("recording resumed", metadata: ["file": "\(path)", "records_lost": "\(lost)"])
    case .deleted(let path): log.info("old recording deleted", metadata: ["file": "\(path)"])
    case .notDeleted(let path, let reason):
      log.warning("old recording not deleted", metadata: ["file": "\(path)", "reason": "\(reason)"])
    }
  }
}
