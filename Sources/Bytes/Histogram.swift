/// Counts of values by size, in buckets with fixed bounds: 1, 2 and 5 of every power of ten, so that a limit that
/// people name (5 ms, 1 s) is a bound and no estimate.
///
/// A plain value of one size that allocates nothing. One owner records, in 1 to 3 ns; copies of several owners are
/// added up on request.
package struct Histogram: Sendable {
  /// The most bounds; there is one more bucket for what is above the last.
  package static let boundLimit = 24

  /// Behind the last bound stands one that nothing exceeds.
  @usableFromInline var bounds = InlineArray<25, UInt64>(repeating: .max)
  /// The first bound that a value with so many significant bits may belong to.
  @usableFromInline var starts = InlineArray<65, UInt8>(repeating: 0)
  @usableFromInline var counts = InlineArray<25, UInt64>(repeating: 0)
  @usableFromInline var total: UInt64 = 0
  package let boundCount: Int

  /// - Parameters: the first and the last bound, powers of ten; at most seven powers apart.
  package init(from first: UInt64, to last: UInt64) {
    var bound = first
    var count = 0
    while bound <= last {
      for factor: UInt64 in [1, 2, 5] where bound < last || factor == 1 {
        precondition(count < Self.boundLimit, "a histogram has at most \(Self.boundLimit) bounds")
        bounds[count] = bound * factor
        count += 1
      }
      bound *= 10
    }
    boundCount = count
    for bits in 1...64 {
      let smallest = UInt64(1) << UInt64(bits - 1)
      starts[bits] = UInt8((0..<count).first { bounds[$0] >= smallest } ?? count)
    }
  }

  /// Durations in ns from 1 µs to 10 s.
  package static var durations: Histogram { Histogram(from: 1_000, to: 10_000_000_000) }

  /// Counts a value. Between a number and its double there is one bound at most, so that one comparison finds the
  /// bucket.
  @inlinable @inline(__always)
  package mutating func record(_ value: UInt64) {
    // Unchecked: there are 65 starts for 0 to 64 bits, and none is above `boundCount`, which is 24 at most.
    let start = Int(truncatingIfNeeded: starts[unchecked: 64 &- value.leadingZeroBitCount])
    counts[unchecked: start &+ (value > bounds[unchecked: start] ? 1 : 0)] &+= 1
    total &+= value
  }

  /// Adds what another one with the same bounds has counted.
  package mutating func add(_ other: Histogram) {
    precondition(boundCount == other.boundCount && bounds[0] == other.bounds[0], "histograms have the same bounds")
    for index in 0...boundCount { counts[index] &+= other.counts[index] }
    total &+= other.total
  }

  /// What was counted since an earlier copy of it was made.
  package func since(_ earlier: Histogram) -> Histogram {
    precondition(boundCount == earlier.boundCount && bounds[0] == earlier.bounds[0], "histograms have the same bounds")
    var difference = self
    for index in 0...boundCount { difference.counts[index] &-= earlier.counts[index] }
    difference.total &-= earlier.total
    return difference
  }

  /// Values counted.
  package var count: UInt64 {
    var count: UInt64 = 0
    for index in 0...boundCount { count &+= counts[index] }
    return count
  }

  /// Of all values counted.
  package var sum: UInt64 { total }

  /// The bounds, each with how many values were not above it.
  package var cumulative: [(bound: UInt64, count: UInt64)] {
    var count: UInt64 = 0
    return (0..<boundCount).map { index in
      count &+= counts[index]
      return (bounds[index], count)
    }
  }

  /// About the value that a part of all values does not exceed, estimated evenly within its bucket; the last bound if
  /// it is above that, nil if nothing was counted.
  /// - Parameter part: 0…1.
  package func quantile(_ part: Double) -> Double? {
    let all = count
    guard all > 0 else { return nil }
    let rank = part * Double(all)
    var below: UInt64 = 0
    for index in 0..<boundCount where counts[index] > 0 {
      if Double(below + counts[index]) >= rank {
        let low = index == 0 ? 0 : Double(bounds[index - 1])
        return low + (Double(bounds[index]) - low) * (rank - Double(below)) / Double(counts[index])
      }
      below += counts[index]
    }
    return Double(bounds[boundCount - 1])
  }
}
