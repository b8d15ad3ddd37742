import Dispatch
import Foundation
import Logging
import MarketData
import Synchronization
import Transport

/// Writes the loops' observations to the history store, and reads stored data for the loops.
///
/// Loops never wait: their items wait in a mailbox of `limit`, and a separate queue writes them in one transaction a
/// second. A full, slow or missing disk affects only the history. Then the mailbox fills. Items that do not fit are
/// counted and become a gap, the log says so once, and writing continues as soon as possible. Two queues read, so a
/// restart with hundreds of instruments uses two cores.
package final class HistoryKeeper: Sendable {
  /// Items that may wait: closed minutes of 2,000 instruments for half an hour.
  package static let limit = 60_000
  /// Rows of venues' candles that may wait beside them.
  static let deliveryLimit = 200_000
  private static let readerCount = 2

  /// The keeper's counters.
  package struct Figures: Sendable, Equatable {
    package var written = 0
    package var transactions = 0
    package var queued = 0
    /// Items that were lost because the mailbox was full.
    package var lost = 0
    /// The longest transaction, µs, and the time of all together.
    package var slowest: Int64 = 0
    package var spent: Int64 = 0
    package var restored = 0
    package var fileBytes: Int64 = 0
    /// Damaged files that were set aside.
    package var setAside = 0
    /// Why the store cannot be written at present; nil if it can.
    package var failure: String?

    package init() {}
  }

  private struct Mailbox {
    var batch = HistoryBatch()
    var items = 0
    var rows = 0
    /// At most one of an instrument.
    var latest: [String: LatestState] = [:]
    /// Every instrument and whether it is observed. A new file starts with this.
    var instruments: [String: Instrument] = [:]
    var observed: [String: Bool] = [:]
    var lost = 0
    var lostSince: Timestamp?
    /// The time until which each loop has handed over everything.
    var complete: [Int: Timestamp] = [:]
  }

  private struct Progress {
    /// A batch that could not be written, to try again, and the time until which it is complete.
    var retry: (batch: HistoryBatch, complete: Timestamp?)?
    var failure: DataFileError?
    var figures = Figures()
    var hasEnded = false
    var lostSince: Timestamp?
  }

  package let store: HistoryStore
  private let kernel: any Kernel
  private let log: Logger
  private let mailbox = Mutex(Mailbox())
  /// The streams of the loops that have ended.
  private let ended = Mutex([StoredStreams]())
  private let progress: Mutex<Progress>
  /// Has the same priority as the rest: on a busy machine a lower one would starve it, and a kill loses what is not
  /// written.
  private let queue = DispatchQueue(label: "tidegate.history")
  private let readers: [DispatchQueue]
  private let turn = Atomic<Int>(0)
  /// For clients, so that a restart never waits for them.
  private let clientReader = BoundedReader(label: "tidegate.history.clients")
  private let timer: StoreTimer

  /// Opens the data file of a folder and begins a run.
  /// - Parameters:
  ///   - isSimulated: whether prices are simulated, which have a file of their own.
  /// - Throws: `DataFileError` in words.
  package init(
    directory: String, isSimulated: Bool, retention: Retention, log: Logger, kernel: any Kernel = SystemKernel.shared
  ) throws(DataFileError) {
    let now = Timestamp(microseconds: kernel.wallMicroseconds())
    let path = Self.path(directory, isSimulated)
    let file = try DataFile(path: path, parts: SchemaPart.all, stamp: Self.stamp(now), access: .gateway)
    store = try HistoryStore(file: file, retention: retention)
    let last = try store.begin(now: now)
    self.kernel = kernel
    self.log = log
    var figures = Progress().figures
    figures.setAside = file.setAside.count
    figures.fileBytes = file.byteCount
    progress = Mutex(Progress(figures: figures))
    readers = (0..<Self.readerCount).map { DispatchQueue(label: "tidegate.history.reader.\($0)") }
    timer = StoreTimer(queue: queue, kernel)
    for name in file.setAside {
      log.error("the data file was damaged and set aside; history begins empty", metadata: ["file": "\(name)"])
    }
    log.notice(
      "history is kept",
      metadata: [
        "file": "\(path)", "instruments": "\(store.symbols.count)",
        "last_run_ended_s_ago": "\(last.map { "\((now - $0) / Microseconds.second)" } ?? "never")",
      ])
    timer.start { [weak self] in self?.flush() }
  }

  /// Checks whether this version can use the file of a folder while another process uses it. Changes nothing.
  package static func check(directory: String, isSimulated: Bool) throws(DataFileError) {
    try DataFile.check(path: path(directory, isSimulated), parts: SchemaPart.all)
  }

  package static func path(_ directory: String, _ isSimulated: Bool) -> String {
    directory + (directory.hasSuffix("/") ? "" : "/") + fileName(isSimulated: isSimulated)
  }

  /// The name of the data file in its folder.
  package static func fileName(isSimulated: Bool) -> String { isSimulated ? "simulated.sqlite" : "history.sqlite" }

  /// `20261122T191500Z`.
  package static func stamp(_ now: Timestamp) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
    return formatter.string(from: Date(timeIntervalSince1970: Double(now.microseconds) / 1e6))
  }

  private var now: Timestamp { Timestamp(microseconds: kernel.wallMicroseconds()) }

  package var figures: Figures {
    let queued = mailbox.withLock { ($0.items + $0.rows + $0.latest.count, $0.lost) }
    return progress.withLock { progress in
      var figures = progress.figures
      figures.queued = queued.0 + (progress.retry?.batch.count ?? 0)
      figures.lost += queued.1
      figures.failure = progress.failure?.description
      return figures
    }
  }

  // MARK: From the loops

  /// Takes a loop's observations; never waits.
  package func add(_ batch: HistoryBatch, now: Timestamp) {
    mailbox.withLock { mailbox in
      for description in batch.instruments { mailbox.instruments[description.symbol] = description.instrument }
      for observation in batch.observations { mailbox.observed[observation.symbol] = observation.isObserved }
      for state in batch.latest { mailbox.latest[state.symbol] = state }
      var kept = batch
      kept.latest = []
      let rows = kept.deliveries.reduce(0) { $0 + $1.candles.count + 1 }
      let items = kept.count - rows
      // Candles of venues can be requested again.
      if mailbox.rows + rows > Self.deliveryLimit { kept.deliveries = [] } else { mailbox.rows += rows }
      guard mailbox.items + items <= Self.limit else {
        mailbox.lost += items
        mailbox.lostSince = mailbox.lostSince ?? now
        return
      }
      mailbox.items += items
      mailbox.batch.append(kept)
    }
  }

  /// A loop has handed over everything until `time`. O(1).
  package func noteComplete(until time: Timestamp, loop: Int) { mailbox.withLock { $0.complete[loop] = time } }

  /// Whether the store knows an instrument. O(1).
  package func knows(_ symbol: String) -> Bool { store.knows(symbol) }

  /// Reads the store on a reader's queue and calls `body` there; nil if there is no data, or it cannot be read.
  package func read<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then body: @escaping @Sendable (Value?) -> Void
  ) {
    let (number, _) = turn.add(1, ordering: .relaxed)
    readers[number % readers.count].async { [self] in perform(work, then: body) }
  }

  /// The same for a client's request. False, without a read, while too many wait (`BoundedReader`).
  package func readForClient<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then body: @escaping @Sendable (Value?) -> Void
  ) -> Bool {
    clientReader.read { [self] in perform(work, then: body) }
  }

  private func perform<Value: Sendable>(
    _ work: (HistoryStore) throws -> Value?, then body: (Value?) -> Void
  ) {
    let (replaced, hasEnded) = progress.withLock { ($0.figures.setAside, $0.hasEnded) }
    guard !hasEnded else { return body(nil) }
    do {
      body(try work(store))
    } catch {
      log.error("history cannot be read", metadata: ["reason": "\(error)"])
      body(nil)
      guard let error = error as? DataFileError, case .damaged = error else { return }
      self.queue.async { [self] in
        // Another reader may have reported the same damage before.
        guard progress.withLock({ $0.figures.setAside == replaced && !$0.hasEnded }) else { return }
        failed(error, now)
      }
    }
  }

  package func countRestored() { progress.withLock { $0.figures.restored += 1 } }

  // MARK: Streams

  /// Takes the streams and sessions of the run before, once and before the first client; nil if that run was killed, or
  /// they cannot be read.
  package func takeStreams() -> StoredStreams? {
    do throws(DataFileError) {
      let streams = try store.takeStreams(now: now)
      if let streams {
        log.notice(
          "streams continued",
          metadata: ["streams": "\(streams.streams.count)", "sessions": "\(streams.sessions.count)"])
      } else {
        log.notice("streams restarted")
      }
      return streams
    } catch {
      log.error("streams restarted", metadata: ["reason": "\(error.description)"])
      return nil
    }
  }

  /// Takes a loop's streams and sessions for the next run, when the loop publishes no more. `finish` writes them, if
  /// all loops have passed theirs.
  package func keep(_ streams: StoredStreams) { ended.withLock { $0.append(streams) } }

  /// Writes the loops' streams and sessions for the next run, if all loops have passed theirs and everything else is
  /// written. Streams continue after the last trades, so these must be in the file, too.
  private func writeStreams() {
    let parts = ended.withLock { $0 }
    let isWritten = progress.withLock { $0.retry == nil && $0.failure == nil }
    guard var all = parts.first, parts.count == all.loops, isWritten else { return }
    for part in parts.dropFirst() {
      all.streams += part.streams
      all.sessions += part.sessions
      all.highest = max(all.highest, part.highest)
    }
    do throws(DataFileError) {
      try store.keepStreams(all, now: now)
    } catch {
      log.error("streams cannot be kept for the next run", metadata: ["reason": "\(error.description)"])
    }
  }

  // MARK: Writing

  /// Writes the waiting items. On the queue.
  private func flush() {
    let now = now
    guard !progress.withLock({ $0.hasEnded }) else { return }
    if let retry = progress.withLock({ $0.retry }) {
      guard write(retry.batch, now, complete: retry.complete) else { return }
      progress.withLock { $0.retry = nil }
    }
    let (batch, complete) = take(now)
    if !write(batch, now, complete: complete) { progress.withLock { $0.retry = (batch, complete) } }
  }

  /// Writes the waiting items and returns after it; for tests.
  func flushNow() { queue.sync { flush() } }

  /// The waiting items, and the time until which they are complete.
  private func take(_ now: Timestamp) -> (HistoryBatch, complete: Timestamp?) {
    let (batch, lost, since, complete) = mailbox.withLock { mailbox in
      var batch = mailbox.batch
      batch.latest = mailbox.latest.values.sorted { $0.symbol < $1.symbol }
      if let since = mailbox.lostSince {
        // Missing data is a gap, and can be requested from the venues.
        for (symbol, isObserved) in mailbox.observed.sorted(by: { $0.key < $1.key }) {
          guard isObserved else {
            batch.divideGap(of: symbol, at: now)
            continue
          }
          batch.observations.append(.init(symbol: symbol, time: since - 2 * Microseconds.minute, isObserved: false))
          batch.observations.append(.init(symbol: symbol, time: now, isObserved: true))
        }
      }
      let result = (batch, mailbox.lost, mailbox.lostSince, mailbox.complete.values.min())
      mailbox.batch = HistoryBatch()
      mailbox.latest.removeAll(keepingCapacity: true)
      (mailbox.items, mailbox.rows, mailbox.lost, mailbox.lostSince) = (0, 0, 0, nil)
      return result
    }
    if lost > 0 {
      progress.withLock { $0.figures.lost += lost }
      log.error(
        "history queue full: items dropped and marked as a gap",
        metadata: ["items": "\(lost)", "since_s": "\(since.map { (now - $0) / Microseconds.second } ?? 0)"])
    }
    return (batch, complete)
  }

  private func write(_ batch: HistoryBatch, _ now: Timestamp, complete: Timestamp?) -> Bool {
    let start = kernel.monotonicMicroseconds
    do throws(DataFileError) {
      let ignored = try store.write(batch, now: now, complete: complete)
      let spent = kernel.monotonicMicroseconds - start
      let bytes = store.file.byteCount
      let hadFailed = progress.withLock { progress in
        defer { progress.failure = nil }
        progress.figures.written += batch.count - ignored
        progress.figures.transactions += 1
        progress.figures.slowest = max(progress.figures.slowest, spent)
        progress.figures.spent += spent
        progress.figures.fileBytes = bytes
        return progress.failure != nil
      }
      if hadFailed { log.notice("history is written again") }
      return true
    } catch {
      failed(error, now)
      return false
    }
  }

  private func failed(_ error: DataFileError, _ now: Timestamp) {
    if case .damaged = error {
      do throws(DataFileError) {
        let name = try store.replaceDamaged(stamp: Self.stamp(now), now: now)
        log.error(
          "the data file was damaged and set aside; history begins empty",
          metadata: ["file": "\(name)", "reason": "\(error.description)"])
        describeAgain(now)
        progress.withLock { $0.figures.setAside += 1 }
        return
      } catch {
        return note(error)
      }
    }
    note(error)
  }

  private func note(_ error: DataFileError) {
    let isNew = progress.withLock { progress in
      defer { progress.failure = error }
      return progress.failure == nil
    }
    if isNew {
      log.error("history is not written; the gateway serves without it", metadata: ["reason": "\(error.description)"])
    }
  }

  /// Adds everything that an empty file needs first to the next batch.
  private func describeAgain(_ now: Timestamp) {
    mailbox.withLock { mailbox in
      var batch = HistoryBatch()
      batch.instruments = mailbox.instruments.sorted { $0.key < $1.key }
        .map { .init(symbol: $0.key, instrument: $0.value) }
      batch.observations = mailbox.observed.sorted { $0.key < $1.key }.filter(\.value)
        .map { .init(symbol: $0.key, time: now, isObserved: true) }
      batch.append(mailbox.batch)
      mailbox.batch = batch
    }
    progress.withLock { $0.retry = nil }
  }

  /// Writes the waiting items, ends the run and closes the file; then calls `completion`.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      timer.cancel()
      flush()
      let isFirst = progress.withLock { progress in
        defer { progress.hasEnded = true }
        return !progress.hasEnded
      }
      if isFirst {
        writeStreams()
        do throws(DataFileError) {
          let now = now
          try store.end(now: min(mailbox.withLock { $0.complete.values.min() } ?? now, now))
        } catch {
          log.error("the end of the run could not be written to history", metadata: ["reason": "\(error.description)"])
        }
        for reader in readers { reader.sync {} }
        clientReader.finish()
        store.file.close()
      }
      completion()
    }
  }
}
