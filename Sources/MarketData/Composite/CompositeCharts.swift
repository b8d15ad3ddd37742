/// What a composite market shows in place of a chart of its own trades: its price, and the merged candles of its
/// members, of which its lines and its figures of 24 h are made.
package struct CompositeCharts: Sendable {
  /// The price that all places show, at the composite's scale; nil while no member that is live has one.
  package internal(set) var price: Int64?
  /// By interval; nil if nobody needs its candles.
  var series = [CompositeSeries?](repeating: nil, count: CandleInterval.allCases.count)

  /// The price, or the last one that the candles know; nil before any.
  var lastPrice: Int64? { price ?? series.lazy.compactMap { $0?.candles.last?.close }.first }

  private func candles(_ interval: CandleInterval) -> [Candle] { series[Int(interval.rawValue)]?.candles ?? [] }

  /// Whether the candles of an interval are known.
  func isKnown(_ interval: CandleInterval) -> Bool { series[Int(interval.rawValue)]?.isKnown ?? false }

  func openCandle(_ interval: CandleInterval) -> Candle? { series[Int(interval.rawValue)]?.open }

  /// The candles of [`from`, `to`) in order of time, at most the last `limit`. O(candles).
  func candles(_ interval: CandleInterval, from: Timestamp, to: Timestamp, limit: Int) -> [Candle] {
    candles(interval).filter { $0.time >= from && $0.time < to }.suffix(limit)
  }

  /// The line of a range. O(candles + points).
  func line(_ range: ChartRange, points: Int, now: Timestamp) -> Sparkline {
    Sparkline(range, points: points, of: candles(range.candles.interval), price: price, now: now)
  }

  /// The figures of the last 24 h, from the minutes that traded: the newest one and the 1,439 before it, as for any
  /// market. O(minutes).
  func figures(now: Timestamp) -> WindowFigures {
    var figures = WindowFigures()
    let newest = CandleInterval.minute.start(of: now)
    for candle in candles(.minute) where candle.volume > 0 && newest - candle.time < Microseconds.day {
      figures.open = figures.open ?? candle.open
      figures.high = max(figures.high ?? candle.high, candle.high)
      figures.low = min(figures.low ?? candle.low, candle.low)
      figures.last = candle.close
      let (volume, overflow) = figures.volume.addingReportingOverflow(candle.volume)
      figures.volume = overflow ? .max : volume
      figures.quoteVolume = Self.sum(figures.quoteVolume, candle.quoteVolume)
      figures.trades = Self.sum(figures.trades, candle.trades)
    }
    guard let price else { return figures }
    figures.high = figures.high.map { max($0, price) }
    figures.low = figures.low.map { min($0, price) }
    figures.last = price
    return figures
  }

  private static func sum<T: FixedWidthInteger>(_ a: T?, _ b: T?) -> T? {
    guard let a, let b else { return nil }
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? nil : sum
  }

  /// From when on the last 24 h were observed at all members; nil if all of them were. O(minutes).
  func incompleteSince(now: Timestamp) -> Timestamp? {
    Coverage(of: candles(.minute), now: now).incompleteSince(now: now)
  }
}

extension Coverage {
  /// The times of candles without `partial` ones, up to `now`.
  /// - Parameter candles: in order of time.
  init(of candles: some Sequence<Candle>, now: Timestamp) {
    var run = CoverageRun(Coverage())
    for candle in candles where candle.source != .partial && candle.time < now {
      run.add(TimeSpan(from: candle.time, to: min(candle.end, now)))
    }
    run.finish()
    self = run.coverage
  }
}

extension Sparkline {
  /// The line of a range that ends at `now`, made of candles. Each gives its close to the bucket in which it ends; the
  /// open one gives none. O(candles + points).
  /// - Parameters:
  ///   - n: the most points, 1 or more; limited to the range's buckets.
  ///   - candles: in order of time, each once, not longer than the range's buckets or of minutes.
  ///   - price: the last point; nil: the last close.
  init(_ range: ChartRange, points n: Int, of candles: [Candle], price: Int64?, now: Timestamp) {
    let ended = candles.prefix { $0.end <= now }
    var length = range.bucketLength
    func bucket(_ candle: Candle) -> Int64 { floorDivide(candle.end.rawValue - Microseconds.millisecond, length) }
    let present = floorDivide(now.rawValue, length)
    if range == .all, let first = ended.first {
      // As the ring of all days does: its buckets double until all days fit.
      while floorDivide(present, length / range.bucketLength) - bucket(first) >= Int64(range.bucketCount),
        length < RangeLines.longestBucket
      {
        length *= 2
      }
    }
    let known = ended.isEmpty ? nil : bucket(ended[0])...bucket(ended[ended.endIndex - 1])
    let slices = Slices(n, range, length: length, known: known, now: now)
    self = .empty(range, now: now)
    (from, step) = (slices.start(slices.last), slices.step)
    var index = ended.startIndex
    var last: Int64?
    let start = slices.firstBucket(slices.first)
    while index < ended.endIndex, bucket(ended[index]) < start {
      last = ended[index].close
      index += 1
    }
    open = last ?? ended.first?.open ?? price
    points.reserveCapacity(Int(slices.last - slices.first + 1))
    for slice in slices.first...slices.last {
      let next = slices.firstBucket(slice + 1)
      while index < ended.endIndex, bucket(ended[index]) < next {
        last = ended[index].close
        index += 1
      }
      guard let last else { continue }
      if points.isEmpty { from = slices.start(slice) }
      points.append(last)
    }
    if let price {
      if points.isEmpty { points.append(price) } else { points[points.count - 1] = price }
    }
    let coverage = Coverage(of: candles, now: now)
    let window = TimeSpan(from: slices.start(slices.first), to: now)
    // Nothing shorter than a candle can be told.
    let shortest = max(length, candles.last?.interval.length ?? 0)
    coveredFrom = coverage.start(in: window)
    gaps = coverage.gaps(in: window, shortest: shortest)
    // A gap that continues grows by whole candles, so that a line at rest stays the same.
    guard let gap = gaps.last, gap.to == now, let end = candles.last?.interval.start(of: now) else { return }
    gaps.removeLast()
    if gap.from < end { gaps.append(TimeSpan(from: gap.from, to: end)) }
  }

  /// The newest point, as updates have it; nil without points.
  package var tip: SparklineTip? {
    guard let price = points.last else { return nil }
    return SparklineTip(from: from, step: step, index: points.count - 1, price: price, revision: 0)
  }

  /// Whether a client that has this line has `next`, made of candles too, after an update with the newest point of
  /// `next`: it drops as many points from the front as `from` moved, and repeats the last one up to the new one.
  /// O(points).
  package func leads(to next: Sparkline, now: Timestamp) -> Bool {
    guard let tip = next.tip, step == next.step, step > 0, from <= next.from, !points.isEmpty,
      hasCoverage(of: next, now: now)
    else { return false }
    let moved = Int(clamping: (next.from - from + step / 2) / step)
    var kept = points.dropFirst(min(moved, points.count))
    if kept.isEmpty { kept = points.suffix(1) }
    let last = kept[kept.endIndex - 1]
    for index in 0..<tip.index where next.points[index] != (index < kept.count ? kept[kept.startIndex + index] : last) {
      return false
    }
    return true
  }

  /// Whether no gap began or ended since this line, and no earlier time became known.
  private func hasCoverage(of next: Sparkline, now: Timestamp) -> Bool {
    if let old = coveredFrom, let new = next.coveredFrom {
      guard new >= old else { return false }
    } else if coveredFrom != next.coveredFrom {
      return false
    }
    guard next.gaps.count <= gaps.count else { return false }
    return zip(gaps.suffix(next.gaps.count), next.gaps).allSatisfy { old, new in
      // A gap that continues is no news.
      old.from == new.from && (old.to == new.to || new.to == range.candles.interval.start(of: now))
    }
  }
}
