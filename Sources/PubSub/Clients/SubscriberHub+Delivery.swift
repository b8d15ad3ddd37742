import Bytes
import MarketData

/// From publishers to clients' connections.
extension SubscriberHub {
  // MARK: From publishers

  /// Frames and answers from publishers, in order. O(subscribers) for each run of frames of one stream.
  package func deliver(_ deliveries: [Delivery], now: Timestamp, into actions: inout [HubAction]) {
    var run: [StreamFrame] = []
    for delivery in deliveries {
      if case .frame(let frame, _) = delivery {
        if let last = run.last, last.stream != frame.stream { deliver(&run, now: now, into: &actions) }
        run.append(frame)
        continue
      }
      deliver(&run, now: now, into: &actions)
      switch delivery {
      case .frame: break
      case .joined(let result, _, let client): joined(result, client, now: now, into: &actions)
      case .snapshot(let frame, _, let client):
        guard let state = state(of: client), state.memberships.index(of: frame.stream.rawValue) != nil else { continue }
        enqueue(frame, client.slot, now: now, into: &actions)
      case .nothing(let stream, _, let client):
        guard let state = state(of: client), let index = state.memberships.index(of: stream.rawValue),
          state.memberships[index].mark == .awaiting
        else { continue }
        lists.setMark(.none, of: index, client.slot, clients)
        queues.touch(client.slot, clients)
      case .missed(let missed, _): skip(missed, now: now)
      }
    }
    deliver(&run, now: now, into: &actions)
  }

  /// A run of frames of one stream to all its subscribers; empties it.
  private func deliver(_ run: inout [StreamFrame], now: Timestamp, into actions: inout [HubAction]) {
    guard let last = run.last else { return }
    defer { run.removeAll(keepingCapacity: true) }
    let stream = last.stream.rawValue
    guard lists.has(stream) else { return }
    let time = steady(now)
    var special: [UInt32] = []
    queues.deliver(run[...], to: lists[stream].slots, special: &special, time: time, clients)
    for frame in run {
      lists[stream].seq = frame.seq
      if lists[stream].behind > 0 { lists.keep(frame, time: time) }
      guard !special.isEmpty else { continue }
      var leaving: [UInt32] = []
      special.removeAll { slot in
        switch queues.offer(frame, slot, time: time, &lists, clients) {
        case .done: return false
        case .overflows:
          disconnectOverflowing(slot, into: &actions)
          return false
        case .leaves:
          leaving.append(slot)
          return true
        }
      }
      if !leaving.isEmpty { lists.removeSubscribers(leaving, after: frame, time: time, clients) }
    }
  }

  private func enqueue(
    _ frame: StreamFrame, _ slot: UInt32, start: SnapshotReason? = nil, now: Timestamp, into actions: inout [HubAction]
  ) {
    let outcome = queues.enqueue(frame, slot, start: start, time: steady(now), &lists, clients)
    if case .overflows = outcome { disconnectOverflowing(slot, into: &actions) }
  }

  private func disconnectOverflowing(_ slot: UInt32, into actions: inout [HubAction]) {
    disconnectSlow(slot, "over \(limits.hardQueuedBytes) bytes", into: &actions)
  }

  /// Messages of a stream that this loop was too busy to take. Subscribers of an event channel learn which are lost;
  /// the others get a snapshot. O(subscribers).
  private func skip(_ missed: MissedFrames, now: Timestamp) {
    let stream = missed.stream.rawValue
    guard lists.has(stream), lists[stream].seq < missed.last else { return }
    let isEvent = lists.isEvent(stream)
    let first = lists[stream].seq + 1
    lists[stream].seq = missed.last
    if lists[stream].behind > 0 { lists.skipBacklog(of: stream, events: missed.events) }
    for slot in lists[stream].slots {
      guard let state = clients[slot].pointee.state,
        clients[slot].pointee.flags.isDisjoint(with: [.closed, .paused]),
        let index = state.memberships.index(of: stream)
      else { continue }
      switch state.memberships[index].mark {
      case .marked, .awaiting, .behind: continue
      case .none where isEvent:
        let lost = QueuedItem(lost: stream, from: first, to: missed.last, events: missed.events, time: steady(now))
        state.lost += Int(missed.last - first + 1)
        queues.push(lost, to: .events, slot, clients)
      case .none, .holding:
        state.requests.pending?.held.removeAll { $0.stream == missed.stream }
        state.merged += Int(missed.last - first + 1)
        lists.setMark(.marked, of: index, slot, clients, reason: .resync)
        queues.touch(slot, clients)
      }
    }
  }

  // MARK: Answers to requests

  /// Messages and bytes of them that one resume may replay, all streams together; those of the rest start with a
  /// snapshot.
  static let replayLimit = 8_192
  static let replayBytesLimit = 1 << 20

  private func joined(_ result: JoinResult, _ client: ClientID, now: Timestamp, into actions: inout [HubAction]) {
    lists.noteAnswer(result.key)
    lists.open(result)
    let stream = result.stream.rawValue
    let item = Int(result.item)
    guard let state = state(of: client), let pending = state.requests.pending, pending.number == result.request,
      pending.joined.indices.contains(item)
    else {
      leaveIfEmpty(stream, into: &actions)
      return
    }
    var isRecovered = result.isRecovered
    if state.memberships.index(of: stream) == nil {
      queues.spill(client.slot, lists, clients)
      lists.add(client.slot, to: stream, wanted: pending.wanted[item], mark: .holding, clients)
      if let snapshot = result.snapshot {
        pending.held.append(snapshot)
        let work = snapshot.bytes.count / ClientAllowance.snapshotShare
        admission.charge(work, to: &state.requests, state.grant, now: now)
      }
      if isRecovered == true, !holdReplay(result.replay, pending, client, state) { isRecovered = false }
    }
    pending.joined[item] = .init(
      stream: stream, seq: result.seq, state: result.state, from: pending.joined[item]?.from ?? 0,
      isRecovered: isRecovered)
    pending.outstanding -= 1
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// Keeps the missed messages of a client's stream until the reply is sent. False if they are too many or not wanted:
  /// a snapshot will follow.
  private func holdReplay(
    _ frames: [StreamFrame], _ pending: PendingRequest, _ client: ClientID, _ state: ClientState
  ) -> Bool {
    if clients[client.slot].pointee.flags.contains(.paused) { return false }
    let bytes = frames.reduce(0) { $0 + $1.bytes.count }
    guard let first = frames.first else { return true }
    guard pending.resume.replayedFrames + frames.count <= Self.replayLimit,
      pending.resume.replayedBytes + bytes <= Self.replayBytesLimit
    else {
      if let index = state.memberships.index(of: first.stream.rawValue) {
        lists.setMark(.marked, of: index, client.slot, clients, reason: .resume)
      }
      return false
    }
    pending.resume.replayedFrames += frames.count
    if lists.isEvent(first.stream.rawValue) { pending.resume.replayedBytes += bytes }
    pending.held.append(contentsOf: frames)
    return true
  }

  /// All items are answered: sends the reply, then what was held, then takes up the requests that waited.
  func complete(
    _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    state.requests.end()
    if pending.resume.replayedBytes > 0 { state.flow.replayedBytes += pending.resume.replayedBytes }
    reply(to: pending, client, state, now: now)
    for index in state.memberships.indices where state.memberships[index].mark == .holding {
      lists.setMark(.none, of: index, client.slot, clients)
    }
    for frame in pending.held where state.memberships.index(of: frame.stream.rawValue) != nil {
      enqueue(frame, client.slot, start: pending.startReason, now: now, into: &actions)
    }
    resumeWaiting(client, state, now: now, into: &actions)
  }

  // MARK: To connections

  /// Clients that have something queued since the list was last emptied by `removeDirty`.
  package var dirty: [ClientID] { (0..<queues.dirty.count).map { queues.dirty[$0] } }
  /// How many they are, and each of them.
  package var dirtyCount: Int { queues.dirty.count }
  package func dirtyClient(at index: Int) -> ClientID { queues.dirty[index] }

  /// Ends a turn: clients that still have something queued count as blocked from here on.
  package func removeDirty() {
    // As a rule nothing is left of anybody.
    for index in 0..<(queues.dirty.left > 0 ? queues.dirty.count : 0) {
      let client = queues.dirty[index]
      let slot = clients[client.slot]
      guard slot.pointee.generation == client.generation else { continue }
      slot.pointee.isDirty = false
      queues.spill(client.slot, lists, clients)
      if slot.pointee.flags.contains(.queued) {
        slot.pointee.flags.insert(.blocked)
        if let state = slot.pointee.state { watch(client.slot, state) }
      }
    }
    queues.dirty.removeAll()
    queues.turn.removeAll()
  }

  /// Takes what this turn has brought a client about which nothing is special, and for which nothing else waits: the
  /// common case, without a list of frames. Nil: `take`. O(1), and once for all clients with the same frames O(bytes).
  package func takeTurn(from client: ClientID) -> TurnBytes? {
    guard clients.isCurrent(client) else { return nil }
    let slot = clients[client.slot]
    let bundle = slot.pointee.bundle
    guard bundle != TurnBundles.empty, slot.pointee.flags.rawValue == 0, !slot.pointee.isHeartbeatDue else {
      return nil
    }
    slot.pointee.bundle = TurnBundles.empty
    if slot.pointee.isDirty {
      slot.pointee.isDirty = false
      queues.dirty.noteTaken()
    }
    let frames = queues.turn.frameCount(of: bundle)
    slot.pointee.sent &+= UInt64(truncatingIfNeeded: frames)
    return TurnBytes(bytes: queues.turn.bytes(of: bundle), frames: frames, bundle: bundle)
  }

  /// The bytes of a turn as an object, one for all clients that get the same. Before `removeDirty`.
  package func sharedBytes(of turn: TurnBytes) -> SharedBytes { queues.turn.sharedBytes(of: turn.bundle) }

  /// The same for clients that take compressed messages: each frame in the form that `form` gives it. Before
  /// `removeDirty`.
  package func compressedBytes(of turn: TurnBytes, _ form: (SharedBytes) -> SharedBytes) -> CompressedTurn {
    queues.turn.compressedBytes(of: turn.bundle, form)
  }

  /// Hands over queued frames of a client in order, at most about `byteLimit` bytes (at least one frame), appending to
  /// `frames`. Call when the client's connection is writable; what stays queued can still be merged.
  package func take(
    from client: ClientID, byteLimit: Int, now: Timestamp, into frames: inout [SharedBytes],
    actions: inout [HubAction]
  ) {
    guard let state = clients.anyState(of: client) else { return }
    let slot = clients[client.slot]
    let speaksDialect = dialects.has(client.slot)
    var heartbeat: SharedBytes?
    if slot.pointee.isHeartbeatDue {
      slot.pointee.isHeartbeatDue = false
      heartbeat =
        speaksDialect
        ? dialectHeartbeat(client.slot, sent: slot.pointee.sent, now: now)
        : queues.frame { out in
          heartbeats.append(
            sent: slot.pointee.sent, merged: state.merged, lost: state.lost, state.grant, now: now, to: &out)
        }
    }
    queues.take(
      from: client, heartbeat, byteLimit: byteLimit, time: steady(now), reportsLosses: !speaksDialect, into: &frames,
      &lists, clients)
    // Its protocol has no word for lost messages: it reconnects, and begins again.
    if speaksDialect, state.lost > 0 { disconnectSlow(client.slot, "messages were lost", into: &actions) }
    if state.memberships.marks > 0 { askForSnapshots(client, state, into: &actions) }
  }

  /// Returns the waiting replies and notices of a client, without data, when the client is closed. So the client reads
  /// a drain's notice, for example, before it reads the close. O(replies and notices).
  package func takeControl(from client: ClientID, into frames: inout [SharedBytes]) {
    guard let state = clients.anyState(of: client) else { return }
    while let item = state.queue.removeFirstControl() {
      if let bytes = item.bytes { frames.append(bytes) }
    }
    if state.isDrained { clients[client.slot].pointee.flags.remove(.queued) }
  }
}
