import HTTP1
import History
import Logging
import MarketData
import Transport
import Venues

/// A span of time whose candles are missing.
package struct MissingCandles: Sendable {
  var resolution: Resolution
  var range: Range<Timestamp>

  package init(resolution: Resolution, range: Range<Timestamp>) {
    self.resolution = resolution
    self.range = range
  }
}

/// A venue's answer for one window.
package struct CandlePage: Sendable {
  package var instrument: Instrument
  /// The symbol that the store knows the instrument by.
  package var symbol: String
  package var resolution: Resolution
  package var candles: [Candle]
  /// The window, if the venue has answered for all of it.
  package var covers: Range<Timestamp>?
}

/// Requests missing candles from one venue over REST, one request at a time, at the venue's pace. Instruments with
/// subscribers come first, then shorter candles before longer ones. Owned by one loop.
///
/// - If a venue answers "too many requests", the backfill pauses for the time that the venue names, at most an hour, or
///   for a minute.
/// - A page without an answer is requested three times, a refused page once. What is still missing is requested with
///   the next plan: after a reconnect, or at the next start.
package final class CandleBackfill {
  /// Pages that may wait: seven for each of 2,000 instruments.
  static let limit = 14_000
  private static let attempts = 3

  /// What has been requested so far.
  package struct Figures: Sendable, Equatable {
    package var requests = 0
    package var candles = 0
    package var failures = 0
    /// Requests to come, including the present one.
    package var waiting = 0

    package init() {}

    package mutating func add(_ other: Figures) {
      requests += other.requests
      candles += other.candles
      failures += other.failures
      waiting += other.waiting
    }
  }

  private struct Page {
    var instrument: Instrument
    var symbol: String
    var resolution: Resolution
    var window: Range<Timestamp>
    var attempts = 0
    /// Whether no older candles are requested if this page is empty.
    var endsAtListing = false
  }

  private struct Key: Hashable {
    var symbol: String
    var resolution: Resolution
    var start: Int64
  }

  private let format: CandleFormat
  private let endpoint: EndpointURL
  private let tls: TLSClientContext?
  private let loop: EventLoop
  /// The least time between requests, µs.
  private let pace: Int64
  private let log: Logger
  private let deliver: (CandlePage) -> Void
  private var isWatched: (InstrumentID) -> Bool = { _ in false }
  private var pages: [Page] = []
  private var known: Set<Key> = []
  private var request: RESTRequest?
  private var timer: LoopTimer?
  private var isStopped = false
  private var isFailureTold = false
  private var beganAt: Int64?
  package private(set) var figures = Figures()

  /// - Parameters:
  ///   - share: the venue's connections that request candles, including this one.
  ///   - deliver: called on the loop with each answer.
  package init(
    format: CandleFormat, endpoint: EndpointURL, tls: TLSClientContext?, loop: EventLoop, share: Int, log: Logger,
    deliver: @escaping (CandlePage) -> Void
  ) {
    self.format = format
    self.endpoint = endpoint
    self.tls = tls
    self.loop = loop
    self.pace = format.pace * Int64(max(1, share))
    self.log = log
    self.deliver = deliver
  }

  /// The candles to request for every instrument: the ones that its charts need. Days are computed from hours if the
  /// venue has no day candles.
  package func ranges(now: Timestamp) -> [(Resolution, Range<Timestamp>)] { Self.ranges(format, now: now) }

  /// All days that the venue may have; nil if it has no day candles. No market is older than 2010.
  package func allDays(now: Timestamp) -> Range<Timestamp>? {
    let start = CandleInterval.day.start(of: Timestamp(microseconds: 1_262_304_000 * Microseconds.second))
    let end = CandleFormat.newest(.day, now: now)
    return format.has(.day) && start < end ? start..<end : nil
  }

  static func ranges(_ format: CandleFormat, now: Timestamp) -> [(Resolution, Range<Timestamp>)] {
    let spans: [(Resolution, Int64)] = [
      (.minute, Microseconds.day), (.quarter, 7 * Microseconds.day),
      (.hour, (format.has(.day) ? 90 : 366) * Microseconds.day), (.day, 366 * Microseconds.day),
    ]
    return spans.compactMap { resolution, span in
      guard format.has(resolution.interval) else { return nil }
      let end = CandleFormat.newest(resolution.interval, now: now)
      let start = resolution.interval.start(of: now - span)
      return start < end ? (resolution, start..<end) : nil
    }
  }

  /// Requests the missing candles of an instrument, unless they are being requested already.
  /// - Parameter endsAtListing: whether an empty page ends the requests, because older times precede the listing.
  package func ask(
    for missing: [MissingCandles], of instrument: Instrument, as symbol: String, now: Timestamp,
    endsAtListing: Bool = false, isWatched: @escaping (InstrumentID) -> Bool
  ) {
    loop.assertOnLoop()
    self.isWatched = isWatched
    for part in missing {
      for window in format.pages(part.range, part.resolution.interval, now: now) {
        let key = Key(symbol: symbol, resolution: part.resolution, start: window.lowerBound.rawValue)
        guard pages.count < Self.limit, known.insert(key).inserted else { continue }
        pages.append(
          Page(
            instrument: instrument, symbol: symbol, resolution: part.resolution, window: window,
            endsAtListing: endsAtListing))
      }
    }
    figures.waiting = pages.count
    if beganAt == nil, !pages.isEmpty { beganAt = loop.moment }
    if request == nil, timer == nil { next() }
  }

  package func stop() {
    isStopped = true
    request?.cancel()
    request = nil
    timer?.cancel()
    timer = nil
    pages.removeAll()
  }

  private func next() {
    loop.assertOnLoop()
    guard !isStopped, request == nil, let index = choose() else { return }
    let page = pages.remove(at: index)
    let query = CandleQuery(instrument: page.instrument, interval: page.resolution.interval, window: page.window)
    let asked = format.request(query)
    figures.requests += 1
    figures.waiting = pages.count + 1
    request = RESTRequest.get(
      asked.target, body: asked.body, from: endpoint, bodyLimit: CandleFormat.bodyLimit, tls: tls, loop: loop
    ) { [weak self] status, body, retryAfter in
      self?.answered(page, query, status, body, retryAfter)
    }
  }

  /// The next page to request: first of an instrument with subscribers, then of the shortest candles, then the one that
  /// was added first. O(pages).
  private func choose() -> Int? {
    var best: (index: Int, rank: Int)?
    for (index, page) in pages.enumerated() {
      let rank = page.resolution.rawValue + (isWatched(page.instrument.id) ? 0 : 10)
      if best.map({ rank < $0.rank }) ?? true { best = (index, rank) }
      if rank == 0 { break }
    }
    return best?.index
  }

  private func answered(
    _ page: Page, _ query: CandleQuery, _ status: Int, _ body: [UInt8], _ retryAfter: String?
  ) {
    request = nil
    let now = Timestamp(microseconds: loop.kernel.wallMicroseconds())
    var wait = pace
    do throws(CandleError) {
      let answer = try format.read(body.span.bytes, status: status, to: query, now: now)
      figures.candles += answer.candles.count
      forget(page)
      if page.endsAtListing, answer.candles.isEmpty, answer.isComplete { forgetOlder(than: page) }
      deliver(
        CandlePage(
          instrument: page.instrument, symbol: page.symbol, resolution: page.resolution, candles: answer.candles,
          covers: answer.isComplete ? page.window : nil))
    } catch {
      figures.failures += 1
      var again = page
      again.attempts += 1
      switch error.kind {
      case .limited:
        let seconds = retryAfter.flatMap { RetryAfter.seconds($0, now: now.microseconds / Microseconds.second) } ?? 60
        wait = max(pace, min(seconds, 3_600) * Microseconds.second)
        pages.append(again)
      case .unanswered where again.attempts < Self.attempts:
        wait = max(pace, Int64(again.attempts) * 2 * Microseconds.second)
        pages.append(again)
      case .refused, .unanswered: forget(page)
      }
      if !isFailureTold {
        isFailureTold = true
        log.warning(
          "candle request failed; further failures of this connection are not logged",
          metadata: ["symbol": "\(page.symbol)", "interval": "\(page.resolution.name)", "reason": "\(error.detail)"])
      }
    }
    figures.waiting = pages.count
    if pages.isEmpty, let began = beganAt {
      beganAt = nil
      log.info(
        "missing candles requested",
        metadata: [
          "requests": "\(figures.requests)", "candles": "\(figures.candles)", "failures": "\(figures.failures)",
          "seconds": "\((loop.moment - began) / Microseconds.second)",
        ])
    }
    timer = loop.schedule(after: .microseconds(wait)) { [weak self] in
      self?.timer = nil
      self?.next()
    }
  }

  /// Drops the pages of the same candles that lie before `page`.
  private func forgetOlder(than page: Page) {
    pages.removeAll { other in
      let isOlder =
        other.endsAtListing && other.symbol == page.symbol && other.resolution == page.resolution
        && other.window.upperBound <= page.window.lowerBound
      if isOlder { forget(other) }
      return isOlder
    }
  }

  private func forget(_ page: Page) {
    known.remove(Key(symbol: page.symbol, resolution: page.resolution, start: page.window.lowerBound.rawValue))
  }
}
