/// How much something grew in each of the last 60 seconds: the line beside a feed's rate. A value of one owner.
struct SecondCounts: Sendable, Equatable {
  /// Seconds that are kept.
  static let length = 60
  /// Seconds that a rate is the mean of: one alone jumps.
  static let meanSeconds = 5

  private var counts: [UInt32] = []
  /// The place of the oldest, once all places are taken.
  private var oldest = 0
  private var total: UInt64?

  /// Books a running total once a second. The first one only says where to begin; a total that went back starts again.
  mutating func note(total now: UInt64) {
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
  var line: [UInt32] { Array(counts[oldest...] + counts[..<oldest]) }

  /// Per second, over the last `meanSeconds`; nil before the first of them is over.
  var rate: Double? {
    let last = line.suffix(Self.meanSeconds)
    guard !last.isEmpty else { return nil }
    return Double(last.reduce(0) { $0 + UInt64($1) }) / Double(last.count)
  }
}
