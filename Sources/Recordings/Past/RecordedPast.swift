import MarketData
import Venues

/// Answers questions about the markets of recordings as they were. Used by one thread at a time.
///
/// Each answer is played anew, from the last key frame before the moment, in a replayer of its own: nothing of a market
/// is kept between two questions. What one answer may cost is bounded by `Limits`.
package final class RecordedPast {
  /// The most that one question may cost.
  package struct Limits: Sendable {
    /// Bytes of files that are read before the moment where no index leads there.
    package var unindexedBytes = 16 << 20
    /// Records that are played, those before the moment included; about 2 s of a processor.
    package var records = 1_000_000
    /// Trades of one page.
    package var trades = 1_000
    package init() {}
  }

  /// Why a question has no answer.
  package enum Failure: Error, Equatable {
    /// Nothing was recorded of the market then; the time of the last record before that, and of the first one after.
    case nothingRecorded(last: Timestamp?, next: Timestamp?)
    /// No recording has the market.
    case unknownSymbol
    /// The book was not in sync then.
    case outOfSync
    /// It would take longer than allowed, because the file has no index, or one of another state of it.
    case notIndexed
    /// More records lie before that time than allowed.
    case tooMuch
    /// The recording is damaged there.
    case unreadable
  }

  /// A page of trades.
  package struct Trades {
    package let instrument: Instrument
    /// In the order in which they came.
    package var trades: [Trade] = []
    /// Where the next page begins; nil: this is the last.
    package var next: Timestamp?
  }

  /// Longer without any record of the venue, and nothing is known of a market, µs. Venues are pinged more often.
  static let longestPause = Microseconds.minute

  let paths: [String]
  let limits: Limits
  private let report: (String) -> Void
  var catalog = RecordingCatalog()

  /// - Parameters:
  ///   - paths: recordings, or folders of them.
  ///   - report: takes what an operator should know: the file that cannot be read, or has no index.
  package init(_ paths: [String], limits: Limits = Limits(), report: @escaping (String) -> Void = { _ in }) {
    self.paths = paths
    self.limits = limits
    self.report = report
  }

  /// Shows a market as it was after all records before `time`.
  /// - Parameter show: makes the answer of it; nil: its book was not in sync.
  package func market<Shown>(
    _ symbol: String, at time: Timestamp, _ show: (InstrumentState) -> Shown?
  ) throws(Failure) -> Shown {
    var work = Work(limits)
    let replayer = try open(try catalog.track(of: symbol, at: time, orBefore: time, paths), at: time)
    let last = try play(replayer, before: time, &work)
    try checkPause(last, replayer.nextTime, at: time)
    guard let state = replayer.state(of: symbol) else { throw .nothingRecorded(last: last, next: replayer.nextTime) }
    guard let shown = show(state) else { throw .outOfSync }
    return shown
  }

  /// The trades of a market that records of [`window`) brought. A page ends between two records.
  /// - Parameter limit: trades after which the page ends, 1 to `Limits.trades`.
  package func trades(
    of symbol: String, in window: Range<Timestamp>, limit: Int
  ) throws(Failure) -> Trades {
    var work = Work(limits)
    // A file that begins with the window has its first record.
    let start = window.lowerBound == .distantPast ? .distantPast : window.lowerBound + 1
    let track = try catalog.track(of: symbol, at: start, orBefore: window.upperBound, paths)
    let replayer = try open(track, at: window.lowerBound)
    let last = try play(replayer, before: window.lowerBound, &work)
    var page: Trades?
    var moment = Timestamp.distantPast
    while let time = replayer.nextTime, time < window.upperBound {
      // Records of one moment stay together, because the next page begins with a moment.
      if time > moment, (page?.trades.count ?? 0) >= min(limit, limits.trades) || !work.hasMore {
        guard page != nil else { throw .tooMuch }
        page?.next = time
        break
      }
      guard work.take() || time == moment else { throw .tooMuch }
      moment = time
      try step(replayer)
      collect(replayer, symbol, &page)
    }
    let following = catalog.start(of: symbol, after: max(moment, window.lowerBound), except: track)
    guard var page else {
      throw .nothingRecorded(last: last, next: [replayer.nextTime, following].compactMap(\.self).min())
    }
    if page.next == nil, let following, following < window.upperBound { page.next = following }
    return page
  }

  // MARK: Steps

  /// What a question may still cost.
  private struct Work {
    private var left: Int
    var hasMore: Bool { left > 0 }

    init(_ limits: Limits) { left = limits.records }

    mutating func take() -> Bool {
      guard left > 0 else { return false }
      left -= 1
      return true
    }
  }

  /// A replayer of the recording, at its last key frame before `time`.
  func open(_ track: RecordingCatalog.Track, at time: Timestamp) throws(Failure) -> Replayer {
    let paths = track.files.map(\.path)
    // The files that begin later say nothing about that time.
    let begun = track.files.prefix { $0.started < time }
    let (entry, _) = RecordingEntry.find(begun.map(\.path), before: time)
    let unindexed = begun.dropFirst(entry.map { $0.file + 1 } ?? 0)
    if let first = unindexed.first, unindexed.reduce(0, { $0 + $1.bytes }) > limits.unindexedBytes {
      report("\(first.path) has no index that fits; tidegate recordings index makes one")
      throw .notIndexed
    }
    do throws(RecordingError) {
      guard let entry else { return try Replayer(paths: paths) }
      return try Replayer(paths: paths, at: entry)
    } catch {
      report(error.description)
      throw .unreadable
    }
  }

  /// Plays the records before `time`.
  /// - Returns: the time of the last of them.
  private func play(_ replayer: Replayer, before time: Timestamp, _ work: inout Work) throws(Failure) -> Timestamp? {
    var last: Timestamp?
    while let next = replayer.nextTime, next < time {
      guard work.take() else { throw .tooMuch }
      last = next
      try step(replayer)
      replayer.pipeline.clear()
    }
    return last
  }

  func step(_ replayer: Replayer) throws(Failure) {
    do throws(RecordingError) {
      _ = try replayer.step()
    } catch {
      report(error.description)
      throw .unreadable
    }
  }

  private func checkPause(_ last: Timestamp?, _ next: Timestamp?, at time: Timestamp) throws(Failure) {
    guard let last, time - last <= Self.longestPause else { throw .nothingRecorded(last: last, next: next) }
  }

  private func collect(_ replayer: Replayer, _ symbol: String, _ page: inout Trades?) {
    let pipeline = replayer.pipeline
    if page == nil, let state = replayer.state(of: symbol) { page = Trades(instrument: state.instrument) }
    for item in pipeline.changes.items {
      guard case .trades(let id, let range) = item, pipeline.market[id].instrument.symbol == symbol else { continue }
      page?.trades += pipeline.changes.trades[range]
    }
    pipeline.clear()
  }
}

extension Replayer {
  /// The market of a symbol; nil before its venue's list. O(markets).
  fileprivate func state(of symbol: String) -> InstrumentState? {
    pipeline.market.instruments.first { $0.instrument.symbol == symbol }
  }
}
