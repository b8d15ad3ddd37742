/// The connections and rates of each address, or of each key. A plain value without a clock.
///
/// It is bounded: if it is full, it forgets the entry without connections that was used longest ago. That entry only
/// gets its bursts back. Those with connections are never forgotten, so the table must have more room than there may be
/// connections. Every operation is O(1).
struct AdmissionTable<Key: Hashable & Sendable>: Sendable {
  enum Lane: Int, CaseIterable { case connections, handshakes, requests }

  private struct Entry {
    var key: Key
    var connections: Int32 = 0
    /// Arrival times by lane.
    var arrivals: (Int64, Int64, Int64) = (.min / 2, .min / 2, .min / 2)
    /// The neighbours among the entries without connections, ordered by last use, the oldest first.
    var previous: Int32 = -1
    var next: Int32 = -1

    subscript(lane: Lane) -> Int64 {
      get {
        switch lane {
        case .connections: arrivals.0
        case .handshakes: arrivals.1
        case .requests: arrivals.2
        }
      }
      set {
        switch lane {
        case .connections: arrivals.0 = newValue
        case .handshakes: arrivals.1 = newValue
        case .requests: arrivals.2 = newValue
        }
      }
    }
  }

  let capacity: Int
  private var indices: [Key: Int32] = [:]
  private var entries: [Entry] = []
  private var oldest: Int32 = -1
  private var newest: Int32 = -1

  /// - Parameter capacity: the most entries, 1…2³¹−1.
  init(capacity: Int) {
    precondition((1...Int(Int32.max)).contains(capacity))
    self.capacity = capacity
  }

  var count: Int { indices.count }

  func connections(of key: Key) -> Int { indices[key].map { Int(entries[Int($0)].connections) } ?? 0 }

  /// Counts a connection; false if there are already `limit`, or there is no room for another key.
  mutating func enter(_ key: Key, limit: Int) -> Bool {
    guard let index = index(of: key), Int(entries[index].connections) < limit else { return false }
    if entries[index].connections == 0 { unlink(index) }
    entries[index].connections += 1
    return true
  }

  /// Ends a connection that `enter` counted.
  mutating func leave(_ key: Key) {
    guard let index = indices[key].map({ Int($0) }), entries[index].connections > 0 else {
      preconditionFailure("a connection left that had not entered")
    }
    entries[index].connections -= 1
    if entries[index].connections == 0 { append(index) }
  }

  /// Counts an event of a lane and returns nil if it is within the rate; otherwise counts nothing and returns the µs
  /// to wait.
  mutating func take(_ lane: Lane, _ rate: Rate, _ key: Key, now: Int64) -> Int64? {
    guard let index = index(of: key) else { return 1_000_000 }
    if entries[index].connections == 0 {
      unlink(index)
      append(index)
    }
    return rate.take(&entries[index][lane], now: now)
  }

  /// The index of a key, which is created if necessary. Nil: there is no room, because every entry has connections.
  private mutating func index(of key: Key) -> Int? {
    if let index = indices[key] { return Int(index) }
    let index: Int
    if entries.count < capacity {
      index = entries.count
      entries.append(Entry(key: key))
    } else {
      guard oldest >= 0 else { return nil }
      index = Int(oldest)
      indices[entries[index].key] = nil
      unlink(index)
      entries[index] = Entry(key: key)
    }
    indices[key] = Int32(index)
    append(index)
    return index
  }

  private mutating func append(_ index: Int) {
    entries[index].previous = newest
    entries[index].next = -1
    if newest >= 0 { entries[Int(newest)].next = Int32(index) } else { oldest = Int32(index) }
    newest = Int32(index)
  }

  private mutating func unlink(_ index: Int) {
    let (previous, next) = (entries[index].previous, entries[index].next)
    if previous >= 0 { entries[Int(previous)].next = next } else { oldest = next }
    if next >= 0 { entries[Int(next)].previous = previous } else { newest = previous }
  }
}
