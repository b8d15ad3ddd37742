import Bytes
import MarketData

/// The last messages of a stream, without a hole, for clients that come back. Bounded by its `Limits`.
struct ReplayRing {
  struct Limits {
    /// Events that messages carry; on state channels every message counts as one.
    var events: Int
    var bytes: Int

    /// Of event channels: 2,000 events.
    static let events = Limits(events: 2_000, bytes: 512 << 10)

    /// Of channels whose updates are differences: a replay beyond the size of a snapshot is of no use.
    static func differences(snapshotBytes: Int) -> Limits { Limits(events: 500, bytes: snapshotBytes) }
  }

  /// The age beyond which a message is forgotten, µs.
  static let ageLimit = 120 * Microseconds.second

  private var items: [(frame: StreamFrame, time: Timestamp)] = []
  private var head = 0
  private var events = 0
  private(set) var bytes = 0

  var count: Int { items.count - head }

  /// Adds the message that follows the last one. Amortised O(1).
  mutating func append(_ frame: StreamFrame, time: Timestamp, limits: Limits) {
    items.append((frame, time))
    events += Self.events(of: frame)
    bytes += frame.bytes.count
    while head < items.count,
      events > limits.events || bytes > limits.bytes || time - items[head].time > Self.ageLimit
    {
      removeFirst()
    }
    compact()
  }

  /// Forgets the oldest until at most `limit` bytes are held.
  mutating func trim(toBytes limit: Int) {
    while head < items.count, bytes > limit { removeFirst() }
    compact()
  }

  mutating func removeAll() { self = ReplayRing() }

  /// The messages after `seq` up to the last one; nil if one of them is not here any more. O(log n) to find them.
  func frames(after seq: UInt64, now: Timestamp) -> [StreamFrame]? {
    var low = head
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].frame.prev < seq { low = middle + 1 } else { high = middle }
    }
    guard low < items.count, items[low].frame.prev == seq, now - items[low].time <= Self.ageLimit else { return nil }
    return items[low...].map(\.frame)
  }

  private static func events(of frame: StreamFrame) -> Int { max(1, Int(frame.events)) }

  private mutating func removeFirst() {
    events -= Self.events(of: items[head].frame)
    bytes -= items[head].frame.bytes.count
    head += 1
  }

  /// Frames before `head` are held until now; half of what is used at most.
  private mutating func compact() {
    guard head > 16, head * 2 > items.count else { return }
    items.removeFirst(head)
    head = 0
  }
}
