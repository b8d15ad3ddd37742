import MarketData

/// What a venue calls a trade.
protocol TradeName: Hashable {
  /// Whether the trade came after the other one for certain; false where names have no order.
  func isAfter(_ other: Self) -> Bool
}

extension UInt64: TradeName {
  func isAfter(_ other: UInt64) -> Bool { self > other }
}

/// The newest trades that came from somewhere, by the venue's name for each and its time: recognises a trade that is
/// sent again. The same name at another time is another trade, because a venue that begins its numbers anew uses names
/// again.
///
/// Bounded: it keeps the newest `limit` trades. Most trades are new by their number or their time: those cost a few ns
/// and no search. A search needs an index, which is built for the first one and dropped after `limit` trades without
/// one. So `contains` and `insert` are O(1) on average, whatever names and times a venue sends: the index is a hash
/// table with a seed of its own, over names and times. A trade takes the size of its name and 8 bytes, with the index
/// at most 40 more.
struct SeenTrades<Name: TradeName> {
  private struct Entry {
    var name: Name
    var time: Timestamp
  }

  private let limit: Int
  /// How far apart two reports of the same trade may date it, µs.
  private let tolerance: Int64
  /// A ring once it is full; then `oldest` is replaced next.
  private var entries: [Entry] = []
  private var oldest = 0
  /// No trade has a name after this or a time after that. Nil before the first.
  private var last: (name: Name, time: Timestamp)?
  /// The index: linear probing, at most half full; its size is a power of two. A slot is 0 if it is empty, else 32 bits
  /// of the entry's hash above the entry's index plus one. Empty while there is no index.
  private var slots: [UInt64] = []
  private var addedSinceSearch = 0
  /// Not `distantPast`: a venue may send any time.
  private var horizon = Timestamp(microseconds: .min)

  /// - Precondition: `limit` is in 1...2^24 and `tolerance` in 0...2^61.
  init(limit: Int, tolerance: Int64 = 0) {
    precondition(1...(1 << 24) ~= limit && 0...(1 << 61) ~= tolerance)
    self.limit = limit
    self.tolerance = tolerance
  }

  var count: Int { entries.count }

  /// Whether the trade has been added and is among the newest, or is older than what `close` has set.
  mutating func contains(_ name: Name, at time: Timestamp) -> Bool {
    if time < horizon { return true }
    guard let last, !name.isAfter(last.name), !isFar(time, after: last.time) else { return false }
    if slots.isEmpty { buildIndex() }
    addedSinceSearch = 0
    return isKept(name, time)
  }

  /// Adds a trade, unless it is contained. Returns whether it was added.
  @discardableResult
  mutating func insert(_ name: Name, at time: Timestamp) -> Bool {
    guard !contains(name, at: time) else { return false }
    append(name, at: time)
    return true
  }

  /// Adds a trade, whether or not it is contained.
  mutating func append(_ name: Name, at time: Timestamp) {
    if let known = last {
      if name.isAfter(known.name) { last?.name = name }
      if time > known.time { last?.time = time }
    } else {
      last = (name, time)
    }
    let entry = Entry(name: name, time: time)
    var index = entries.count
    if index < limit {
      entries.append(entry)
    } else {
      index = oldest
      if !slots.isEmpty { remove(index) }
      entries[index] = entry
      oldest = index + 1 < limit ? index + 1 : 0
    }
    guard !slots.isEmpty else { return }
    addedSinceSearch += 1
    if addedSinceSearch > limit {
      slots = []
    } else if slots.count < 2 * entries.count {
      buildIndex()
    } else {
      symbolIndex(index)
    }
  }

  /// From now on every trade older than `time` counts as contained, also one that has not come: for a source that sends
  /// trades in order and without holes, and may reach further back each time it begins.
  mutating func close(before time: Timestamp) { horizon = max(horizon, time) }

  // MARK: Index

  /// A venue may send any time: a plain difference could be out of range.
  private func isFar(_ time: Timestamp, after other: Timestamp) -> Bool {
    guard time > other else { return false }
    let (distance, isOver) = time.microseconds.subtractingReportingOverflow(other.microseconds)
    return isOver || distance > tolerance
  }

  /// The period of `time` moved by `offset`; periods are so long that the tolerance around a time reaches into two.
  /// A name that is inserted at ever other times has at most two entries in one period, and so makes no long chain.
  private func period(_ time: Timestamp, _ offset: Int64 = 0) -> Int64 {
    let (moved, isOver) = time.microseconds.addingReportingOverflow(offset)
    let value = isOver ? (offset < 0 ? .min : .max) : moved
    guard tolerance > 0 else { return value }
    let length = 2 * tolerance + 1
    return value / length - (value % length < 0 ? 1 : 0)
  }

  private func hash(_ name: Name, _ period: Int64) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(name)
    hasher.combine(period)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  private func isKept(_ name: Name, _ time: Timestamp) -> Bool {
    let own = period(time)
    if isInChain(name, time, hash(name, own)) { return true }
    guard tolerance > 0 else { return false }
    // The times within the tolerance lie in at most two periods; one of them is the time's own.
    let before = period(time, -tolerance)
    return isInChain(name, time, hash(name, before == own ? period(time, tolerance) : before))
  }

  private func isInChain(_ name: Name, _ time: Timestamp, _ hash: UInt32) -> Bool {
    let mask = slots.count - 1
    var slot = Int(hash) & mask
    while slots[slot] != 0 {
      if UInt32(slots[slot] >> 32) == hash {
        let entry = entries[Int(slots[slot] & 0xFFFF_FFFF) - 1]
        if !isFar(time, after: entry.time), !isFar(entry.time, after: time), entry.name == name { return true }
      }
      slot = (slot + 1) & mask
    }
    return false
  }

  private func content(_ index: Int) -> UInt64 {
    UInt64(hash(entries[index].name, period(entries[index].time))) << 32 | UInt64(index + 1)
  }

  private mutating func buildIndex() {
    var count = 16
    while count < 4 * entries.count, count < 2 * limit { count *= 2 }
    slots = Array(repeating: 0, count: count)
    for index in entries.indices { symbolIndex(index) }
  }

  private mutating func symbolIndex(_ index: Int) {
    let (mask, content) = (slots.count - 1, content(index))
    var slot = Int(content >> 32) & mask
    while slots[slot] != 0 { slot = (slot + 1) & mask }
    slots[slot] = content
  }

  /// Empties the slot of an entry, and moves those behind it that could not be found any more.
  private mutating func remove(_ index: Int) {
    let (mask, content) = (slots.count - 1, content(index))
    var hole = Int(content >> 32) & mask
    while slots[hole] != content { hole = (hole + 1) & mask }
    var next = (hole + 1) & mask
    while slots[next] != 0 {
      let home = Int(slots[next] >> 32) & mask
      if (next - home) & mask >= (next - hole) & mask {
        slots[hole] = slots[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    slots[hole] = 0
  }
}
