import Bytes

/// The position of a client of server-sent events in its streams, as the id of its last event. The client sends it in
/// `Last-Event-ID` when it reconnects. Sans-IO.
///
///     9f3c2a…|trades:kraken:BTC-USD;interval_ms=0@k7.4.91823|book:kraken:BTC-USD;depth=25;interval_ms=100@k7.2.1004
///
/// It has the digest of the request, then for each stream its element, epoch, number and the `seq` of its last message.
/// Streams of event channels come first; streams beyond `limit` begin with a snapshot after a reconnect. A stream has a
/// position from its first sent message on, not from a reply that names its `seq`: an id never claims more than the
/// client has received.
package struct EventPositions: Sendable {
  /// The most streams and bytes of an id, which is sent up to four times a second and returns as a field of a request.
  package static let limit = 16
  static let bytesLimit = 2 << 10

  /// The reader's position in one stream.
  struct Position: Sendable, Equatable {
    var item: EventItem
    var epoch: String
    var stream: UInt32
    var seq: UInt64

    /// As an element of a resume.
    func append(to out: inout ByteBuffer) {
      out.append("{")
      item.append(to: &out, isPosition: true)
      out.append(",\"epoch\":")
      out.append(json: epoch)
      out.append(",\"stream\":")
      out.append(integer: UInt64(stream))
      out.append(",\"seq\":")
      out.append(integer: seq)
      out.append("}")
    }
  }

  private struct Known {
    var stream: UInt32
    /// `trades:kraken:BTC-USD;interval_ms=0@k7.4.`
    var text: String
    /// Nil: the reader has no message of the stream yet.
    var seq: UInt64?
    var isEvent: Bool
  }

  private let digest: String
  /// The reader's positions when it reconnected.
  private let resumed: [Position]
  private var known: [Known] = []
  /// Whether the id has changed since it was last taken.
  package private(set) var isNew = false

  package init(_ request: EventsRequest) { self.init(digest: request.digest, resumed: request.resumed) }

  init(digest: String, resumed: [Position] = []) {
    self.digest = digest
    self.resumed = resumed
  }

  /// Notes a message that is sent to the reader. O(bytes up to its `seq`), and O(bytes) of a reply.
  package mutating func note(_ message: RawSpan) {
    var json = JSONScanner(message)
    // The gateway's own messages are always readable. If one were not, the id would stay as it is, which costs a
    // snapshot.
    try? note(&json)
  }

  private mutating func note(_ json: inout JSONScanner) throws(JSONError) {
    var index: Int?
    var isData = false
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        let type = try json.string()
        isData = json.equals(type, "update") || json.equals(type, "snapshot")
      } else if isData, json.equals(key, "stream") {
        let stream = try json.int64()
        index = known.firstIndex { $0.stream == UInt32(truncatingIfNeeded: stream) }
        if index == nil { return }
      } else if isData, json.equals(key, "seq"), let index {
        known[index].seq = try json.uint64()
        isNew = true
        return
      } else if !isData, json.equals(key, "ok") || json.equals(key, "streams"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          if json.peek() == .object { try noteStream(&json) } else { try json.skipValue() }
        }
      } else {
        try json.skipValue()
      }
    }
  }

  /// `{"stream":4,"from":2,"channel":"trades","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"k7","seq":88,…}`
  private mutating func noteStream(_ json: inout JSONScanner) throws(JSONError) {
    var stream: UInt32?
    var epoch: String?
    var isRecovered = false
    var item = EventItem(channel: "")
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "stream") {
        stream = UInt32(exactly: try json.int64())
      } else if json.equals(key, "from") {
        let from = try json.int64()
        known.removeAll { Int64($0.stream) == from }
      } else if json.equals(key, "recovered") {
        isRecovered = try json.bool()
      } else if json.equals(key, "epoch") {
        let slice = try json.string()
        epoch = try json.decoded(slice)
      } else if json.equals(key, "channel") {
        let slice = try json.string()
        item.channel = try json.decoded(slice)
      } else if json.equals(key, "symbol") {
        let slice = try json.string()
        item.symbols = [try json.decoded(slice)]
      } else {
        let name = try json.decoded(key)
        let slice = json.peek() == .string ? try json.string() : try json.rawValue()
        if EventItem.fields.contains(name) { item.values.append(.init(name: name, text: try json.decoded(slice))) }
      }
    }
    // Streams without a symbol (status, portfolio, alerts) have no position: they begin with a snapshot.
    guard let stream, let epoch, !item.symbols.isEmpty, let text = item.text else { return }
    // A stream is listed again if it was resumed and then also subscribed to.
    if known.contains(where: { $0.stream == stream }) { return }
    // If a stream continues, the missed messages follow, or none were missed.
    let seq = isRecovered ? resumed.first { $0.stream == stream && $0.epoch == epoch }?.seq : nil
    let isEvent = ChannelName(rawValue: item.channel)?.isEvent ?? false
    if known.count >= Self.limit {
      guard isEvent, let other = known.lastIndex(where: { !$0.isEvent }) else { return }
      known.remove(at: other)
    }
    let end = isEvent ? known.firstIndex { !$0.isEvent } ?? known.count : known.count
    known.insert(Known(stream: stream, text: "\(text)@\(epoch).\(stream).", seq: seq, isEvent: isEvent), at: end)
    if seq != nil { isNew = true }
  }

  /// Appends the id and returns true; if there is no position, appends nothing and returns false. O(limit).
  package mutating func appendID(to out: inout ByteBuffer) -> Bool {
    isNew = false
    let start = out.count
    for position in known {
      let size = out.count - start + digest.utf8.count + position.text.utf8.count + 21
      guard let seq = position.seq, size <= Self.bytesLimit else { continue }
      if out.count == start { out.append(digest) }
      out.append(UInt8(ascii: "|"))
      out.append(position.text)
      out.append(integer: seq)
    }
    return out.count > start
  }

  /// The positions in an id; nil if it is unreadable or belongs to another request.
  static func read(_ id: String, digest: String) -> [Position]? {
    guard id.utf8.count <= 2 * bytesLimit else { return nil }
    let parts = id.split(separator: "|", omittingEmptySubsequences: false)
    guard parts[0] == digest, parts.count <= limit + 1 else { return nil }
    var positions: [Position] = []
    for part in parts.dropFirst() {
      let halves = part.split(separator: "@", omittingEmptySubsequences: false)
      guard halves.count == 2, let item = try? EventItem(halves[0]), item.symbols.count == 1 else { return nil }
      let position = halves[1].split(separator: ".", omittingEmptySubsequences: false)
      guard position.count == 3, !position[0].isEmpty, let stream = UInt32(position[1]), let seq = UInt64(position[2]),
        seq <= UInt64(Int64.max)
      else { return nil }
      positions.append(Position(item: item, epoch: String(position[0]), stream: stream, seq: seq))
    }
    return positions
  }
}
