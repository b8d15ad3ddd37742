import Bytes
import MarketData
import WebSocket

/// Encodes the messages of streams as frames, each once.
extension StreamPublisher {
  /// Sends all subscribers a snapshot instead of an update.
  func republish(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    if collectSnapshot(of: stream, now: now) { return }
    stream.seq += 1
    stream.cachedSnapshot = nil
    memory.forget(stream)
    guard stream.loops != 0 else { return }
    if let frame = snapshot(of: stream, reason: .resync, now: now) { out.append(.frame(frame, loops: stream.loops)) }
  }

  /// Hands the state of a member to its group; false for a stream that is in none.
  private func collectSnapshot(of stream: PublishedStream, now: Timestamp) -> Bool {
    guard let (group, index) = stream.group else { return false }
    guard stream.isShown else { return true }
    if group.collect(
      index, isSnapshot: true, in: self, now: now, { stream.appendSnapshot(in: self, now: now, to: &$0) })
    {
      stream.dueReason = .subscribe
      due(group, now: now)
    } else {
      stream.isShown = false
      stream.dueReason = .resync
    }
    return true
  }

  /// Something of a member waits in a group: it goes out with this tick or batch, or with the next.
  private func due(_ group: GroupStream, now: Timestamp) {
    if schedule.isTicking || group.isImmediate { schedule.addGroup(group) } else { wait(group, now: now) }
  }

  /// Publishes the snapshot that is due, because the stream has data again.
  func publishDue(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    if collectSnapshot(of: stream, now: now) { return }
    stream.seq += 1
    stream.cachedSnapshot = nil
    memory.forget(stream)
    let reason = stream.dueReason
    if let frame = snapshot(of: stream, reason: reason, now: now) {
      stream.dueReason = .subscribe
      out.append(.frame(frame, loops: stream.loops))
    } else {
      stream.dueReason = reason
    }
  }

  /// Publishes an update.
  /// - Parameters:
  ///   - events: the number of its events; 0 on state channels.
  ///   - data: appends the message's `data`.
  func update(
    _ stream: PublishedStream, events: UInt32, now: Timestamp, into out: inout [Delivery],
    _ data: (inout ByteBuffer) -> Void
  ) {
    if let (group, index) = stream.group {
      _ = group.collect(index, isSnapshot: false, in: self, now: now) { out in
        data(&out)
        return true
      }
      return due(group, now: now)
    }
    let prev = stream.seq
    stream.seq = prev + 1
    stream.cachedSnapshot = nil
    frame.removeAll()
    if stream.isBinary {
      appendRecord(.update(prev: prev), of: stream, now: now, data)
    } else {
      WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
        Envelope.appendUpdate(of: stream, prev: prev, now: now, to: &out)
        data(&out)
        out.append(UInt8(ascii: "}"))
      }
    }
    let made = StreamFrame(
      stream: stream.id, kind: .update, prev: prev, seq: stream.seq, events: events,
      bytes: SharedBytes(frame.unsafeBytes))
    memory.remember(made, of: stream, time: steady(now))
    if stream.loops != 0 { out.append(.frame(made, loops: stream.loops)) }
  }

  /// The snapshot at the stream's present `seq`; nil while there is no data. There may be no data any more (a quote
  /// whose book is out of sync). Then the stream's next message is a snapshot, because a client that requested this one
  /// has nothing that an update could follow.
  func snapshot(of stream: PublishedStream, reason: SnapshotReason, now: Timestamp) -> StreamFrame? {
    guard stream.isShown else { return nil }
    if let stream = stream as? DialectStream { return snapshot(of: stream, now: now) }
    let isFresh = !stream.hasAges || stream.cachedTime == now
    if let cached = stream.cachedSnapshot, stream.cachedReason == reason, isFresh { return cached }
    frame.removeAll()
    var hasData = true
    appendSnapshot(of: stream, reason: reason, now: now) {
      hasData = stream.appendSnapshot(in: self, now: now, to: &$0)
    }
    guard hasData else {
      stream.isShown = false
      stream.dueReason = .resync
      return nil
    }
    let made = StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(frame.unsafeBytes))
    stream.cachedSnapshot = made
    stream.cachedReason = reason
    stream.cachedTime = now
    return made
  }

  /// Replaces the snapshot of a stream whose data is out of sync, for a client that may not know that yet; nil for
  /// other streams.
  func syncingSnapshot(of stream: PublishedStream, reason: SnapshotReason, now: Timestamp) -> StreamFrame? {
    frame.removeAll()
    var isSyncing = false
    appendSnapshot(of: stream, reason: reason, now: now) {
      isSyncing = stream.appendSyncing(in: self, now: now, to: &$0)
    }
    guard isSyncing else { return nil }
    return StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(frame.unsafeBytes))
  }

  // MARK: Other protocols

  // Their streams remember nothing for clients that come back, because no other protocol has a place for it.

  func update(
    _ stream: DialectStream, now: Timestamp, into out: inout [Delivery],
    _ append: (inout DialectMessages) -> Bool
  ) {
    messages.removeAll()
    guard append(&messages), messages.count > 0 else { return }
    let prev = stream.seq
    stream.seq = prev + 1
    stream.cachedSnapshot = nil
    let frame = StreamFrame(
      stream: stream.id, kind: .update, prev: prev, seq: stream.seq,
      events: stream.isEvent ? UInt32(messages.count) : 0, bytes: SharedBytes(messages.frames.unsafeBytes))
    out.append(.frame(frame, loops: stream.loops))
  }

  /// The first message of a subscriber; nil if there is no data, or the protocol has none.
  func snapshot(of stream: DialectStream, now: Timestamp) -> StreamFrame? {
    if let cached = stream.cachedSnapshot { return cached }
    messages.removeAll()
    guard stream.appendFirst(in: self, now: now, to: &messages) else {
      stream.isShown = false
      return nil
    }
    guard messages.count > 0 else { return nil }
    let frame = StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(messages.frames.unsafeBytes))
    stream.cachedSnapshot = frame
    return frame
  }

  private func appendSnapshot(
    of stream: PublishedStream, reason: SnapshotReason, now: Timestamp, _ data: (inout ByteBuffer) -> Void
  ) {
    if stream.isBinary { return appendRecord(.snapshot(reason), of: stream, now: now, data) }
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendSnapshot(of: stream, reason: reason, now: now, to: &out)
      data(&out)
      out.append(UInt8(ascii: "}"))
    }
  }

  private enum RecordStart {
    case update(prev: UInt64)
    case snapshot(SnapshotReason)
  }

  /// Appends a frame of one binary record: its start and its data.
  private func appendRecord(
    _ start: RecordStart, of stream: PublishedStream, now: Timestamp, _ data: (inout ByteBuffer) -> Void
  ) {
    guard let channel = stream.key.channel.facts.binary, let scale = stream.scale else { return }
    // The members of a group have digits of their own.
    let isGroup = !stream.key.group.isEmpty
    let kind = isGroup ? .group : channel
    let digits = stream.digits(in: self)
    WebSocketFrame.appendUnmasked(.binary, to: &frame) { out in
      switch start {
      case .update(let prev):
        let isOther = !isGroup && digits != (scale.priceDigits, scale.sizeDigits)
        BinaryEnvelope.appendUpdate(
          kind, of: stream, prev: prev, now: now, scale, digits: isOther ? digits : nil, to: &out)
      case .snapshot(let reason):
        BinaryEnvelope.appendSnapshot(
          kind, of: stream, reason: reason, now: now, scale, digits: isGroup ? nil : digits, to: &out)
      }
      if isGroup { out.append(channel.rawValue) }
      data(&out)
    }
  }

  // MARK: What is remembered, for clients that come back

  /// The missed messages of a client with this position, possibly none; nil if it needs a snapshot. Call it before an
  /// idle stream is woken.
  func replay(from position: StreamPosition, of stream: PublishedStream, now: Timestamp) -> [StreamFrame]? {
    guard position.epoch == epoch, stream.isRunning, stream.isShown, position.seq <= stream.seq,
      position.stream ?? stream.id.rawValue == stream.id.rawValue
    else { return nil }
    if position.seq == stream.seq { return [] }
    guard let frames = stream.ring.frames(after: position.seq, now: steady(now)) else { return nil }
    if stream.isEvent { return frames }
    let size = frames.reduce(0) { $0 + $1.bytes.count }
    guard let snapshot = snapshot(of: stream, reason: .resume, now: now) else { return nil }
    return size < snapshot.bytes.count ? frames : nil
  }
}
