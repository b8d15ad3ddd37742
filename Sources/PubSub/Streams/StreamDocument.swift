import Bytes
import MarketData

/// The data of a stream that does not come from a market: the rules of an owner, the documents of a topic.
///
/// A snapshot's `data` is `head`, the entries between commas, and `tail`. Entries are in the order of their keys, so a
/// snapshot for a late client costs one pass over existing texts.
package struct StreamDocument: Sendable {
  package struct Entry: Sendable {
    package var key: UInt64
    /// One JSON value.
    package var text: SharedBytes

    package init(key: UInt64, text: SharedBytes) {
      self.key = key
      self.text = text
    }
  }

  package var head: String
  package var tail: String
  /// The time of the oldest data in the document. Its age is written before the tail, as `,"age_ms":120`. Nil: no age.
  package var oldest: Timestamp?
  /// In the order of their keys.
  package private(set) var entries: [Entry]

  /// - Parameter entries: in any order, each key once.
  package init(head: String, tail: String, entries: [Entry] = []) {
    self.head = head
    self.tail = tail
    self.entries = entries.sorted { $0.key < $1.key }
  }

  /// Replaces the entry with the same key, or inserts a new one in order. O(log entries), and O(entries) for a new one
  /// that is not the last.
  mutating func set(_ entry: Entry) {
    let index = index(of: entry.key)
    if index < entries.count, entries[index].key == entry.key {
      entries[index] = entry
    } else {
      entries.insert(entry, at: index)
    }
  }

  mutating func remove(_ key: UInt64) {
    let index = index(of: key)
    if index < entries.count, entries[index].key == key { entries.remove(at: index) }
  }

  /// Keeps the last `limit` entries.
  mutating func keepLast(_ limit: Int) {
    if entries.count > limit { entries.removeFirst(entries.count - limit) }
  }

  func append(now: Timestamp, to out: inout ByteBuffer) {
    out.append(head)
    for (index, entry) in entries.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(entry.text.unsafeBytes)
    }
    if let oldest {
      out.append(",\"age_ms\":")
      out.append(integer: max(0, (now - oldest) / Microseconds.millisecond))
    }
    out.append(tail)
  }

  private func index(of key: UInt64) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A change of a document, and its message.
package struct StreamDocumentUpdate: Sendable {
  /// The new head, if it changed.
  package var head: String?
  package var changed: [StreamDocument.Entry] = []
  package var removed: [UInt64] = []
  /// The `data` of the update.
  package var data: SharedBytes
  /// The number of its events; 0 on state channels.
  package var events: UInt32 = 0

  package init(data: SharedBytes) { self.data = data }
}

/// Identifies a document: that of an owner (`alerts`), of a name (`topic`, `rate`), of a portfolio, of a deck in a time
/// zone, or of a composite's symbol.
package struct StreamDocumentName: Sendable, Hashable {
  package var channel: ChannelName
  /// The owner, the name, or the symbol.
  package var name: String
  /// For `portfolio`.
  package var portfolio: PortfolioSubject?
  /// For `deck`.
  package var zone: String?

  package init(_ channel: ChannelName, _ name: String, zone: String? = nil) {
    self.channel = channel
    self.name = name
    self.zone = zone
  }

  package init(_ portfolio: PortfolioSubject) {
    self.init(.portfolio, "")
    self.portfolio = portfolio
  }
}

/// A document has its first subscribers, or lost its last one.
package enum StreamDocumentDemand: Sendable, Equatable {
  /// Answer with `StreamPublisher.show`.
  case wanted(StreamDocumentName)
  case unwanted(StreamDocumentName)
}
