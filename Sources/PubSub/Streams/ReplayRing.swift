import Bytes
import MarketData

/// The last messages of a stream, without a gap, for returning clients and for clients that cannot take them yet.
/// Bounded by its `Limits`.
struct ReplayRing {
  struct Limits {
    /// The number of events in the messages; on state channels each message counts as one.
    var events: Int
    var bytes: Int

    /// For event channels: 2,000 events.
    static let events = Limits(events: 2_000, bytes: 512 << 10)

    /// For channels whose updates are differences: a replay that is larger than a snapshot is useless.
    static func differences(snapshotBytes: Int) -> Limits { Limits(events: 500, bytes: snapshotBytes) }
  }

  struct Item {
    var frame: StreamFrame
    var time: Timestamp
    /// The events and bytes of all messages that were added before it, also of dropped ones.
    fileprivate(set) var eventsBefore: UInt64
    fileprivate(set) var bytesBefore: UInt64

    /// The events of all messages up to and including it.
    var eventsAfter: UInt64 { eventsBefore + ReplayRing.events(of: frame) }
  }

  /// The age at which a message is dropped, µs.
  static let ageLimit = 120 * Microseconds.second

  private var items: [Item] = []
  private var head = 0
  /// The events of all messages that were ever added, and their bytes.
  private(set) var totalEvents: UInt64 = 0
  private var totalBytes: UInt64 = 0

  /// The events without those of the last message.
  var eventsBeforeLast: UInt64 { items.last?.eventsBefore ?? totalEvents }

  var count: Int { items.count - head }
  /// The bytes of the stored messages.
  var bytes: Int { head < items.count ? Int(totalBytes - items[head].bytesBefore) : 0 }

  /// Adds the message that follows the last one. Amortised O(1).
  mutating func append(_ frame: StreamFrame, time: Timestamp, limits: Limits) {
    items.append(Item(frame: frame, time: time, eventsBefore: totalEvents, bytesBefore: totalBytes))
    totalEvents += Self.events(of: frame)
    totalBytes += UInt64(frame.bytes.count)
    while head < items.count,
      isBeyond(items[head], limits) || time - items[head].time > Self.ageLimit
    {
      head += 1
    }
    compact()
  }

  /// Drops the oldest messages until at most `limit` bytes are stored.
  mutating func trim(toBytes limit: Int) {
    while head < items.count, bytes > limit { head += 1 }
    compact()
  }

  mutating func removeAll() { self = ReplayRing() }

  /// Drops all messages, because `events` events after them are missing.
  mutating func skip(events: UInt64) {
    let total = totalEvents + max(1, events)
    self = ReplayRing()
    totalEvents = total
  }

  /// The messages after `seq` up to the last one; nil if one of them has been dropped. O(log n) to find them.
  func frames(after seq: UInt64, now: Timestamp) -> [StreamFrame]? {
    let index = firstIndex { $0.frame.prev >= seq }
    guard index < items.count, items[index].frame.prev == seq, now - items[index].time <= Self.ageLimit else {
      return nil
    }
    return items[index...].map(\.frame)
  }

  /// All stored messages, oldest first.
  var messages: ArraySlice<Item> { items[head...] }

  /// The stored messages after `seq`, without the oldest ones beyond `limits`, but always with the last one. O(log n).
  func items(after seq: UInt64, limits: Limits) -> ArraySlice<Item> {
    let known = firstIndex { $0.frame.seq > seq }
    guard known < items.count else { return [] }
    let near = firstIndex { !isBeyond($0, limits) }
    return items[min(max(known, near), items.count - 1)...]
  }

  /// The first item for which `isThere` is true. Precondition: it is then true for all later items.
  private func firstIndex(where isThere: (Item) -> Bool) -> Int {
    var low = head
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if isThere(items[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Whether the item and all later ones exceed `limits`.
  private func isBeyond(_ item: Item, _ limits: Limits) -> Bool {
    totalEvents - item.eventsBefore > UInt64(limits.events) || totalBytes - item.bytesBefore > UInt64(limits.bytes)
  }

  private static func events(of frame: StreamFrame) -> UInt64 { max(1, UInt64(frame.events)) }

  /// Frees the frames before `head`, which are at most half of the array.
  private mutating func compact() {
    guard head > 16, head * 2 > items.count else { return }
    items.removeFirst(head)
    head = 0
  }
}
