import MarketData

/// A page of one instrument's candles, merged from its rings and the store.
package struct ChartPage: Sendable, Equatable {
  /// The request: the last `limit` candles that begin in [`from`, `to`).
  package struct Request: Sendable, Equatable {
    package var interval: CandleInterval
    package var from: Timestamp
    package var to: Timestamp
    /// 1 or more.
    package var limit: Int

    package init(interval: CandleInterval, from: Timestamp, to: Timestamp, limit: Int) {
      self.interval = interval
      self.from = max(from, Timestamp(microseconds: 0))
      self.to = to
      self.limit = limit
    }

    /// How many candles of the rings a page needs: one more than it shows, to know whether there are older ones.
    package var wanted: Int { limit + 1 }
  }

  /// In order of time, each once, at the scales of the instrument.
  package var candles: [Candle]
  /// The times between the first candle and the end of the page without candles, because the gateway did not observe
  /// them, in order of time.
  package var gaps: [TimeSpan]
  /// The next page, of older candles, ends here; nil if there are none.
  package var next: Timestamp?

  /// - Parameters:
  ///   - found: the newest first, at most one more than the page shows.
  ///   - rest: where older candles may be, if the page does not reach that far.
  fileprivate init(_ found: [Candle], _ request: Request, rest: Timestamp?, now: Timestamp) {
    candles = Array(found.prefix(request.limit).reversed())
    next = found.count > request.limit ? candles.first?.time : rest
    gaps = []
    var end = candles.first?.time ?? .distantFuture
    func observed(from time: Timestamp) {
      if end < time { gaps.append(TimeSpan(from: end, to: time)) }
    }
    for candle in candles {
      observed(from: candle.time)
      end = candle.end
    }
    // Up to the present interval, which may have no candle yet.
    let interval = request.interval
    observed(from: min(interval.start(of: now), interval.ceiling(of: request.to)))
  }

  /// The page from an instrument's rings alone; nil if the store may have older or better candles. O(candles).
  /// - Parameter rings: in order of time, the last `wanted` candles in the range.
  package init?(rings: [Candle], _ request: Request, now: Timestamp) {
    guard let first = rings.first,
      rings.count >= request.wanted || first.time == request.interval.ceiling(of: request.from)
    else { return nil }
    var next = first.time
    for candle in rings {
      guard candle.time == next, candle.source != .partial || !candle.isClosed else { return nil }
      next = candle.end
    }
    guard next >= min(request.interval.start(of: now), request.interval.ceiling(of: request.to)) else { return nil }
    self.init(rings.reversed(), request, rest: nil, now: now)
  }

  /// The page of a gateway without a store. O(candles).
  package init(ringsAlone rings: [Candle], _ request: Request, now: Timestamp) {
    self.init(rings.reversed(), request, rest: nil, now: now)
  }
}

extension CandleInterval {
  /// The first open time at or after a moment.
  fileprivate func ceiling(of time: Timestamp) -> Timestamp {
    time >= .distantFuture - length ? .distantFuture : start(of: time + (length - 1))
  }
}

/// Joins the candles of an instrument's rings with stored ones, from the newest interval back.
///
/// For each interval it takes, in this order: the rings' candle if the gateway watched all of it or it is still open;
/// the store's, unless it is partial; of two partial ones the one with more volume. If neither exists, but the store
/// knows that the interval was observed, there was no trade: then the price before it is repeated.
struct ChartPageBuilder {
  /// The number of observed stretches of the store that one page reads at most.
  static let stretchLimit = 8
  /// How long after an interval's end the store may not know yet whether it was observed, µs.
  static let settling = Rollup.delay

  let request: ChartPage.Request
  let instrument: Instrument
  let now: Timestamp
  private let rings: [Timestamp: Candle]
  private var found: [Candle] = []

  init(_ request: ChartPage.Request, of instrument: Instrument, rings: [Candle], now: Timestamp) {
    self.request = request
    self.instrument = instrument
    self.now = now
    self.rings = Dictionary(rings.map { ($0.time, $0) }) { first, _ in first }
  }

  /// The stored resolution that an interval's candles are made from.
  static func resolution(of interval: CandleInterval) -> Resolution {
    switch interval {
    case .minute, .fiveMinutes: .minute
    case .quarterHour: .quarter
    case .hour, .fourHours: .hour
    case .day: .day
    }
  }

  /// Makes the page. O(`limit` × candles of the store in one).
  /// - Parameters:
  ///   - read: the stored candles that begin in a range.
  ///   - newest: the newest stored candle that begins before a moment.
  mutating func build(
    read: (Range<Timestamp>) throws -> HistoryRange, newest: (Timestamp) throws -> StoredCandle?
  ) rethrows -> ChartPage {
    let interval = request.interval
    let low = interval.ceiling(of: request.from)
    var end = min(interval.ceiling(of: request.to), interval.start(of: now) + interval.length)
    var stretches = 0
    while found.count < request.wanted, end > low, stretches < Self.stretchLimit {
      stretches += 1
      let start = max(low, end - Int64(request.wanted - found.count) * interval.length)
      let before = try newest(start)
      // Includes the interval before, to know whether it was observed.
      let kept = try read((start - interval.length)..<end)
      take(start..<end, kept, after: before)
      end = start
      let older = max(
        before.map { interval.start(of: $0.start) + interval.length } ?? low,
        rings.keys.lazy.filter { $0 < start }.max().map { $0 + interval.length } ?? low)
      guard older > low else { return ChartPage(found, request, rest: nil, now: now) }
      end = max(older, Self.observed(before: start, kept, interval))
    }
    return ChartPage(found, request, rest: end > low ? end : nil, now: now)
  }

  /// The beginning of the unobserved time before `start`, or `start` if that time was observed.
  private static func observed(before start: Timestamp, _ kept: HistoryRange, _ interval: CandleInterval) -> Timestamp {
    guard let covered = kept.coveredFrom, covered < start else { return .distantPast }
    guard let gap = kept.gaps.last(where: { $0.start < start && $0.end >= start }) else { return start }
    return interval.ceiling(of: gap.start)
  }

  private mutating func take(_ range: Range<Timestamp>, _ kept: HistoryRange, after before: StoredCandle?) {
    let interval = request.interval
    var parts: [Timestamp: [StoredCandle]] = [:]
    for candle in kept.candles { parts[interval.start(of: candle.start), default: []].append(candle) }
    var price = before.flatMap { $0.candle(of: instrument, interval)?.close }
    var candles: [Candle] = []
    var time = range.lowerBound
    while time < range.upperBound {
      if let candle = candle(at: time, rings[time], parts[time] ?? [], after: price, kept) {
        candles.append(candle)
        price = candle.close
      }
      time = time + interval.length
    }
    found += candles.reversed()
  }

  private func candle(
    at time: Timestamp, _ own: Candle?, _ parts: [StoredCandle], after price: Int64?, _ kept: HistoryRange
  ) -> Candle? {
    if let own, own.source != .partial || !own.isClosed { return own }
    let interval = request.interval
    let end = time + interval.length
    guard end <= now else { return own }
    let stored = whole(parts, at: time, kept).flatMap { $0.candle(of: instrument, interval) }
    if let stored, stored.source != .partial { return stored }
    // Of two partial candles, the one with more volume. A partial candle without a trade means nothing.
    if let partial = [own, stored].compactMap(\.self).max(by: { $0.volume < $1.volume }), partial.volume > 0 {
      return partial
    }
    guard let price, parts.isEmpty, end + Self.settling <= now, isObserved(time..<end, kept) else { return nil }
    return Candle(
      instrument: instrument.id, interval: interval, time: time, open: price, high: price, low: price, close: price,
      volume: 0, quoteVolume: 0, trades: 0, source: .venue, isClosed: true)
  }

  private func isObserved(_ interval: Range<Timestamp>, _ kept: HistoryRange) -> Bool {
    guard let covered = kept.coveredFrom, covered <= interval.lowerBound else { return false }
    return !kept.gaps.contains { $0.start < interval.upperBound && $0.end > interval.lowerBound }
  }

  /// The candle of an interval from its stored parts.
  private func whole(_ parts: [StoredCandle], at time: Timestamp, _ kept: HistoryRange) -> StoredCandle? {
    let length = request.interval.length
    if Self.resolution(of: request.interval).length == length { return parts.first }
    var quality = StoredCandle.Quality.partial
    if isObserved(time..<(time + length), kept), parts.allSatisfy({ $0.quality != .partial }) {
      quality = parts.allSatisfy { $0.quality == .own } ? .own : .mixed
    }
    return StoredCandle.combined(parts, start: time, quality: quality)
  }
}

extension HistoryStore {
  /// A page of candles from an instrument's rings and the store, from one moment of both.
  /// - Parameters:
  ///   - symbol: the store's symbol of the instrument.
  ///   - rings: the last `wanted` candles of the request's interval and range, in order of time.
  package func page(
    _ request: ChartPage.Request, of symbol: String, _ instrument: Instrument, rings: [Candle], now: Timestamp
  ) throws(DataFileError) -> ChartPage {
    guard let id = id(symbol) else { return ChartPage(ringsAlone: rings, request, now: now) }
    let resolution = ChartPageBuilder.resolution(of: request.interval)
    return try file.read { db in
      var builder = ChartPageBuilder(request, of: instrument, rings: rings, now: now)
      return try builder.build { range in
        try Self.range(id, resolution, range, db)
      } newest: { time in
        try CandleTable(resolution: resolution)
          .candles(id, Timestamp(microseconds: 0)..<max(time, Timestamp(microseconds: 0)), limit: 1, newest: true, db)
          .last
      }
    }
  }
}
