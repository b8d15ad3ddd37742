import CLoad
import Glibc
import Histogram

/// What frames say.
extension Fleet {
  /// Handles the whole frames at the front of `bytes`; returns how many bytes they have.
  mutating func frames(_ i: Int, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    // After `recv`, before any work on what came.
    let now = Clock.utc
    var at = 0
    while count - at >= 2 {
      let first = bytes[at]
      var header = 2
      var length = Int(bytes[at + 1])
      if length == 126 {
        guard count - at >= 4 else { break }
        header = 4
        length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
      } else if length == 127 {
        guard count - at >= 10 else { break }
        header = 10
        var wide: UInt64 = 0
        for k in 2..<10 { wide = wide << 8 | UInt64(bytes[at + k]) }
        length = Int(clamping: wide)
      } else if length > 127 {
        protocolError(i, "a masked frame from a server")
        return at
      }
      guard length <= Self.frameLimit else {
        protocolError(i, "a frame of \(length) bytes")
        return at
      }
      guard count - at >= header + length else { break }
      let payload = bytes + at + header
      switch first {
      case 0x81: message(i, payload, length, frame: header + length, now: now)
      case 0x88: closed(i, payload, length)
      case 0x89:
        // A pong with the same payload under the mask 0, which leaves it as it is.
        if length <= 125 {
          transmit(
            i, [0x8A, 0x80 | UInt8(length), 0, 0, 0, 0] + Array(UnsafeBufferPointer(start: payload, count: length)))
        }
      case 0x8A: break
      default: protocolError(i, "a frame that begins with byte \(first)")
      }
      at += header + length
      if slots[i].state != .open { return at }
    }
    return at
  }

  mutating func message(_ i: Int, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, frame: Int, now: Int64) {
    guard let head = MessageHead(bytes, count) else { return protocolError(i, "a text frame that is no JSON object") }
    switch head.kind {
    case .update:
      guard head.found.isSuperset(of: .update) else {
        return protocolError(i, "an update without stream, prev, seq or time")
      }
      slots[i].frames &+= 1
      follow(i, head)
      guard isMeasuring else { return }
      guard !slots[i].isSlow else {
        figures.slowDeliveries &+= 1
        return
      }
      figures.updates &+= 1
      figures.deliveries &+= 1
      let late = now &- head.time
      if late < 0 { figures.fromTheFuture &+= 1 }
      _ = second.record(min(UInt64(max(late, 0)), Figures.latencyLimit))
      if i == slowCount { figures.trace.append(time: head.time, bytes: frame) }
    case .snapshot:
      guard head.found.isSuperset(of: .snapshot) else {
        return protocolError(i, "a snapshot without stream, seq or time")
      }
      slots[i].frames &+= 1
      if let cell = cell(i, head.stream) {
        if links[cell] == Link.broken { figures.resyncs &+= 1 }
        links[cell] = Link.linked
        lastSeq[cell] = head.seq
      }
      guard isMeasuring else { return }
      if slots[i].isSlow {
        figures.slowDeliveries &+= 1
        figures.slowSnapshots &+= 1
        _ = figures.slowSnapshotAge.record(min(UInt64(max(now &- head.time, 0)), Figures.latencyLimit))
      } else {
        figures.snapshots &+= 1
        figures.deliveries &+= 1
      }
    case .heartbeat:
      if isMeasuring { figures.heartbeats &+= 1 }
      if head.found.contains(.sent) { slots[i].missing = Int64(head.sent) - Int64(slots[i].frames) }
    case .subscribed: subscribed(i, UnsafeBufferPointer(start: UnsafePointer(bytes), count: count))
    case .notice: notice(i, UnsafeBufferPointer(start: UnsafePointer(bytes), count: count))
    case .error:
      figures.errors &+= 1
      note(String(decoding: UnsafeBufferPointer(start: bytes, count: min(count, 300)), as: UTF8.self))
    case .other: break
    }
  }

  /// Checks that an update follows what this client last had of the stream.
  mutating func follow(_ i: Int, _ head: MessageHead) {
    guard let cell = cell(i, head.stream) else { return }
    switch links[cell] {
    case Link.linked where lastSeq[cell] != head.prev: links[cell] = Link.broken
    case Link.broken:
      // No snapshot came between: a gap. From here on links are checked again.
      figures.gaps &+= 1
      note("stream \(head.stream) of client \(i): prev \(head.prev) after seq \(lastSeq[cell]), and no snapshot")
      links[cell] = Link.linked
    default: links[cell] = Link.linked
    }
    if links[cell] == Link.linked { lastSeq[cell] = head.seq }
  }

  /// The place of a client's stream in the tables; nil, and an error, if the stream was not asked for.
  mutating func cell(_ i: Int, _ stream: UInt64) -> Int? {
    guard stream < Self.streamLimit else {
      protocolError(i, "stream number \(stream)")
      return nil
    }
    var column = Int(columns[Int(stream)])
    if column == 0 {
      guard columnCount < tableWidth else {
        protocolError(i, "more than the \(tableWidth) streams asked for")
        return nil
      }
      columnCount += 1
      column = columnCount
      columns[Int(stream)] = UInt32(column)
    }
    return i * tableWidth + column - 1
  }

  mutating func subscribed(_ i: Int, _ text: UnsafeBufferPointer<UInt8>) {
    slots[i].replies += 1
    if slots[i].replies == plan.requests.count { repliedCount += 1 }
    var from = Text.find("\"ok\":[", in: text) ?? text.count
    let failed = Text.find("\"failed\":[", in: text) ?? text.count
    let end = failed > from ? failed : text.count
    while let at = Text.find("\"stream\":", in: text, from: from), at < end {
      if let stream = Text.number(after: "\"stream\":", in: text, from: at),
        let seq = Text.number(after: "\"seq\":", in: text, from: at), let cell = cell(i, stream),
        links[cell] == Link.unknown
      {
        links[cell] = Link.linked
        lastSeq[cell] = seq
      }
      from = at + 9
    }
    if failed + 10 < text.count, text[failed + 10] != UInt8(ascii: "]") {
      figures.refused &+= 1
      note(String(decoding: text[failed..<min(text.count, failed + 300)], as: UTF8.self))
    }
  }

  mutating func notice(_ i: Int, _ text: UnsafeBufferPointer<UInt8>) {
    figures.notices &+= 1
    if slots[i].isSlow { figures.slowNotices &+= 1 }
    guard Text.find("\"code\":\"lost\"", in: text) != nil else { return }
    figures.announcedLost &+= Text.number(after: "\"count\":", in: text) ?? 0
    if let stream = Text.number(after: "\"stream\":", in: text), let to = Text.number(after: "\"to_seq\":", in: text),
      let cell = cell(i, stream)
    {
      links[cell] = Link.linked
      lastSeq[cell] = to
    }
  }
}
