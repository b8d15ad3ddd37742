import Bytes
import MarketData

/// Something that waits for a client's connection.
struct QueuedItem {
  enum Kind: UInt8 {
    case snapshot, update
    /// A reply, a notice or an error: belongs to no stream.
    case control
    /// Messages of a stream that were dropped: `prev` is the first of them, `seq` the last.
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

/// Items of one kind in order. Its memory is borrowed from the fan-out's pool while something waits.
struct QueueLane {
  /// Removed items beyond which the lane is compacted, once they are also more than half of it.
  private static let removedLimit = 64

  private(set) var items: [QueuedItem] = []
  private var head = 0
  private var removed = 0
  /// Before this place nothing is left that `dropEvents` could drop.
  private var dropStart = 0
  /// Bytes of all items.
  private(set) var bytes = 0
  /// Events of all items that are not lost.
  private(set) var events = 0

  var isEmpty: Bool { items.count - head == removed }
  var count: Int { items.count - head - removed }

  /// When the first item came.
  var oldest: Timestamp? {
    var index = head
    while index < items.count {
      if items[index].kind != .removed { return items[index].time }
      index += 1
    }
    return nil
  }

  /// Takes over a spare buffer; only while it is empty and has none.
  mutating func adopt(_ spare: [QueuedItem]) { if items.capacity == 0 { items = spare } }

  /// Gives its buffer away; only while it is empty.
  mutating func release() -> [QueuedItem]? {
    guard isEmpty, items.capacity > 0 else { return nil }
    items.removeAll(keepingCapacity: true)
    head = 0
    removed = 0
    dropStart = 0
    let spare = items
    items = []
    return spare
  }

  mutating func append(_ item: QueuedItem) {
    items.append(item)
    bytes += item.bytes?.count ?? 0
    if item.kind != .lost { events += Int(item.events) }
  }

  mutating func removeFirst() -> QueuedItem? {
    while head < items.count {
      var item = items[head]
      items[head].bytes = nil
      items[head].kind = .removed
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: true)
        head = 0
        dropStart = 0
        if item.kind == .removed { removed -= 1 }
        assert(removed == 0)
      } else if item.kind == .removed {
        removed -= 1
      }
      if item.kind == .removed { continue }
      if head > 256, head * 2 > items.count {
        items.removeFirst(head)
        head = 0
        dropStart = 0
      }
      bytes -= item.bytes?.count ?? 0
      if item.kind != .lost { events -= Int(item.events) }
      if item.kind == .lost { item.bytes = nil }
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

  /// Drops the oldest event messages until at most `limit` events of at most `byteLimit` bytes wait. In the place of the first
  /// dropped message of a stream stands a `lost` item that says which. The last message stays whatever it carries. Returns how
  /// many messages were dropped. O(dropped + streams with a `lost` item).
  mutating func dropEvents(over limit: Int, bytes byteLimit: Int) -> Int {
    var dropped = 0
    var index = max(head, dropStart)
    while events > limit || bytes > byteLimit, index < items.count - 1 {
      defer { index += 1 }
      guard items[index].kind == .update || items[index].kind == .snapshot, items[index].events > 0 else { continue }
      dropped += 1
      let item = items[index]
      bytes -= item.bytes?.count ?? 0
      events -= Int(item.events)
      items[index].bytes = nil
      if let note = (head..<index).first(where: { items[$0].kind == .lost && items[$0].stream == item.stream }) {
        items[note].seq = item.seq
        items[note].events &+= item.events
        items[index].kind = .removed
        items[index].events = 0
        removed += 1
      } else {
        items[index].kind = .lost
        items[index].prev = item.seq
      }
    }
    dropStart = index
    compact()
    return dropped
  }

  private mutating func remove(at index: Int) {
    bytes -= items[index].bytes?.count ?? 0
    if items[index].kind != .lost { events -= Int(items[index].events) }
    items[index].bytes = nil
    items[index].kind = .removed
    removed += 1
  }

  private mutating func compact() {
    guard removed > Self.removedLimit, removed * 2 > items.count - head else { return }
    items.removeSubrange(..<head)
    head = 0
    dropStart = 0
    items.removeAll { $0.kind == .removed }
    removed = 0
  }
}
