/// Connections of one loop in the order of arrival, to find the one that has waited longest. The queue does not retain
/// them, and skips those that have ended or no longer matter. An entry has 16 bytes.
package struct ArrivalQueue {
  private struct Entry {
    /// The connection's slot in the loop's table, which is empty after its end. A weak reference would give every
    /// connection a side table for its life.
    let token: UInt64
    let came: UInt64
  }

  /// What to do with a connection that the search meets.
  package enum Verdict {
    case take
    /// Keep it and continue the search.
    case keep
    case forget
  }

  private var entries: [Entry] = []
  /// The connections' own; it outlives them.
  private unowned(unsafe) var loop: EventLoop?
  private var first = 0
  /// The number of entries at which the queue next removes those that no longer matter.
  private var sweepsAt = 64

  package init() {}

  /// Adds a connection that arrived at `time` (ns, not before the previous one). Sometimes calls `isOfInterest` for the
  /// others. O(1) amortised.
  package mutating func append(_ connection: Connection, at time: UInt64, isOfInterest: (Connection) -> Bool) {
    loop = connection.loop
    if entries.count >= sweepsAt {
      entries.removeSubrange(..<first)
      first = 0
      let loop = loop
      entries.removeAll { Self.connection(of: $0, on: loop).map { !isOfInterest($0) } ?? true }
      // The queue then has at most twice as many entries as connections that matter.
      sweepsAt = max(64, entries.count * 2)
    }
    guard let token = connection.loop.table.token(of: connection) else { return }
    entries.append(Entry(token: token, came: time))
  }

  /// Removes and returns the first connection that arrived until `time` and that `body` takes. O(1) amortised, plus the
  /// connections that are kept.
  package mutating func popFirst(until time: UInt64, _ verdict: (Connection, _ came: UInt64) -> Verdict) -> Connection?
  {
    var index = first
    while index < entries.count, entries[index].came <= time {
      let connection = Self.connection(of: entries[index], on: loop)
      let found = connection.map { verdict($0, entries[index].came) } ?? .forget
      if found == .keep {
        index += 1
        continue
      }
      entries[index] = Entry(token: DescriptorTable.nobody, came: entries[index].came)
      if index == first { first += 1 }
      if found == .take { return connection }
      index += 1
    }
    return nil
  }

  private static func connection(of entry: Entry, on loop: EventLoop?) -> Connection? {
    loop?.table.occupant(token: entry.token) as? Connection
  }
}
