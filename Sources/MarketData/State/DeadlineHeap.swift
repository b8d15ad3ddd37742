/// What an instrument waits for, with when: a binary heap, the earliest first.
///
/// An instrument has at most one entry of each kind, so the heap holds at most five entries per instrument, and room
/// for them is made when the instrument is. An entry may turn out to be early when it comes up (a deadline moved on);
/// its owner then puts it back. Insertion and removal O(log n), `first` O(1), no allocation.
struct DeadlineHeap {
  enum Kind: UInt8 { case pulse, ticker, crossed, frozen, reissue }

  struct Entry {
    var time: Timestamp
    var instrument: InstrumentID
    var kind: Kind
  }

  static let kinds = 5

  private var entries: [Entry] = []

  var first: Timestamp { entries.first?.time ?? .distantFuture }

  mutating func reserve(instruments: Int) { entries.reserveCapacity(instruments * Self.kinds) }

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

  /// Removes and returns the earliest entry if its time has come.
  mutating func removeFirst(dueAt now: Timestamp) -> Entry? {
    guard let due = entries.first, due.time <= now else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return due }
    entries[0] = last
    var parent = 0
    while true {
      var earliest = parent
      for child in (2 * parent + 1)..<(2 * parent + 3) where child < entries.count {
        if entries[child].time < entries[earliest].time { earliest = child }
      }
      guard earliest != parent else { return due }
      entries.swapAt(parent, earliest)
      parent = earliest
    }
  }
}
