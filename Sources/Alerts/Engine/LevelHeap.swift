/// Levels that a series may reach, the nearest first: a binary heap of 16-byte entries.
///
/// Entries are never removed from the middle. A leaf that no longer waits raises its stamp, and its entries are
/// dropped when they come up; `rebuild` drops the rest when they are too many.
struct LevelHeap {
  struct Entry {
    var level: Int64
    var leaf: UInt32
    var stamp: UInt32
  }

  private var entries: ContiguousArray<Entry> = []
  /// At this many entries the dropped ones may be half: look.
  private(set) var rebuildAt: Int32 = 64

  var count: Int { entries.count }
  var needsRebuild: Bool { entries.count >= rebuildAt }
  /// The nearest level; `.max` if there is none, which no value reaches but one that no series has.
  var first: Int64 { entries.first?.level ?? .max }

  mutating func insert(_ entry: Entry) {
    var child = entries.count
    entries.append(entry)
    entries.withUnsafeMutableBufferPointer { entries in
      while child > 0 {
        let parent = (child - 1) / 2
        guard entry.level < entries[parent].level else { break }
        entries[child] = entries[parent]
        child = parent
      }
      entries[child] = entry
    }
  }

  /// Precondition: it is not empty.
  mutating func removeFirst() -> Entry {
    let first = entries[0]
    let moved = entries.removeLast()
    if !entries.isEmpty { sink(moved, from: 0) }
    return first
  }

  /// Keeps the entries that `isValid`. O(n).
  mutating func rebuild(_ isValid: (Entry) -> Bool) {
    entries.removeAll { !isValid($0) }
    for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(entries[index], from: index) }
    rebuildAt = Int32(clamping: max(64, 2 * entries.count))
  }

  var all: ContiguousArray<Entry> { entries }

  private mutating func sink(_ entry: Entry, from start: Int) {
    entries.withUnsafeMutableBufferPointer { entries in
      var parent = start
      while true {
        var child = 2 * parent + 1
        guard child < entries.count else { break }
        if child + 1 < entries.count, entries[child + 1].level < entries[child].level { child += 1 }
        guard entries[child].level < entry.level else { break }
        entries[parent] = entries[child]
        parent = child
      }
      entries[parent] = entry
    }
  }
}

/// What the engine waits for on one of its clocks, the earliest first. Entries are hints: the code that takes one looks
/// whether it still holds.
struct WakeHeap {
  enum Kind: UInt8 { case expiry, hours, ring, countdown, snooze, stale, window }

  struct Entry {
    var time: Int64
    /// The rule, the leaf, or the change window.
    var index: UInt32
    /// The rule's generation or the leaf's stamp.
    var stamp: UInt32
    var kind: Kind
  }

  private var entries: ContiguousArray<Entry> = []
  private var rebuildAt = 1_024

  var first: Int64 { entries.first?.time ?? .max }
  var count: Int { entries.count }
  var needsRebuild: Bool { entries.count >= rebuildAt }

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].time < entries[parent].time else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func removeFirst(dueAt now: Int64) -> Entry? {
    guard let due = entries.first, due.time <= now else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return due }
    entries[0] = last
    sink(from: 0)
    return due
  }

  /// Keeps the entries that `isValid`. O(n).
  mutating func rebuild(_ isValid: (Entry) -> Bool) {
    entries.removeAll { !isValid($0) }
    for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
    rebuildAt = max(1_024, 2 * entries.count)
  }

  private mutating func sink(from start: Int) {
    var parent = start
    while true {
      var earliest = parent
      for child in (2 * parent + 1)..<(2 * parent + 3) where child < entries.count {
        if entries[child].time < entries[earliest].time { earliest = child }
      }
      guard earliest != parent else { return }
      entries.swapAt(parent, earliest)
      parent = earliest
    }
  }
}
