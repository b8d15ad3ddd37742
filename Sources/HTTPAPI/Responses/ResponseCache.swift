import DequeModule

/// Sent bodies by entity tag, plain and compressed, for the next client with the same request.
///
/// A tag identifies the content of a body, so an entry is never wrong, only unused. Holds at most `byteLimit`; the
/// oldest entries are removed first. Confined to its loop.
package struct ResponseCache {
  /// Bytes of all bodies, both forms.
  static let byteLimit = 8 << 20
  /// Smaller bodies cost less to make than to keep.
  static let leastBytes = 1 << 10

  private struct Entry {
    var body: [UInt8]
    var compressed: [UInt8]?
    var bytes: Int { body.count + (compressed?.count ?? 0) }
  }

  private var entries: [String: Entry] = [:]
  /// Tags in the order of their arrival.
  private var order: Deque<String> = []
  private(set) var bytes = 0
  var count: Int { entries.count }

  package func body(_ tag: String) -> [UInt8]? { entries[tag]?.body }
  func compressed(_ tag: String) -> [UInt8]? { entries[tag]?.compressed }

  /// Keeps a body, unless it is too small, or larger than a quarter of `byteLimit`. O(1) amortised.
  package mutating func keep(_ body: [UInt8], as tag: String) {
    guard body.count >= Self.leastBytes, body.count <= Self.byteLimit / 4, entries[tag] == nil else { return }
    entries[tag] = Entry(body: body)
    order.append(tag)
    bytes += body.count
    trim()
  }

  /// Keeps the compressed form of a body that is kept.
  mutating func keep(compressed: [UInt8], as tag: String) {
    guard entries[tag] != nil, entries[tag]?.compressed == nil else { return }
    entries[tag]?.compressed = compressed
    bytes += compressed.count
    trim()
  }

  private mutating func trim() {
    while bytes > Self.byteLimit, let oldest = order.popFirst() {
      if let entry = entries.removeValue(forKey: oldest) { bytes -= entry.bytes }
    }
  }
}
