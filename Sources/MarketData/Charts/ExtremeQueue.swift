/// The slots of the minutes that can still become the highest (or lowest) of a rolling window: a monotonic queue.
///
/// From front to back the minutes rise and their values strictly fall (rise), so the front is the extreme of the
/// window. The caller keeps the values; this keeps slots in a ring of its own. Appending is amortised O(1). A late
/// change moves the entries behind it, which for a trade that is seconds late are one or none.
struct ExtremeQueue: ~Copyable {
  private let slots: UnsafeMutablePointer<UInt16>
  private let mask: Int
  private var start = 0
  private(set) var count = 0

  /// - Parameter capacity: the number of minutes, at most 32,768.
  init(capacity: Int) {
    var size = 1
    while size < capacity { size *= 2 }
    slots = .allocate(capacity: size)
    mask = size - 1
  }

  deinit { slots.deallocate() }

  static func byteCount(capacity: Int) -> Int {
    var size = 1
    while size < capacity { size *= 2 }
    return size * 2
  }

  /// The slot at an index from the front.
  subscript(_ index: Int) -> Int { Int(slots[(start &+ index) & mask]) }

  mutating func append(_ slot: Int) {
    slots[(start &+ count) & mask] = UInt16(truncatingIfNeeded: slot)
    count += 1
  }

  mutating func removeFirst() {
    start = (start &+ 1) & mask
    count -= 1
  }

  mutating func removeLast() { count -= 1 }

  mutating func removeAll() { count = 0 }

  /// Replaces the entries of `range` by one. O(entries behind the range).
  mutating func replace(_ range: Range<Int>, by slot: Int) {
    if range.isEmpty {
      var index = count
      while index > range.lowerBound {
        slots[(start &+ index) & mask] = slots[(start &+ index &- 1) & mask]
        index -= 1
      }
      count += 1
    } else if range.count > 1 {
      let removed = range.count - 1
      for index in range.upperBound..<max(count, range.upperBound) {
        slots[(start &+ index &- removed) & mask] = slots[(start &+ index) & mask]
      }
      count -= removed
    }
    slots[(start &+ range.lowerBound) & mask] = UInt16(truncatingIfNeeded: slot)
  }
}
