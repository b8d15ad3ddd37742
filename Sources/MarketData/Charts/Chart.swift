/// The history of one instrument for charts: the lines of all ranges, the minutes of a day with the rolling figures,
/// the candles made of them, and when the market was observed.
///
/// `add` is O(1). Nothing is allocated after `init`, except for answers.
package struct Chart: ~Copyable {
  /// How long after its end a candle closes, µs.
  package static let grace = Microseconds.second

  package internal(set) var lines: RangeLines
  var minutes: MinuteRing
  /// By range, because a restored candle covers lines with long buckets, but not those with shorter ones.
  var coverage = ChartRange.allCases.map { _ in Coverage() }
  /// Minutes before this one are closed; `MinuteRing.none` before anything is known.
  private(set) var closedBefore = MinuteRing.none
  /// Closed minutes that changed since their candle was last issued: bit n of `lateBits` for minute n modulo its bits.
  private var lateBits = [UInt64](repeating: 0, count: 23)
  private var lateMinutes = Chart.noMinutes
  /// Grows with everything that may change a candle, except time.
  package internal(set) var revision: UInt64 = 0
  /// Grows whenever the observation of the market begins or ends.
  package internal(set) var coverageRevision: UInt32 = 0
  /// The earliest end of an observation since `takeInterruption` was called; nil if none has ended.
  private var interruption: Timestamp?
  /// The end of the last observation, as far as trades of it may have been under way; see `endObserving(at:heard:)`.
  var unsure: TimeSpan?
  private var folds = CandleInterval.allCases.map { _ in Fold() }

  private static let noMinutes: (first: Int64, last: Int64) = (.max, .min)

  /// The sum of the finished minutes of an open candle.
  private struct Fold {
    var start = MinuteRing.none
    var end = MinuteRing.none
    var revision: UInt32 = 0
    var sums = CandleSums()
  }

  /// The bytes of a chart, without the allocator's overhead.
  package static var byteCount: Int {
    RangeLines.byteCount + MinuteRing.byteCount + ChartRange.allCases.count * coverageBytes
  }

  /// The bytes of the coverage of a range.
  package static var coverageBytes: Int {
    (Coverage.limit + 1) * MemoryLayout<TimeSpan>.stride + MemoryLayout<Coverage>.stride
  }

  package init() {
    lines = RangeLines()
    minutes = MinuteRing()
  }

  /// A chart that keeps as little as possible, for an instrument that is not charted.
  init(uncharted: Void) {
    lines = RangeLines(bucketLimit: 1)
    minutes = MinuteRing(window: 1, spare: 0)
  }

  // MARK: Trades and time

  /// The price of the last trade by time; nil before any.
  package var lastPrice: Int64? { lines.lastPrice }

  /// Adds a trade at its own time. O(1), amortised. Returns whether it changed a closed candle, so that `reissue` has
  /// work.
  @inline(__always)
  package mutating func add(price: Int64, size: Int64, time: Timestamp, now: Timestamp) -> Bool {
    if closedBefore == MinuteRing.none { startMinutes(at: now) }
    revision &+= 1
    lines.add(price: price, time: time)
    guard let minute = minutes.add(price: price, size: size, time: time) else { return false }
    return markLate(minute)
  }

  /// Moves lines and figures to `now`. Amortised O(1).
  package mutating func advance(to now: Timestamp) {
    lines.advance(to: now)
    minutes.advance(to: now)
  }

  /// The market is observed from `now` on. O(1).
  package mutating func beginObserving(at now: Timestamp) {
    coverageRevision &+= 1
    for index in coverage.indices { coverage[index].begin(at: now) }
  }

  /// The market has not been observed since `time`. O(1).
  /// - Parameter heard: until when something came. Trades between `time` and then may have been under way; that none
  ///   was, the number of the next trade may show (`complete`).
  package mutating func endObserving(at time: Timestamp, heard: Timestamp? = nil) {
    coverageRevision &+= 1
    revision &+= 1
    let day = coverage[Int(ChartRange.day.rawValue)]
    unsure = nil
    if day.isOpen, let heard, let last = day.spans.last, max(last.from, time) < heard {
      unsure = TimeSpan(from: max(last.from, time), to: heard)
    }
    interruption = min(interruption ?? time, time)
    for index in coverage.indices { coverage[index].end(at: time) }
  }

  /// When the observation has ended since the last call, even if it has begun again; the earliest time. O(1).
  mutating func takeInterruption() -> Timestamp? {
    defer { interruption = nil }
    return interruption
  }

  package var isObserved: Bool { coverage[0].isOpen }

  /// Drops everything except whether the market is observed from `now` on. O(1).
  package mutating func removeAll(now: Timestamp) {
    let wasObserved = isObserved
    lines.removeAll()
    unsure = nil
    for index in coverage.indices { coverage[index].removeAll() }
    forgetMinutes()
    guard wasObserved else { return }
    interruption = min(interruption ?? now, now)
    beginObserving(at: now)
  }

  /// Multiplies prices and sizes by powers of ten after their scales were widened. O(buckets). Returns false, and drops
  /// the prices, if one does not fit.
  package mutating func rescale(priceBy: Int64, sizeBy: Int64) -> Bool {
    guard lines.rescale(by: priceBy), minutes.rescale(priceBy: priceBy, sizeBy: sizeBy) else {
      lines.removeAll()
      forgetMinutes()
      return false
    }
    return true
  }

  // MARK: Lines and figures

  /// The line of a range that ends at `now`. O(buckets).
  /// - Parameter points: the most points; 1 or more, limited to the range's buckets.
  package mutating func line(_ range: ChartRange, points: Int, now: Timestamp) -> Sparkline {
    look(at: now)
    var line = lines.line(range, points: points, now: now)
    (line.coveredFrom, line.gaps) = observed(range, points: points, now: now)
    return line
  }

  /// From when on that line was observed, apart from gaps. O(1), because the coverage is bounded.
  package mutating func observed(
    _ range: ChartRange, points: Int, now: Timestamp
  ) -> (from: Timestamp?, gaps: [TimeSpan]) {
    let start = lines.start(range, points: points, now: now)
    let window = TimeSpan(from: start, to: max(start, now))
    let bucket = lines.window(range, now: now).bucket
    let coverage = coverage[Int(range.rawValue)]
    return (coverage.start(in: window), coverage.gaps(in: window, shortest: bucket))
  }

  /// The newest point of that line; nil before any price. O(1).
  package mutating func tip(_ range: ChartRange, points: Int, now: Timestamp) -> SparklineTip? {
    look(at: now)
    return lines.tip(range, points: points, now: now)
  }

  /// Its price at the beginning; nil before any price. O(buckets without trades before it).
  package mutating func open(_ range: ChartRange, points: Int, now: Timestamp) -> Int64? {
    look(at: now)
    return lines.open(range, points: points, now: now)
  }

  /// Call this before a line is shown. Then a late trade of an earlier bucket raises the line's revision, as it must,
  /// because the point of that bucket has been shown.
  private mutating func look(at now: Timestamp) { lines.advance(to: now) }

  /// The gateway's own figures of the last 24 h. O(1), amortised.
  package mutating func figures(now: Timestamp) -> WindowFigures { minutes.figures(now: now) }

  /// From when on the last 24 h were observed without a gap of a minute or longer; nil if all of them were.
  package func incompleteSince(now: Timestamp) -> Timestamp? {
    coverage[Int(ChartRange.day.rawValue)].incompleteSince(now: now)
  }

  /// The first moment after `now` at which the line of a range may change without new data; never later than the real
  /// change.
  package mutating func nextLineChange(_ range: ChartRange, after now: Timestamp) -> Timestamp {
    let length = range.bucketLength
    let bucket = Timestamp(microseconds: (floorDivide(now.rawValue, length) + 1) * length)
    let shortest = lines.window(range, now: now).bucket
    return min(bucket, coverage[Int(range.rawValue)].nextChange(after: now, length: nil, shortest: shortest))
  }

  /// The same for the figures of the last 24 h and their coverage.
  package func nextFigureChange(after now: Timestamp) -> Timestamp {
    let minute = Timestamp(microseconds: (MinuteRing.number(of: now) + 1) * Microseconds.minute)
    return min(
      minute,
      coverage[Int(ChartRange.day.rawValue)].nextChange(
        after: now, length: Microseconds.day, shortest: Microseconds.minute))
  }

  // MARK: Candles

  /// The candle that is open at `now`; nil before any price. O(1), amortised; after a late trade O(minutes of it).
  package mutating func openCandle(_ interval: CandleInterval, of id: InstrumentID, now: Timestamp) -> Candle? {
    advance(to: now)
    guard !minutes.isEmpty else { return quietCandle(interval, at: MinuteRing.number(of: now), of: id, now: now) }
    let start = floorDivide(minutes.head, interval.minutes) * interval.minutes
    var fold = folds[Int(interval.rawValue)]
    if fold.start != start || fold.revision != minutes.lateRevision {
      fold = Fold(start: start, end: start, revision: minutes.lateRevision)
    }
    while fold.end < minutes.head {
      if let minute = minutes.minute(fold.end) { fold.sums.append(minute) }
      fold.end += 1
    }
    folds[Int(interval.rawValue)] = fold
    var sums = fold.sums
    if let newest = minutes.minute(minutes.head) { sums.append(newest) }
    return candle(interval, start, sums, before: nil, of: id, now: now)
  }

  /// Candles of [`from`, `to`) in order of time, at most the last `limit`; it leaves out candles that are only partly
  /// known because they are too old, and times that were not observed. O(minutes).
  package mutating func candles(
    _ interval: CandleInterval, from: Timestamp, to: Timestamp, limit: Int, of id: InstrumentID, now: Timestamp
  ) -> [Candle] {
    advance(to: now)
    guard limit > 0 else { return [] }
    let length = interval.minutes
    let head = minutes.isEmpty ? MinuteRing.number(of: now) : minutes.head
    let newest = floorDivide(head, length) * length
    let oldest = minutes.isEmpty ? head - minutes.window : oldestWhole
    var start = -floorDivide(-max(oldest, floorDivide(from.rawValue, Microseconds.minute)), length) * length
    // A time inside a candle is not its beginning.
    if Timestamp(microseconds: start * Microseconds.minute) < from { start += length }
    let end = min(newest, floorDivide(to.rawValue - 1, Microseconds.minute))
    guard start <= end else { return [] }
    if (end - start) / length >= Int64(limit) { start = floorDivide(end, length) * length - Int64(limit - 1) * length }
    var candles: [Candle] = []
    var before: Int64?
    while start <= end {
      if let candle = candle(interval, start, sums(start, length), before: before, of: id, now: now) {
        candles.append(candle)
        before = candle.close
      }
      start += length
    }
    return candles
  }

  /// Appends the candles that closed since the last call, the shorter before the longer. O(minutes), amortised over
  /// time.
  package mutating func closeCandles(of id: InstrumentID, now: Timestamp, into candles: inout [Candle]) {
    advance(to: now)
    guard lastPrice != nil else { return }
    let end = Self.closed(at: now)
    if closedBefore == MinuteRing.none { startMinutes(at: now) }
    var minute = max(closedBefore, end - minutes.window)
    if minute < end { revision &+= 1 }
    while minute < end {
      closedBefore = minute + 1
      for interval in CandleInterval.allCases where floorRemainder(minute + 1, interval.minutes) == 0 {
        append(interval, minute + 1 - interval.minutes, of: id, now: now, to: &candles)
      }
      minute += 1
    }
    for range in ChartRange.allCases {
      let (window, bucket) = lines.window(range, now: now)
      let slack = range == .day ? Int64(MinuteRing.spare) : 1
      coverage[Int(range.rawValue)].forget(before: window.from - slack * bucket)
    }
  }

  /// Appends the closed candles that late trades changed since they were last issued. O(minutes between them).
  package mutating func reissue(of id: InstrumentID, now: Timestamp, into candles: inout [Candle]) {
    guard lateMinutes.first <= lateMinutes.last else { return }
    var issued = [Int64](repeating: MinuteRing.none, count: CandleInterval.allCases.count)
    for minute in lateMinutes.first...lateMinutes.last {
      guard isLate(minute) else { continue }
      let bit = floorRemainder(minute, Int64(lateBits.count * 64))
      lateBits[Int(bit / 64)] &= ~(1 << UInt64(bit % 64))
      for interval in CandleInterval.allCases {
        let start = floorDivide(minute, interval.minutes) * interval.minutes
        guard start + interval.minutes <= closedBefore, issued[Int(interval.rawValue)] != start else { continue }
        issued[Int(interval.rawValue)] = start
        append(interval, start, of: id, now: now, to: &candles)
      }
    }
    lateMinutes = Self.noMinutes
  }

  /// Takes closed candles from a store or a venue, in any order. What the gateway observed itself stays. Returns the
  /// number of used ones. Others are open, of another instrument, later than `now`, not aligned, or have impossible
  /// prices. O(n log n + minutes).
  package mutating func restore(_ candles: some Sequence<Candle>, of id: InstrumentID, now: Timestamp) -> Int {
    var restored = 0
    if closedBefore == MinuteRing.none { startMinutes(at: now) }
    let day = Int(ChartRange.day.rawValue)
    var runs = coverage.map(CoverageRun.init)
    // In the order of time, their spans join, so that few are kept.
    let sorted = candles.filter { $0.instrument == id && $0.end <= now && $0.isPossible && $0.isClosed }
      .sorted { $0.time < $1.time }
    if let end = sorted.lazy.map(\.end).max() { lines.beginRestoring(until: end) }
    for candle in sorted {
      let span = TimeSpan(from: candle.time, to: candle.end)
      if candle.interval == .minute, candle.volume > 0,
        !runs[day].covers(span) || minutes.minute(MinuteRing.number(of: candle.time)).map(\.isVenue) ?? false
      {
        minutes.restore(candle)
      }
      lines.restore(candle) { runs[Int($0.rawValue)].covers(span) }
      restored += 1
      guard candle.source != .partial else { continue }
      for range in ChartRange.allCases where max(range.bucketLength, Microseconds.minute) >= candle.interval.length {
        runs[Int(range.rawValue)].add(span)
      }
    }
    for index in runs.indices {
      runs[index].finish()
      coverage[index] = runs[index].coverage
    }
    if restored > 0 {
      minutes.finishRestoring()
      revision &+= 1
      coverageRevision &+= 1
    }
    return restored
  }

  // MARK: -

  /// The minute before which all are closed.
  private static func closed(at now: Timestamp) -> Int64 { MinuteRing.number(of: now - grace) }

  /// From here on every closed minute is older than the newest of the ring.
  mutating func startMinutes(at now: Timestamp) {
    closedBefore = Self.closed(at: now)
    minutes.begin(at: now)
  }

  private mutating func forgetMinutes() {
    revision &+= 1
    minutes.removeAll()
    closedBefore = MinuteRing.none
    lateMinutes = Self.noMinutes
    for index in lateBits.indices { lateBits[index] = 0 }
  }

  /// The oldest minute from which on no minute has been dropped.
  var oldestWhole: Int64 { minutes.head - minutes.count + 1 }

  /// From the first to the last of the minutes that `reissue` is due for; nil if there is none.
  var lateRange: ClosedRange<Int64>? {
    lateMinutes.first <= lateMinutes.last ? lateMinutes.first...lateMinutes.last : nil
  }

  /// Whether `reissue` is due for a minute of `lateRange`.
  func isLate(_ minute: Int64) -> Bool {
    let bit = floorRemainder(minute, Int64(lateBits.count * 64))
    return lateBits[Int(bit / 64)] & 1 << UInt64(bit % 64) != 0
  }

  mutating func markLate(_ minute: Int64) -> Bool {
    guard minute < closedBefore else { return false }
    if !isLate(minute) {
      let bit = floorRemainder(minute, Int64(lateBits.count * 64))
      lateBits[Int(bit / 64)] |= 1 << UInt64(bit % 64)
      minutes.raiseRev(minute)
      lateMinutes = (min(lateMinutes.first, minute), max(lateMinutes.last, minute))
    }
    return true
  }

  private func sums(_ start: Int64, _ length: Int64) -> CandleSums {
    var sums = CandleSums()
    let end = min(start + length - 1, minutes.head)
    var number = max(start, minutes.low)
    while number <= end {
      if let minute = minutes.minute(number) { sums.append(minute) }
      number += 1
    }
    return sums
  }

  private func append(
    _ interval: CandleInterval, _ start: Int64, of id: InstrumentID, now: Timestamp, to candles: inout [Candle]
  ) {
    guard minutes.isEmpty || start >= oldestWhole else { return }
    let sums = sums(start, interval.minutes)
    if let candle = candle(interval, start, sums, before: nil, of: id, now: now) { candles.append(candle) }
  }

  /// - Parameter before: the previous price, if known.
  func candle(
    _ interval: CandleInterval, _ start: Int64, _ sums: CandleSums, before: Int64?, of id: InstrumentID, now: Timestamp
  ) -> Candle? {
    let time = Timestamp(microseconds: start * Microseconds.minute)
    guard sums.hasPrice else { return quietCandle(interval, at: start, before: before, of: id, now: now) }
    let isCovered = coverage[Int(ChartRange.day.rawValue)].covers(known(time, interval, now: now))
    return Candle(
      instrument: id, interval: interval, time: time, open: sums.open, high: sums.high, low: sums.low,
      close: sums.close, volume: sums.volume, quoteVolume: sums.hasQuoteVolume ? sums.quoteVolume : nil,
      trades: sums.hasTrades ? sums.trades : nil, rev: sums.rev,
      source: !isCovered ? .partial : sums.isVenue ? .venue : .own, isClosed: start + interval.minutes <= closedBefore)
  }

  /// A candle of an interval that was at least partly observed and had no trade: it has the previous price.
  private func quietCandle(
    _ interval: CandleInterval, at minute: Int64, before: Int64? = nil, of id: InstrumentID, now: Timestamp
  ) -> Candle? {
    let start = floorDivide(minute, interval.minutes) * interval.minutes
    let time = Timestamp(microseconds: start * Microseconds.minute)
    let past = TimeSpan(from: time, to: max(time, min(time + interval.length, now)))
    let day = coverage[Int(ChartRange.day.rawValue)]
    let observed = day.start(in: past).map { $0 < past.to } ?? false
    guard observed || past.from == past.to, let price = before ?? price(before: time) else {
      return nil
    }
    return Candle(
      instrument: id, interval: interval, time: time, open: price, high: price, low: price, close: price, volume: 0,
      quoteVolume: 0, trades: 0, source: day.covers(known(time, interval, now: now)) ? .own : .partial,
      isClosed: start + interval.minutes <= closedBefore)
  }

  /// The time of a candle of which all trades have to be known. The coverage of an observed instrument has no end, but
  /// missing trades may have a time that is still to come, if the venue's clock is ahead.
  private func known(_ time: Timestamp, _ interval: CandleInterval, now: Timestamp) -> TimeSpan {
    let end = time + interval.length
    return TimeSpan(from: time, to: isObserved ? end : max(time, min(end, now)))
  }

  private func price(before time: Timestamp) -> Int64? {
    if let last = lines.lastTradeTime, last < time { return lastPrice }
    return minutes.lastPrice(before: MinuteRing.number(of: time))
  }
}

extension Candle {
  /// Whether its time is a multiple of its interval, and its prices and sums are possible.
  var isPossible: Bool {
    Timestamp.readable.contains(time) && interval.start(of: time) == time && low > 0 && low <= min(open, close)
      && high >= max(open, close) && (0...Candle.volumeLimit).contains(volume)
      && (0...Candle.volumeLimit).contains(quoteVolume ?? 0) && (0...Candle.tradeLimit).contains(trades ?? 0)
  }
}
