import Bytes
import MarketData

extension SubscriberHub {
  /// Frames and answers from publishers, in order. O(subscribers) per frame.
  package func deliver(_ deliveries: [Delivery], now: Timestamp, into actions: inout [HubAction]) {
    for delivery in deliveries {
      switch delivery {
      case .frame(let frame, _): deliver(frame, now: now, into: &actions)
      case .joined(let result, _, let client): joined(result, client, now: now, into: &actions)
      case .snapshot(let frame, _, let client):
        guard let state = state(of: client), state.index(of: frame.stream.rawValue) != nil else { continue }
        enqueue(frame, isEvent: isEvent(frame), client.slot, now: now, into: &actions)
      case .nothing(let stream, _, let client):
        guard let state = state(of: client), let index = state.index(of: stream.rawValue),
          state.subscriptions[index].mark == .awaiting
        else { continue }
        setMark(.none, of: index, state, slot: client.slot)
        touch(client.slot)
      case .missed(let missed, _): skip(missed, now: now)
      }
    }
  }

  /// Messages of a stream that this loop was too busy to take. Subscribers of an event channel are told which are lost; the others get a
  /// snapshot. O(subscribers).
  private func skip(_ missed: MissedFrames, now: Timestamp) {
    let stream = missed.stream.rawValue
    guard lists.has(stream), lists[stream].seq < missed.last else { return }
    let isEvent = lists[stream].key.channel.isEvent
    let first = lists[stream].seq + 1
    lists[stream].seq = missed.last
    if lists[stream].behind > 0 {
      backlogBytes -= lists[stream].backlog.bytes
      lists[stream].backlog.skip(events: missed.events)
    }
    for slot in lists[stream].slots {
      guard let state = slots[Int(slot)].state, slots[Int(slot)].flags.isDisjoint(with: [.closed, .paused]),
        let index = state.index(of: stream)
      else { continue }
      switch state.subscriptions[index].mark {
      case .marked, .awaiting, .behind: continue
      case .none where isEvent:
        let lost = QueuedItem(lost: stream, from: first, to: missed.last, events: missed.events, time: steady(now))
        state.lost += Int(missed.last - first + 1)
        push(lost, to: .events, slot, state)
      case .none, .holding:
        state.pending?.held.removeAll { $0.stream == missed.stream }
        state.merged += Int(missed.last - first + 1)
        setMark(.marked, of: index, state, slot: slot, reason: .resync)
        touch(slot)
      }
    }
  }

  private func isEvent(_ frame: StreamFrame) -> Bool { lists[frame.stream.rawValue].key.channel.isEvent }

  /// One frame to all subscribers: the hot path. For a client with nothing queued it stores the frame in the client's slot.
  private func deliver(_ frame: StreamFrame, now: Timestamp, into actions: inout [HubAction]) {
    let stream = frame.stream.rawValue
    guard lists.has(stream) else { return }
    lists[stream].seq = frame.seq
    let isEvent = isEvent(frame)
    if lists[stream].behind > 0 { keep(frame, now: now) }
    let slots = slots
    let moment = steady(now)
    // The list of the dirty is taken out of the object for the loop, so that each append is a plain store.
    var dirty = self.dirty
    self.dirty = []
    lists.lists[Int(stream)].slots.withUnsafeBufferPointer { subscribers in
      dirty.reserveCapacity(dirty.count + subscribers.count)
      for slot in subscribers {
        let client = slots + Int(slot)
        if client.pointee.flags.rawValue == 0, client.pointee.first == nil {
          client.pointee.first = frame
          client.pointee.firstTime = moment
          if !client.pointee.isDirty {
            client.pointee.isDirty = true
            dirty.append(ClientID(slot: slot, generation: client.pointee.generation))
          }
        } else {
          offer(frame, isEvent: isEvent, slot, now: now, into: &actions)
        }
      }
    }
    if !leaving.isEmpty {
      removeSubscribers(leaving, after: frame, now: now)
      leaving.removeAll(keepingCapacity: true)
    }
    if !self.dirty.isEmpty { dirty.append(contentsOf: self.dirty) }
    self.dirty = dirty
  }

  /// How many times what a client may hold of events that is blocked one may be given in a turn, before its connection was asked.
  static let turnFactor = 4

  /// A frame that is for all, to a client that has something queued, or whose subscription is in a special state. Where the next ones are
  /// not for the client, it leaves the list after this one.
  private func offer(
    _ frame: StreamFrame, isEvent: Bool, _ slot: UInt32, now: Timestamp, into actions: inout [HubAction]
  ) {
    let pointer = slots + Int(slot)
    let flags = pointer.pointee.flags
    guard let state = pointer.pointee.state, flags.isDisjoint(with: [.closed, .paused]) else { return }
    let stream = frame.stream.rawValue
    let isOver =
      flags.contains(.blocked)
      || state.queue.events.bytes - state.replayedBytes > Self.turnFactor * limits.queuedEventBytes
    let fallsBehind = isEvent && isOver
    if frame.kind == .update, fallsBehind || flags.contains(.marked), let index = state.index(of: stream) {
      switch state.subscriptions[index].mark {
      case .marked, .awaiting:
        state.merged += 1
        leaving.append(slot)
        return
      case .none where fallsBehind:
        setMark(.behind, of: index, state, slot: slot)
        pointer.pointee.flags.insert(.queued)
        leaving.append(slot)
        touch(slot)
        return
      case .none, .holding, .behind: break
      }
    }
    enqueue(frame, isEvent: isEvent, slot, now: now, into: &actions)
  }

  /// One frame to a client that shall have it, in the order of its queue; of a state channel one that finds no room, or cannot follow what was
  /// merged away for it, makes the subscription wait for a snapshot instead.
  ///
  /// - Parameter start: why the stream is begun, where this is its first snapshot: one that finds no room comes later.
  func enqueue(
    _ frame: StreamFrame, isEvent: Bool, _ slot: UInt32, start: SnapshotReason? = nil, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    let pointer = slots + Int(slot)
    let flags = pointer.pointee.flags
    guard let state = pointer.pointee.state, flags.isDisjoint(with: [.closed, .paused]) else { return }
    let stream = frame.stream.rawValue
    var wasAwaited = false
    if flags.contains(.marked), let index = state.index(of: stream) {
      switch state.subscriptions[index].mark {
      case .none: break
      case .holding: return hold(frame, of: index, state, slot: slot)
      case .marked, .awaiting:
        guard frame.kind == .snapshot else {
          state.merged += 1
          return
        }
        wasAwaited = state.subscriptions[index].mark == .awaiting
        setMark(.none, of: index, state, slot: slot)
      // A snapshot that was asked for before: the backlog has more.
      case .behind: return
      }
    }
    let isBlocked = flags.contains(.blocked)
    // Before its connection was asked: half of what would count as slow.
    let isFull =
      isBlocked ? state.queue.state.bytes >= limits.queuedStateBytes : state.queue.bytes > limits.softQueuedBytes / 2
    if isFull, let start, frame.kind == .snapshot, let index = state.index(of: stream) {
      setMark(.marked, of: index, state, slot: slot, reason: start)
      touch(slot)
      return
    }
    if isBlocked || isFull, !isEvent {
      var merged = 0
      if pointer.pointee.first?.stream == frame.stream {
        pointer.pointee.first = nil
        merged = 1
      }
      if !state.queue.isEmpty { merged += state.queue.removeAll(of: stream) }
      state.merged += merged
      let cannotLink = merged > 0 && frame.kind == .update
      if cannotLink || (isFull && !wasAwaited), let index = state.index(of: stream) {
        state.merged += 1
        setMark(.marked, of: index, state, slot: slot, reason: .slow)
        if state.isDrained { pointer.pointee.flags.remove(.queued) }
        touch(slot)
        return
      }
    }
    push(QueuedItem(frame, time: steady(now)), to: isEvent ? .events : .state, slot, state)
    if isBlocked, state.queue.bytes - state.replayedBytes > limits.hardQueuedBytes {
      disconnectSlow(slot, state, "over \(limits.hardQueuedBytes) bytes", into: &actions)
    }
  }

  /// Keeps a frame of a subscription whose reply is not out. At the bound the subscription is marked instead.
  private func hold(_ frame: StreamFrame, of index: Int, _ state: ClientState, slot: UInt32) {
    guard let pending = state.pending else { return }
    guard pending.held.count - pending.replayedFrames < 4 * pending.joined.count + 256 else {
      pending.held.removeAll { $0.stream == frame.stream }
      setMark(.marked, of: index, state, slot: slot, reason: pending.startReason)
      return
    }
    pending.held.append(frame)
  }

  private func joined(
    _ result: JoinResult, _ client: ClientID, now: Timestamp, into actions: inout [HubAction]
  ) {
    lists.noteAnswer(result.key)
    lists.open(result)
    let stream = result.stream.rawValue
    let item = Int(result.item)
    guard let state = state(of: client), let pending = state.pending, pending.number == result.request,
      pending.joined.indices.contains(item)
    else {
      leaveIfEmpty(stream, into: &actions)
      return
    }
    let isNew = state.index(of: stream) == nil
    var isRecovered = result.isRecovered
    if isNew {
      enter(client.slot, state, stream: stream, wanted: pending.wanted[item], mark: .holding)
      if let snapshot = result.snapshot {
        pending.held.append(snapshot)
        charge(snapshot.bytes.count / ClientAllowance.snapshotShare, state, now: now)
      }
      if isRecovered == true, !holdReplay(result.replay, pending, client, state) { isRecovered = false }
    }
    pending.joined[item] = .init(
      stream: stream, seq: result.seq, state: result.state, from: pending.joined[item]?.from ?? 0,
      isRecovered: isRecovered)
    pending.outstanding -= 1
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// Keeps what a client missed of a stream until the reply is out. False if that is too much or not wanted: a snapshot will follow.
  private func holdReplay(
    _ frames: [StreamFrame], _ pending: PendingRequest, _ client: ClientID, _ state: ClientState
  ) -> Bool {
    if slots[Int(client.slot)].flags.contains(.paused) { return false }
    let bytes = frames.reduce(0) { $0 + $1.bytes.count }
    guard let first = frames.first else { return true }
    guard pending.replayedFrames + frames.count <= Self.replayLimit,
      pending.replayedBytes + bytes <= Self.replayBytesLimit
    else {
      if let index = state.index(of: first.stream.rawValue) {
        setMark(.marked, of: index, state, slot: client.slot, reason: .resume)
      }
      return false
    }
    pending.replayedFrames += frames.count
    if isEvent(first) { pending.replayedBytes += bytes }
    pending.held.append(contentsOf: frames)
    return true
  }

  /// All items are answered: sends the reply, then what was held, then takes up the requests that waited.
  func complete(
    _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    state.pending = nil
    state.replayedBytes += pending.replayedBytes
    reply(to: pending, client, state, now: now)
    for index in state.subscriptions.indices where state.subscriptions[index].mark == .holding {
      setMark(.none, of: index, state, slot: client.slot)
    }
    for frame in pending.held where state.index(of: frame.stream.rawValue) != nil {
      enqueue(
        frame, isEvent: isEvent(frame), client.slot, start: pending.startReason, now: now, into: &actions)
    }
    resumeWaiting(client, state, now: now, into: &actions)
  }
}
