import HeapModule

/// Hints of the levels or times that rules wait for, the nearest first. The engine checks each hint that it takes, as
/// a hint may be void. `rebuild` drops void hints when they may be half of all.
struct HintHeap<Entry: Comparable> {
  private var heap = Heap<Entry>()
  private var rebuildAt: Int32
  private let fewest: Int32

  /// - Parameter fewest: with fewer entries than this, the heap is not rebuilt.
  init(fewest: Int32) {
    self.fewest = fewest
    rebuildAt = fewest
  }

  var count: Int { heap.count }
  var needsRebuild: Bool { heap.count >= rebuildAt }
  var min: Entry? { heap.min }
  var unordered: [Entry] { heap.unordered }

  /// O(log n).
  mutating func insert(_ entry: Entry) { heap.insert(entry) }

  /// O(log n).
  mutating func popMin() -> Entry? { heap.popMin() }

  /// Keeps the entries for which `isValid` returns true. O(n).
  mutating func rebuild(_ isValid: (Entry) -> Bool) {
    heap.removeAll { !isValid($0) }
    rebuildAt = max(fewest, Int32(clamping: 2 * heap.count))
  }
}

/// A level that a leaf waits for. A leaf that no longer waits raises its stamp.
struct LevelHint: Comparable {
  var level: Int64
  var leaf: UInt32
  var stamp: UInt32

  static func < (a: LevelHint, b: LevelHint) -> Bool {
    (a.level, a.leaf, a.stamp) < (b.level, b.leaf, b.stamp)
  }
}

extension HintHeap<LevelHint> {
  /// The nearest level; `.max` if the heap is empty, a level that no series reaches.
  var first: Int64 { min?.level ?? .max }
}

/// A time that the engine waits for on one of its clocks.
struct WakeHint: Comparable {
  enum Kind: UInt8 { case expiry, hours, ring, countdown, snooze, stale, window }

  var time: Int64
  /// The rule, the leaf, or the change window.
  var index: UInt32
  /// The rule's generation or the leaf's stamp.
  var stamp: UInt32
  var kind: Kind

  static func < (a: WakeHint, b: WakeHint) -> Bool {
    (a.time, a.index, a.stamp, a.kind.rawValue) < (b.time, b.index, b.stamp, b.kind.rawValue)
  }
}

extension HintHeap<WakeHint> {
  /// The earliest time; `.max` if the heap is empty.
  var first: Int64 { min?.time ?? .max }

  mutating func popMin(dueAt now: Int64) -> WakeHint? { first <= now ? popMin() : nil }
}
