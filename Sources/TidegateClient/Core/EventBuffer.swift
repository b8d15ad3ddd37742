/// Events between a connection and its consumer: bounded, merging what only matters in its latest state.
///
/// One entry per state stream, at most: a newer value replaces the unread one in its place, book updates are added to
/// it. Everything else is queued up to `limit`; past it the oldest goes and is counted.
package struct EventBuffer {
  private enum Key: Hashable {
    case stream(Int64)
    case heartbeat
  }

  private struct Entry {
    var event: TidegateEvent
    var key: Key?
    /// How many breaks (gap, move, disconnection) stood before it: a value is not merged backwards over a break.
    var era: Int
  }

  /// Queued events that cannot be merged.
  let limit: Int
  /// Entries in order; nil where one was taken out of the middle.
  private var entries: [Entry?] = []
  private var head = 0
  /// Position of the entry of a key, counted from the start of `entries`.
  private var positions: [Key: Int] = [:]
  private var era = 0
  private var unmerged = 0
  private var dropped = 0
  /// Where to look for the oldest unmergeable entry.
  private var dropCursor = 0

  package init(limit: Int) { self.limit = max(1, min(limit, 100_000)) }

  /// Number of events that `next` will return.
  package var count: Int { positions.count + unmerged + (dropped > 0 ? 1 : 0) }
  package var isEmpty: Bool { count == 0 }

  /// Puts an event in. Amortised O(1), plus the levels of a book that is merged.
  package mutating func append(_ event: TidegateEvent) {
    let key: Key?
    switch event {
    case .snapshot(let info, _) where info.channel.isState, .update(let info, _) where info.channel.isState:
      key = .stream(info.stream)
    case .heartbeat: key = .heartbeat
    case .moved(_, let from):
      // It goes on with a snapshot: nobody needs what is unread of the number that it had.
      if let position = positions.removeValue(forKey: .stream(from)) { entries[position] = nil }
      era += 1
      key = nil
    case .disconnected, .gap, .outOfSync:
      era += 1
      key = nil
    default: key = nil
    }
    guard let key else {
      if unmerged >= limit { dropOldest() }
      unmerged += 1
      entries.append(Entry(event: event, key: nil, era: era))
      return
    }
    if let position = positions[key], let old = entries[position] {
      if old.era == era {
        entries[position]?.event = Self.merge(old.event, event)
        return
      }
      entries[position] = nil
    }
    positions[key] = entries.count
    entries.append(Entry(event: event, key: key, era: era))
    compactIfNeeded()
  }

  /// Takes the oldest event. Amortised O(1).
  package mutating func next() -> TidegateEvent? {
    if dropped > 0 {
      defer { dropped = 0 }
      return .dropped(count: dropped)
    }
    while head < entries.count {
      let entry = entries[head]
      entries[head] = nil
      head += 1
      guard let entry else { continue }
      if let key = entry.key { positions[key] = nil } else { unmerged -= 1 }
      if head == entries.count { removeTaken() }
      return entry.event
    }
    removeTaken()
    return nil
  }

  private mutating func dropOldest() {
    dropCursor = max(dropCursor, head)
    while dropCursor < entries.count {
      if let entry = entries[dropCursor], entry.key == nil {
        entries[dropCursor] = nil
        unmerged -= 1
        dropped += 1
        compactIfNeeded()
        return
      }
      dropCursor += 1
    }
  }

  private mutating func removeTaken() {
    entries.removeAll(keepingCapacity: entries.capacity < 4096)
    head = 0
    dropCursor = 0
  }

  /// Closes the holes when they are most of the array, so that memory follows what is queued.
  private mutating func compactIfNeeded() {
    guard entries.count > 64, entries.count > 2 * (positions.count + unmerged) else { return }
    entries = entries[head...].filter { $0 != nil }
    head = 0
    dropCursor = 0
    for (index, entry) in entries.enumerated() { if let key = entry?.key { positions[key] = index } }
  }

  /// `new` on top of the unread `old` of the same stream.
  static func merge(_ old: TidegateEvent, _ new: TidegateEvent) -> TidegateEvent {
    switch (old, new) {
    case (.snapshot(let info, .book(let levels)), .update(_, .book(let change))):
      var view = BookView()
      view.replace(with: levels)
      view.update(with: change)
      return .snapshot(
        info,
        .book(
          BookLevels(
            bids: view.bids, asks: view.asks, spread: change.spread, spreadPercent: change.spreadPercent,
            time: change.time ?? levels.time)))
    case (.update(let info, .book(let levels)), .update(_, .book(let change))):
      return .update(
        info,
        .book(
          BookLevels(
            bids: combine(levels.bids, change.bids), asks: combine(levels.asks, change.asks), spread: change.spread,
            spreadPercent: change.spreadPercent, time: change.time ?? levels.time)))
    case (.snapshot(let info, _), .update(_, let payload)): return .snapshot(info, payload)
    default: return new
    }
  }

  /// Changes of one side, of each price the latest, in the order of those: applied one after the other they come to the
  /// same as all.
  private static func combine(_ old: [BookLevel], _ new: [BookLevel]) -> [BookLevel] {
    var levels: [BookLevel?] = old + new
    var indexes: [ExactDecimal: Int] = [:]
    for (index, level) in (old + new).enumerated() {
      if let earlier = indexes.updateValue(index, forKey: level.price) { levels[earlier] = nil }
    }
    return levels.compactMap(\.self)
  }
}
