import Bytes
import MarketData

/// Something that waits for a client's connection.
struct QueuedItem {
  enum Kind: UInt8 {
    case snapshot, update
    /// A reply, a notice or an error: belongs to no stream.
    case control
    /// Messages of a stream that there was no room for: `prev` is the first of them, `seq` the last.
    case lost
    /// Was removed; stands until the queue is next compacted.
    case removed
  }
  var kind: Kind
  var stream: UInt32
  var prev: UInt64
  var seq: UInt64
  var events: UInt32
  /// Nil for `lost` and `removed`.
  var bytes: SharedBytes?
  var time: Timestamp

  init(_ frame: StreamFrame, time: Timestamp) {
    self.kind = frame.kind == .snapshot ? .snapshot : .update
    self.stream = frame.stream.rawValue
    self.prev = frame.prev
    self.seq = frame.seq
    self.events = frame.events
    self.bytes = frame.bytes
    self.time = time
  }

  /// - Parameter events: that were in the messages from `first` to `last`.
  init(lost stream: UInt32, from first: UInt64, to last: UInt64, events: UInt64, time: Timestamp) {
    self.kind = .lost
    self.stream = stream
    self.prev = first
    self.seq = last
    self.events = UInt32(clamping: events)
    self.time = time
  }

  init(control bytes: SharedBytes, time: Timestamp) {
    self.kind = .control
    self.stream = 0
    self.prev = 0
    self.seq = 0
    self.events = 0
    self.bytes = bytes
    self.time = time
  }
}

/// Items of one kind in order. Its memory is borrowed from the hub's pool while something waits.
struct QueueLane {
  /// Removed items beyond which the lane is compacted, once they are also more than half of it.
  private static let removedLimit = 64

  private(set) var items: [QueuedItem] = []
  private var head = 0
  private var removed = 0
  /// Bytes of all items.
  private(set) var bytes = 0

  var isEmpty: Bool { items.count - head == removed }
  var count: Int { items.count - head - removed }

  /// When the first item came; `distantFuture` if there is none.
  var oldest: Timestamp {
    items[head...].first { $0.kind != .removed }?.time ?? .distantFuture
  }

  /// Takes over a spare buffer; only while it is empty and has none.
  mutating func adopt(_ spare: [QueuedItem]) { if items.capacity == 0 { items = spare } }

  /// Gives its buffer away; only while it is empty.
  mutating func release() -> [QueuedItem]? {
    guard isEmpty, items.capacity > 0 else { return nil }
    items.removeAll(keepingCapacity: true)
    head = 0
    removed = 0
    let spare = items
    items = []
    return spare
  }

  mutating func append(_ item: QueuedItem) {
    items.append(item)
    bytes += item.bytes?.count ?? 0
  }

  mutating func removeFirst() -> QueuedItem? {
    while head < items.count {
      let item = items[head]
      items[head].bytes = nil
      items[head].kind = .removed
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: true)
        head = 0
        if item.kind == .removed { removed -= 1 }
        assert(removed == 0)
      } else if item.kind == .removed {
        removed -= 1
      }
      if item.kind == .removed { continue }
      if head > 256, head * 2 > items.count {
        items.removeFirst(head)
        head = 0
      }
      bytes -= item.bytes?.count ?? 0
      return item
    }
    return nil
  }

  /// Removes what is queued of a stream; returns how many messages that were. O(count).
  mutating func removeAll(of stream: UInt32) -> Int {
    var count = 0
    for index in head..<items.count where items[index].stream == stream && items[index].kind != .removed {
      if items[index].kind != .lost { count += 1 }
      remove(at: index)
    }
    compact()
    return count
  }

  mutating func removeAll() { self = QueueLane() }

  private mutating func remove(at index: Int) {
    bytes -= items[index].bytes?.count ?? 0
    items[index].bytes = nil
    items[index].kind = .removed
    removed += 1
  }

  private mutating func compact() {
    guard removed > Self.removedLimit, removed * 2 > items.count - head else { return }
    items.removeSubrange(..<head)
    head = 0
    items.removeAll { $0.kind == .removed }
    removed = 0
  }
}
