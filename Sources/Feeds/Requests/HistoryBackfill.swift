import Foundation
import HTTP1
import History
import Logging
import MarketData
import Transport
import Venues

/// Why a back-fill cannot begin, in a sentence.
package struct HistoryBackfillError: Error, Sendable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// Fills the history with venues' candles on request, with or without a running gateway. Each answer is one
/// transaction. So the backfill can be ended at any moment and started again: it does not request stored candles twice.
package final class HistoryBackfill: @unchecked Sendable {
  // `@unchecked`: all state but the constants is touched on `loop` only, which `assertOnLoop` checks.

  /// The requested candles of one instrument.
  package struct Job: Sendable {
    package let symbol: String
    let instrument: Instrument
    let venue: Venue
    let format: CandleFormat
    let endpoint: EndpointURL
    fileprivate(set) var missing: [MissingCandles] = []
  }

  /// The progress of a backfill.
  package struct Progress: Sendable, Equatable {
    /// Requests to come, including the present one.
    package var waiting = 0
    package var requests = 0
    package var candles = 0
    package var failures = 0
    /// The store's last error, if it could not be written.
    package var failure: String?
  }

  /// The number of programs that share the venue's limits: a gateway may run beside this one.
  private static let share = 2

  private let store: HistoryStore
  private let loop: EventLoop
  private let tls: TLSClientContext?
  private let log: Logger
  private var backfills: [String: CandleBackfill] = [:]
  private var failure: String?

  package init(store: HistoryStore, loop: EventLoop, tls: TLSClientContext?, log: Logger) {
    self.store = store
    self.loop = loop
    self.tls = tls
    self.log = log
  }

  // MARK: Planning

  /// The missing candles of an instrument.
  /// - Parameters:
  ///   - resolutions: the requested resolutions; nil: all that the venue has.
  ///   - range: the requested range; nil: the range of charts, which the gateway requests by itself.
  ///   - again: whether stored candles are requested again. Candles that the gateway observed itself are kept.
  ///   - restEndpoint: replaces the venue's REST endpoint.
  package func job(
    _ symbol: String, _ resolutions: [Resolution]?, in range: Range<Timestamp>?, again: Bool, restEndpoint: String?,
    now: Timestamp
  ) throws -> Job {
    guard let instrument = try store.instrument(symbol) else {
      throw HistoryBackfillError("there is no history of \(symbol): a gateway must follow it first")
    }
    let venue = VenueRegistry.venue(named: instrument.venue).flatMap { venue in
      venue.parts.isEmpty ? venue : venue.parts.first { $0.kinds.contains(instrument.kind.family) }
    }
    guard let venue, let format = venue.candles else {
      throw HistoryBackfillError("\(instrument.venue) offers no candles of \(symbol)")
    }
    guard let endpoint = EndpointURL(restEndpoint ?? venue.restEndpoint) else {
      throw HistoryBackfillError("\(restEndpoint ?? "") is not a URL")
    }
    var job = Job(symbol: symbol, instrument: instrument, venue: venue, format: format, endpoint: endpoint)
    let usual = CandleBackfill.ranges(format, now: now)
    for resolution in resolutions ?? Resolution.allCases {
      guard format.has(resolution.interval) else {
        if resolutions == nil { continue }
        throw HistoryBackfillError("\(venue.title) has no candles of \(resolution.name)")
      }
      let standard = usual.first { $0.0 == resolution }?.1
      guard let wanted = Self.whole(range, resolution, now: now) ?? standard else { continue }
      let missing = again ? [wanted] : try store.missing(symbol, resolution, in: wanted)
      job.missing += missing.map { MissingCandles(resolution: resolution, range: $0) }
    }
    return job
  }

  /// The closed intervals of a range; nil without a range.
  private static func whole(
    _ range: Range<Timestamp>?, _ resolution: Resolution, now: Timestamp
  ) -> Range<Timestamp>? {
    guard let range else { return nil }
    let interval = resolution.interval
    let start = interval.start(of: max(range.lowerBound, Timestamp(microseconds: 0)))
    let newest = CandleFormat.newest(interval, now: now)
    let end = range.upperBound >= newest ? newest : interval.start(of: range.upperBound + (interval.length - 1))
    return start < end ? start..<end : start..<start
  }

  /// The number of requests of jobs.
  package static func requests(_ jobs: [Job], now: Timestamp) -> Int {
    jobs.reduce(0) { sum, job in
      sum + job.missing.reduce(0) { $0 + job.format.pages($1.range, $1.resolution.interval, now: now).count }
    }
  }

  /// The least time that jobs take at the venues' pace, s; requests to several venues run in parallel.
  package static func seconds(_ jobs: [Job], now: Timestamp) -> Int64 {
    var times: [String: Int64] = [:]
    for job in jobs {
      times[job.venue.label, default: 0] += Int64(requests([job], now: now)) * job.format.pace * Int64(share)
    }
    return (times.values.max() ?? 0) / Microseconds.second
  }

  // MARK: Running

  /// Begins; `progress` reports the state.
  /// - Throws: if there are more requests than `CandleBackfill.limit`.
  package func begin(_ jobs: [Job], now: Timestamp) throws(HistoryBackfillError) {
    let requests = Self.requests(jobs, now: now)
    guard requests <= CandleBackfill.limit else {
      throw HistoryBackfillError(
        "\(requests) requests are more than \(CandleBackfill.limit): ask for fewer symbols, or a shorter time")
    }
    loop.execute { [self] in
      for job in jobs where !job.missing.isEmpty {
        backfill(for: job).ask(for: job.missing, of: job.instrument, as: job.symbol, now: now) { _ in false }
      }
    }
  }

  /// The present progress; `waiting` is 0 at the end.
  package func progress() async -> Progress {
    await withCheckedContinuation { continuation in
      loop.execute { [self] in
        var sum = CandleBackfill.Figures()
        for label in backfills.keys.sorted() { backfills[label].map { sum.add($0.figures) } }
        continuation.resume(
          returning: Progress(
            waiting: failure == nil ? sum.waiting : 0, requests: sum.requests, candles: sum.candles,
            failures: sum.failures, failure: failure))
      }
    }
  }

  /// Ends all requests. When it returns, all answers so far are in the store.
  package func stop() async {
    await withCheckedContinuation { continuation in
      loop.execute { [self] in
        for backfill in backfills.values { backfill.stop() }
        continuation.resume()
      }
    }
  }

  private func backfill(for job: Job) -> CandleBackfill {
    loop.assertOnLoop()
    if let known = backfills[job.venue.label] { return known }
    let made = CandleBackfill(
      format: job.format, endpoint: job.endpoint, tls: tls, loop: loop, share: Self.share, log: log
    ) { [unowned self] page in take(page) }
    backfills[job.venue.label] = made
    return made
  }

  /// Stores a page. On the loop, which may block here: nothing else uses it.
  private func take(_ page: CandlePage) {
    var batch = HistoryBatch()
    batch.deliveries = [
      .init(
        symbol: page.symbol, resolution: page.resolution,
        candles: page.candles.map { StoredCandle($0, of: page.instrument) }, covers: page.covers)
    ]
    do throws(DataFileError) {
      _ = try store.write(batch, now: Timestamp(microseconds: loop.kernel.wallMicroseconds()))
    } catch {
      failure = error.description
      for backfill in backfills.values { backfill.stop() }
    }
  }
}
