import Bytes
import MarketData

extension FanOut {
  /// Frames and answers from hubs, in order. O(subscribers) per frame.
  package func deliver(_ deliveries: [Delivery], now: Timestamp, into actions: inout [FanOutAction]) {
    for delivery in deliveries {
      switch delivery {
      case .frame(let frame, _): deliver(frame, now: now, into: &actions)
      case .joined(let result, _, let client): joined(result, client, now: now, into: &actions)
      case .snapshot(let frame, _, let client):
        guard let state = state(of: client), state.index(of: frame.stream.rawValue) != nil else { continue }
        enqueue(frame, isEvent: isEvent(frame), client.slot, now: now, into: &actions)
      }
    }
  }

  private func isEvent(_ frame: StreamFrame) -> Bool { lists[frame.stream.rawValue].key.channel.isEvent }

  /// One frame to all subscribers: the hot path. For a client with nothing queued it stores the frame in the client's slot.
  private func deliver(_ frame: StreamFrame, now: Timestamp, into actions: inout [FanOutAction]) {
    let stream = frame.stream.rawValue
    guard lists.has(stream) else { return }
    lists[stream].seq = frame.seq
    let isEvent = isEvent(frame)
    let slots = slots
    // The list of the dirty is taken out of the object for the loop, so that each append is a plain store.
    var dirty = self.dirty
    self.dirty = []
    lists.lists[Int(stream)].slots.withUnsafeBufferPointer { subscribers in
      dirty.reserveCapacity(dirty.count + subscribers.count)
      for slot in subscribers {
        let client = slots + Int(slot)
        if client.pointee.flags.rawValue == 0, client.pointee.first == nil {
          client.pointee.first = frame
          client.pointee.firstTime = now
          if !client.pointee.isDirty {
            client.pointee.isDirty = true
            dirty.append(ClientID(slot: slot, generation: client.pointee.generation))
          }
        } else {
          enqueue(frame, isEvent: isEvent, slot, now: now, into: &actions)
        }
      }
    }
    if !self.dirty.isEmpty { dirty.append(contentsOf: self.dirty) }
    self.dirty = dirty
  }

  /// One frame to a client that has something queued, or whose subscription is in a special state.
  func enqueue(
    _ frame: StreamFrame, isEvent: Bool, _ slot: UInt32, now: Timestamp, into actions: inout [FanOutAction]
  ) {
    let pointer = slots + Int(slot)
    let flags = pointer.pointee.flags
    guard let state = pointer.pointee.state, flags.isDisjoint(with: [.closed, .paused]) else { return }
    let stream = frame.stream.rawValue
    if flags.contains(.marked), let index = state.index(of: stream) {
      switch state.subscriptions[index].mark {
      case .none: break
      case .holding:
        hold(frame, of: index, state, slot: slot)
        return
      case .marked, .awaiting:
        guard frame.kind == .snapshot else {
          state.merged += 1
          return
        }
        setMark(.none, of: index, state, slot: slot)
      }
    }
    if flags.contains(.blocked) || state.queue.bytes > limits.softQueuedBytes, !isEvent {
      var merged = 0
      if pointer.pointee.first?.stream == frame.stream {
        pointer.pointee.first = nil
        merged = 1
      }
      if !state.queue.isEmpty { merged += state.queue.removeAll(of: stream) }
      state.merged += merged
      if merged > 0, frame.kind == .update, let index = state.index(of: stream) {
        state.merged += 1
        setMark(.marked, of: index, state, slot: slot)
        if state.queue.isEmpty { pointer.pointee.flags.remove(.queued) }
        touch(slot)
        return
      }
    }
    push(QueuedItem(frame, time: now), slot, state)
    if isEvent, state.queue.events > limits.queuedEvents {
      state.merged += state.queue.dropEvents(over: limits.queuedEvents)
    }
    if state.queue.bytes + state.unsent > limits.hardQueuedBytes {
      expelSlow(slot, state, "over the limit", into: &actions)
    }
  }

  /// Keeps a frame of a subscription whose reply is not out. At the bound the subscription is marked instead.
  private func hold(_ frame: StreamFrame, of index: Int, _ state: ClientState, slot: UInt32) {
    guard let pending = state.pending else { return }
    guard pending.held.count < 4 * pending.joined.count + 256 else {
      pending.held.removeAll { $0.stream == frame.stream }
      setMark(.marked, of: index, state, slot: slot)
      return
    }
    pending.held.append(frame)
  }

  private func joined(
    _ result: JoinResult, _ client: ClientID, now: Timestamp, into actions: inout [FanOutAction]
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
    pending.joined[item] = .init(
      stream: stream, seq: result.seq, state: result.state, from: pending.joined[item]?.from ?? 0)
    if isNew {
      enter(client.slot, state, stream: stream, wanted: pending.wanted[item], mark: .holding)
      if let snapshot = result.snapshot { pending.held.append(snapshot) }
    }
    pending.outstanding -= 1
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// All items are answered: sends the reply, then what was held, then takes up the requests that waited.
  func complete(
    _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [FanOutAction]
  ) {
    state.pending = nil
    reply(to: pending, client, state, now: now)
    for index in state.subscriptions.indices where state.subscriptions[index].mark == .holding {
      setMark(.none, of: index, state, slot: client.slot)
    }
    for frame in pending.held where state.index(of: frame.stream.rawValue) != nil {
      enqueue(frame, isEvent: isEvent(frame), client.slot, now: now, into: &actions)
    }
    resumeWaiting(client, state, now: now, into: &actions)
  }
}
