/// The last price of each of at most n equal slices of a range, with its coverage.
///
/// Slices start at multiples of their length since 1970, so that a point keeps its slice until it leaves the line at
/// the front. The last slice contains the present and is not finished. A bucket belongs to the slice in which it
/// starts. A slice without trades repeats the previous price. There are no points before the first known price, so a
/// young line has fewer than n points, and `from` is the start of its first point's slice. Slices of `all` are whole
/// buckets, as few as give at most n points.
package struct Sparkline: Sendable, Equatable {
  package var range: ChartRange
  /// The start of the first point's slice, or of the present slice if there are no points.
  package var from: Timestamp
  /// The length of a slice, µs, rounded down if the range does not divide evenly.
  package var step: Int64
  /// From the oldest to the newest, at most the requested number, without gaps.
  package var points: [Int64]
  /// From when on the market was observed, apart from `gaps`; nil if it was not. Points before it are known prices, but
  /// trades between them may be missing.
  package var coveredFrom: Timestamp?
  /// When the market was not observed after `coveredFrom`, for a bucket of the range or longer, in order of time.
  package var gaps: [TimeSpan]

  /// The price at the start of the first point's slice: the last one before it, or the first known price. Nil without
  /// points.
  package var open: Int64?
  /// The change over the range to the last point; nil while it is unknown.
  package var change: PriceChange?

  /// A line without points, of a market without any price.
  package static func empty(_ range: ChartRange, now: Timestamp) -> Sparkline {
    Sparkline(range: range, from: now, step: 1, points: [], coveredFrom: nil, gaps: [])
  }
}

/// The newest point of a sparkline: what an update needs.
///
/// A client with the previous points drops as many from the front as `from` moved by, then sets or appends the point at
/// `index`, and repeats the last one in between. If `revision` or `step` differs from the previous one, earlier points
/// changed, too (a late trade), and the line must be sent again.
package struct SparklineTip: Sendable, Equatable {
  /// The same as in the `Sparkline` of this moment.
  package var from: Timestamp
  package var step: Int64
  /// The index of the newest point.
  package var index: Int
  package var price: Int64
  package var revision: UInt32
}

extension RangeLines {
  /// The line of at most `n` points that ends at `now`, without its coverage. O(buckets).
  /// - Parameter n: 1 or more; limited to the range's buckets.
  mutating func line(_ range: ChartRange, points n: Int, now: Timestamp) -> Sparkline {
    let ring = ring(range)
    let slices = Slices(n, of: ring, range, now: now)
    var line = Sparkline(
      range: range, from: slices.start(slices.last), step: slices.step, points: [], coveredFrom: nil, gaps: [])
    guard !ring.isEmpty else { return line }
    line.points.reserveCapacity(Int(slices.last - slices.first + 1))
    var number = slices.firstBucket(slices.first)
    var price = lastPrice(before: number, range)
    line.open = price ?? firstPrice
    number = max(number, ring.low)
    for slice in slices.first...slices.last {
      let next = slices.firstBucket(slice + 1)
      while number < next, number <= ring.head {
        if let close = close(number, range) { price = close }
        number += 1
      }
      guard let price else { continue }
      if line.points.isEmpty { line.from = slices.start(slice) }
      line.points.append(price)
    }
    return line
  }

  /// The newest point of that line; nil before any price. O(1).
  mutating func tip(_ range: ChartRange, points n: Int, now: Timestamp) -> SparklineTip? {
    let ring = ring(range)
    guard let price = lastPrice, !ring.isEmpty else { return nil }
    let slices = Slices(n, of: ring, range, now: now)
    let start = slices.firstBucket(slices.first)
    // The oldest bucket of a ring has a price.
    let isFull = ring.beforeTime != Self.never || ring.low < start
    let first = isFull ? slices.first : slices.slice(ring.low)
    return SparklineTip(
      from: slices.start(first), step: slices.step, index: Int(slices.last - first), price: price,
      revision: ring.revision)
  }

  /// The `open` of that line; nil before any price. O(buckets without trades before the line).
  mutating func open(_ range: ChartRange, points n: Int, now: Timestamp) -> Int64? {
    let ring = ring(range)
    guard !ring.isEmpty else { return nil }
    let slices = Slices(n, of: ring, range, now: now)
    return lastPrice(before: slices.firstBucket(slices.first), range) ?? firstPrice
  }

  /// The start of the first slice of a line of `n` points.
  mutating func start(_ range: ChartRange, points n: Int, now: Timestamp) -> Timestamp {
    let slices = Slices(n, of: ring(range), range, now: now)
    return slices.start(slices.first)
  }

  /// The time span of a range at `now`, and the present length of its buckets.
  mutating func window(_ range: ChartRange, now: Timestamp) -> (span: TimeSpan, bucket: Int64) {
    let ring = ring(range)
    let length = ring.length
    let head = max(ring.isEmpty ? .min : ring.head, floorDivide(now.rawValue, length))
    return (TimeSpan(from: Timestamp(microseconds: (head - ring.count + 1) * length), to: now), length)
  }
}

/// How bucket numbers map to slice numbers: `perSpan` slices to every `buckets` buckets.
struct Slices {
  let perSpan: Int64
  let buckets: Int64
  let length: Int64
  let first: Int64
  let last: Int64

  init(_ n: Int, of ring: RangeLines.Ring, _ range: ChartRange, now: Timestamp) {
    self.init(
      n, range, length: ring.length, known: ring.isEmpty ? nil : ring.low...max(ring.low, ring.head), now: now)
  }

  /// - Parameters:
  ///   - length: of a bucket, µs.
  ///   - known: the oldest bucket with a price, and the newest; nil before any price.
  init(_ n: Int, _ range: ChartRange, length: Int64, known: ClosedRange<Int64>?, now: Timestamp) {
    self.length = length
    let count = Int64(range.bucketCount)
    let present = floorDivide(now.rawValue, length)
    let head = max(known?.upperBound ?? present, present)
    let points = min(max(Int64(n), 1), count)
    guard range == .all else {
      perSpan = points
      buckets = count
      last = floorDivide(head * perSpan, buckets)
      first = last - perSpan + 1
      return
    }
    // From the first price on, but at most the ring.
    let low = known.map { max($0.lowerBound, head - count + 1) } ?? head
    var width = max(1, (head - low + points) / points)
    while floorDivide(head, width) - floorDivide(low, width) >= points, width <= count { width += 1 }
    perSpan = 1
    buckets = width
    last = floorDivide(head, width)
    first = max(floorDivide(low, width), last - points + 1)
  }

  var step: Int64 { length * buckets / perSpan }

  func slice(_ bucket: Int64) -> Int64 { floorDivide(bucket * perSpan, buckets) }

  /// The first bucket that starts in the slice.
  func firstBucket(_ slice: Int64) -> Int64 { -floorDivide(-slice * buckets, perSpan) }

  func start(_ slice: Int64) -> Timestamp {
    let spans = floorDivide(slice, perSpan)
    let span = buckets * length
    return Timestamp(microseconds: spans * span + (slice - spans * perSpan) * span / perSpan)
  }
}
