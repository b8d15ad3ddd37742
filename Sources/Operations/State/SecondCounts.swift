/// The growth of a counter in each of the last 60 seconds: the line beside a feed's rate. A value of one owner.
package struct SecondCounts: Sendable, Equatable {
  /// The kept seconds.
  package static let length = 60
  /// A rate is the mean of these seconds: the growth of a single one jumps.
  package static let meanSeconds = 5

  private var counts: [UInt32] = []
  /// The index of the oldest second, once all are used.
  private var oldest = 0
  private var total: UInt64?

  package init() {}

  /// Takes a running total once a second. The first one is only the start; a total that went back starts again.
  package mutating func note(total now: UInt64) {
    defer { total = now }
    guard let total else { return }
    let growth = UInt32(clamping: now >= total ? now - total : now)
    if counts.count < Self.length {
      counts.append(growth)
    } else {
      counts[oldest] = growth
      oldest = oldest + 1 == Self.length ? 0 : oldest + 1
    }
  }

  /// By second, the oldest first; at most `length`.
  package var line: [UInt32] { Array(counts[oldest...] + counts[..<oldest]) }

  /// Per second, over the last `meanSeconds`; nil before the first of them is over.
  package var rate: Double? {
    let last = line.suffix(Self.meanSeconds)
    guard !last.isEmpty else { return nil }
    return Double(last.reduce(0) { $0 + UInt64($1) }) / Double(last.count)
  }
}
