/// The last price of each of n equal slices of a ring's span.
///
/// Slices start at multiples of their length since 1970, so that a point keeps its slice until it falls out at the
/// front; the last slice is the one of now, and is not over. A bucket belongs to the slice in which it starts. A slice
/// without trades repeats the one before. Before any trade there are no points, so a young line is shorter than n, and
/// `from` is where its first point stands.
package struct Sparkline: Sendable, Equatable {
  /// The start of the first point's slice; that of the present slice if there are no points.
  package var from: Timestamp
  /// The length of a slice, µs, rounded down where the span does not divide evenly.
  package var step: Int64
  /// From the oldest to the newest, at most as many as were asked for, no gaps.
  package var points: [Int64]
}

/// The newest point of a sparkline: what an update needs.
///
/// A client that holds the points before takes it over by dropping from the front as many as `from` moved by, and
/// setting or appending the point at `index`, repeating the last one in between. If `revision` differs from the one
/// before, points further back changed too (a late trade) and the line must be sent anew.
package struct SparklineTip: Sendable, Equatable {
  /// As in the `Sparkline` of the same moment.
  package var from: Timestamp
  package var step: Int64
  /// The place of the newest point.
  package var index: Int
  package var price: Int64
  package var revision: UInt32
}

extension BucketRing {
  /// The line of `n` points that ends at `now`. O(buckets).
  /// - Parameter n: 1…`count`; held within that.
  package func sparkline(points n: Int, now: Timestamp) -> Sparkline {
    let slices = Slices(n, of: self, now: now)
    var line = Sparkline(from: slices.start(slices.last), step: span / slices.perSpan, points: [])
    guard !isEmpty else { return line }
    line.points.reserveCapacity(Int(slices.perSpan))
    var number = slices.firstBucket(slices.first)
    var price = lastPrice(before: number)
    number = max(number, low)
    for slice in slices.first...slices.last {
      let next = slices.firstBucket(slice + 1)
      while number < next, number <= head {
        if let bucket = bucket(number) { price = bucket.close }
        number += 1
      }
      guard let price else { continue }
      if line.points.isEmpty { line.from = slices.start(slice) }
      line.points.append(price)
    }
    return line
  }

  /// The newest point of the line of `n` points that ends at `now`; nil before any trade. O(1).
  /// - Parameter n: 1…`count`; held within that.
  package func sparklineTip(points n: Int, now: Timestamp) -> SparklineTip? {
    let slices = Slices(n, of: self, now: now)
    guard let price = lastPrice else { return nil }
    let first = hasPrice(before: slices.firstBucket(slices.first)) ? slices.first : slices.slice(low)
    return SparklineTip(
      from: slices.start(first), step: span / slices.perSpan, index: Int(slices.last - first), price: price,
      revision: closeRevision)
  }

  /// How bucket numbers map to slice numbers.
  private struct Slices {
    let perSpan: Int64
    let buckets: Int64
    let span: Int64
    let first: Int64
    let last: Int64

    init(_ n: Int, of ring: borrowing BucketRing, now: Timestamp) {
      perSpan = Int64(min(max(n, 1), ring.count))
      buckets = Int64(ring.count)
      span = ring.span
      last = floorDivide(ring.windowHead(now: now) * perSpan, buckets)
      first = last - perSpan + 1
    }

    func slice(_ bucket: Int64) -> Int64 { floorDivide(bucket * perSpan, buckets) }

    /// The first bucket that starts in the slice.
    func firstBucket(_ slice: Int64) -> Int64 { -floorDivide(-slice * buckets, perSpan) }

    func start(_ slice: Int64) -> Timestamp {
      let spans = floorDivide(slice, perSpan)
      return Timestamp(microseconds: spans * span + (slice - spans * perSpan) * span / perSpan)
    }
  }
}
