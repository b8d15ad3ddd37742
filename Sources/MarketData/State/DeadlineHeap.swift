import HeapModule

/// The deadlines of instruments, the earliest first.
///
/// An instrument has at most one entry of each kind, so the heap holds at most five entries per instrument; their
/// memory is allocated with the instrument. If a deadline moves to a later time, its entry is due too early, and the
/// owner inserts it again. Insertion and removal O(log n), `first` O(1), no allocation.
struct DeadlineHeap {
  enum Kind: UInt8, CaseIterable { case pulse, ticker, crossed, frozen, lead, reissue }

  struct Entry: Comparable {
    var time: Timestamp
    var instrument: InstrumentID
    var kind: Kind

    static func < (a: Entry, b: Entry) -> Bool {
      (a.time.microseconds, a.instrument.index, a.kind.rawValue)
        < (b.time.microseconds, b.instrument.index, b.kind.rawValue)
    }
  }

  private var entries = Heap<Entry>()

  var first: Timestamp { entries.min?.time ?? .distantFuture }

  mutating func reserve(instruments: Int) { entries.reserveCapacity(instruments * Kind.allCases.count) }

  mutating func insert(_ entry: Entry) { entries.insert(entry) }

  /// Removes and returns the earliest entry if it is due.
  mutating func removeFirst(dueAt now: Timestamp) -> Entry? { first <= now ? entries.popMin() : nil }
}
