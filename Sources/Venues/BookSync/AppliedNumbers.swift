import MarketData

/// The numbers and times of the newest messages that were applied, to tell one of them that comes again, after its
/// successors, from a numbering that went back.
///
/// Both must be the same: a venue that begins its numbers anew, or goes back to an earlier book, sends other times with
/// them. O(`limit`), 32 bytes a message, and only looked at when a message does not follow.
struct AppliedNumbers {
  /// A message that comes again later than that counts as one that went back.
  let limit: Int

  struct Entry {
    var numbers: UpdateNumbers
    var time: Timestamp
  }

  private var entries: [Entry] = []
  /// Oldest first.
  var inOrder: [Entry] { entries.count < limit ? entries : Array(entries[next...] + entries[..<next]) }
  private var next = 0

  /// - Parameter limit: 8 for the messages of a book; more for those of a connection, which may have hundreds of books.
  init(limit: Int = 8) { self.limit = limit }

  mutating func note(_ numbers: UpdateNumbers, at time: Timestamp) {
    if entries.count < limit { return entries.append(Entry(numbers: numbers, time: time)) }
    entries[next] = Entry(numbers: numbers, time: time)
    next = next + 1 == limit ? 0 : next + 1
  }

  func contains(_ numbers: UpdateNumbers, at time: Timestamp) -> Bool {
    entries.contains { $0.numbers == numbers && $0.time == time }
  }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    next = 0
  }
}
