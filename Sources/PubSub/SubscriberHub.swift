import Bytes
import MarketData
import WebSocket

/// What a hub wants done.
package enum HubAction: Sendable {
  /// Carry this to the publisher of that loop.
  case command(PublisherCommand, loop: Int)
  /// Send the client what is queued, then a close frame with this code and reason, then end the connection.
  case close(ClientID, code: UInt16, reason: String)
  /// Find out whether this token is good, and answer with `SubscriberHub.authorize` or `SubscriberHub.refuse`. Never log it.
  case authenticate(ClientID, token: String)
  /// Carry this to the hub of that loop.
  case session(SessionMessage, loop: Int)
}

/// Serves subscribers, one hub per loop that has clients: it speaks `tidegate.v1` with them, keeps who subscribes to what, and
/// queues frames for each, merging what a slow client has not taken. Sans-IO: the gateway moves bytes between it and sockets.
/// Confined to its loop's queue.
///
/// In each turn: `receive` and `deliver` what came; for each client of `dirty`, `take` what its connection can carry, or tell with
/// `setUnsent` that it can carry nothing; then `removeDirty`. A client that still has something queued by then counts as blocked:
/// from there on its state channels are merged. Until then a turn's frames are never merged, however many there are.
package final class SubscriberHub {
  package struct Identity: Sendable {
    package var node: String
    package var version: String
    package init(node: String, version: String) {
      self.node = node
      self.version = version
    }
  }

  /// Seconds between heartbeats if the client does not say.
  package let heartbeatSeconds: Int

  let loop: Int
  let loops: Int
  let identity: Identity
  package let limits: ClientLimits
  /// Whether clients are asked for a token: those without a grant can say `hello` only, and must within 10 s. Set before the first
  /// client comes.
  package var asksForTokens = false
  /// What clients without a token may have where tokens are asked for; nil: nothing.
  package var anonymousGrant: Grant?
  var accessCursor = -1

  /// What symbols resolve to; the gateway replaces it when it changes.
  package var directory = Directory()
  /// The feed states for heartbeats; the gateway replaces them when they change.
  package var feeds: [FeedStatus] = [] {
    didSet {
      let isNews = feeds.count != oldValue.count || zip(feeds, oldValue).contains { $0.state != $1.state }
      if isNews { isRoundDue = true }
    }
  }

  /// Clients that have something queued since the list was last emptied by `removeDirty`.
  package internal(set) var dirty: [ClientID] = []

  var slots: UnsafeMutablePointer<ClientSlot>
  var capacity: Int
  /// Slots ever used.
  var used = 0
  var free: [UInt32] = []
  /// Clients connected.
  package private(set) var clientCount = 0
  /// Whether another client would exceed `ClientLimits.clients`; the gateway refuses connections while it holds.
  package var isFull: Bool { clientCount >= limits.clients }

  var lists = SubscriberLists()
  /// Bytes of all their backlogs.
  var backlogBytes = 0
  /// Clients that leave a list after the message that is being delivered.
  var leaving: [UInt32] = []
  /// Work done for clients since the start, in the unit of `ClientAllowance`.
  package internal(set) var workDone: UInt64 = 0
  /// Searches for names that are like an unknown one: so many a second for all clients, since each looks at every symbol.
  var nearSearches = ClientAllowance()
  var scratch = ByteBuffer(capacity: 1024)
  /// Buffers of queues that drained, for the next that fill.
  var spareQueues: [[QueuedItem]] = []
  static let spareQueueLimit = 64

  var wheel: HeartbeatWheel
  /// The `feeds` part of heartbeats, encoded once per advance.
  var feedsText = ByteBuffer(capacity: 512)
  var isFeedsTextStale = true
  /// A feed's state changed: everyone gets a heartbeat, a part of them at each advance.
  var isRoundDue = false
  var roundStartedAt = Timestamp.distantPast
  var roundCursor = -1

  /// Clients to look after: something of theirs is unsent, or they are degraded.
  var watched: [UInt32] = []
  /// Whose turn it is of those, and the bytes that wait for them.
  var watchCursor = 0
  var watchedBytes = 0

  var parked: ParkedSessions
  /// Sessions that were resumed here. For metrics.
  package internal(set) var resumedSessions: UInt64 = 0
  var drainPlan: Drain?
  /// The steady time of the last `advance`.
  var lastAdvance = Timestamp.distantPast
  private var stepped: Int64 = 0

  /// - Parameters:
  ///   - loop: this loop.
  ///   - loops: 1…64.
  ///   - heartbeatSeconds: 1…60.
  package init(
    loop: Int, loops: Int, identity: Identity, limits: ClientLimits = .init(), heartbeatSeconds: Int = 5
  ) {
    precondition((1...64).contains(loops) && (0..<loops).contains(loop), "loops are 1 to 64")
    precondition((1...60).contains(heartbeatSeconds), "heartbeats come every 1 to 60 s")
    self.heartbeatSeconds = heartbeatSeconds
    self.loop = loop
    self.loops = loops
    self.identity = identity
    self.limits = limits
    self.capacity = 64
    self.slots = .allocate(capacity: capacity)
    self.wheel = HeartbeatWheel()
    self.parked = ParkedSessions(limit: limits.parkedSessions)
  }

  /// The wall clock, and with it `now`, was set forward by so much, µs. What has to do with durations goes on as if it had not.
  package func clockStepped(by step: Int64) { stepped += step }

  /// Time that goes on at its own rate, for durations.
  @inline(__always)
  func steady(_ now: Timestamp) -> Timestamp { now + -stepped }

  deinit {
    slots.deinitialize(count: used)
    slots.deallocate()
  }

  // MARK: Clients

  /// Adds a client. `session` is random text that nobody can guess (`s_8f2c…`), which its token begins with; `grant` what it may have, if
  /// that is known already.
  package func open(session: String, grant: Grant? = nil, now: Timestamp) -> ClientID {
    let slot: UInt32
    if let last = free.popLast() {
      slot = last
    } else {
      if used == capacity { grow() }
      (slots + used).initialize(to: ClientSlot())
      slot = UInt32(used)
      used += 1
    }
    let ticks = Int32(heartbeatSeconds) * HeartbeatWheel.ticksPerSecond
    let pointer = slots + Int(slot)
    pointer.pointee.generation &+= 1
    let client = ClientID(slot: slot, generation: pointer.pointee.generation)
    let state = ClientState(
      session: SessionToken.make(session, loop: loop, client: client), heartbeatTicks: ticks)
    state.grant = asksForTokens ? grant ?? anonymousGrant : .everything
    state.deadline = state.grant.map { Self.deadline(of: $0) } ?? now + Self.tokenTime
    pointer.pointee.state = state
    pointer.pointee.flags = []
    pointer.pointee.sent = 0
    pointer.pointee.isDirty = false
    pointer.pointee.isHeartbeatDue = false
    clientCount += 1
    startHeartbeats(client, state, now: now)
    if drainPlan != nil { drainLate(client, now: now) }
    return client
  }

  /// The connection is gone.
  package func close(_ client: ClientID, into actions: inout [HubAction]) {
    guard let state = anyState(of: client) else { return }
    unwatch(client.slot, state)
    park(state, isPaused: slots[Int(client.slot)].flags.contains(.paused), into: &actions)
    let subscriptions = state.subscriptions
    state.subscriptions = []
    for subscription in subscriptions { leave(subscription, state, into: &actions) }
    state.queue.removeAll()
    let pointer = slots + Int(client.slot)
    pointer.pointee.state = nil
    pointer.pointee.first = nil
    pointer.pointee.flags = .closed
    pointer.pointee.generation &+= 1
    free.append(client.slot)
    clientCount -= 1
  }

  private func grow() {
    let new = UnsafeMutablePointer<ClientSlot>.allocate(capacity: capacity * 2)
    new.moveInitialize(from: slots, count: used)
    slots.deallocate()
    slots = new
    capacity *= 2
  }

  /// The state of a client that is there; nil if it has gone.
  func anyState(of client: ClientID) -> ClientState? {
    guard Int(client.slot) < used, slots[Int(client.slot)].generation == client.generation else { return nil }
    return slots[Int(client.slot)].state
  }

  /// The state of a client that is there and not being closed.
  func state(of client: ClientID) -> ClientState? {
    guard let state = anyState(of: client), !slots[Int(client.slot)].flags.contains(.closed) else { return nil }
    return state
  }

  func id(of slot: UInt32) -> ClientID { ClientID(slot: slot, generation: slots[Int(slot)].generation) }

  /// Ends a client's connection; what it sends from here on is ignored.
  func disconnect(_ client: ClientID, code: UInt16, reason: String, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    slots[Int(client.slot)].flags.insert(.closed)
    if code == CloseCode.slow {
      slots[Int(client.slot)].first = nil
      state.queue.removeAll()
      slots[Int(client.slot)].isHeartbeatDue = false
    }
    unwatch(client.slot, state)
    actions.append(.close(client, code: code, reason: reason))
  }

  // MARK: Memberships

  /// Enters a client in a stream's list; nothing if it is there.
  func enter(_ slot: UInt32, _ state: ClientState, stream: UInt32, wanted: UInt16, mark: Subscription.Mark) {
    let place = state.place(of: stream)
    if place < state.subscriptions.count, state.subscriptions[place].stream == stream { return }
    let position = UInt32(lists[stream].slots.count)
    lists[stream].slots.append(slot)
    state.subscriptions.insert(
      Subscription(stream: stream, position: position, wanted: wanted, mark: mark), at: place)
    if mark != .none {
      state.marks += 1
      if mark == .awaiting { state.awaited += 1 }
      slots[Int(slot)].flags.insert(.marked)
    }
  }

  /// Ends one subscription of a client, with what is queued of it.
  func exit(_ slot: UInt32, _ state: ClientState, index: Int, into actions: inout [HubAction]) {
    let subscription = state.subscriptions.remove(at: index)
    if subscription.mark != .none {
      state.marks -= 1
      if subscription.mark == .awaiting {
        state.awaited -= 1
        // What waited for its snapshot to be sent with is sent without.
        touch(slot)
      }
      if state.marks == 0 { slots[Int(slot)].flags.remove(.marked) }
    }
    if slots[Int(slot)].first?.stream.rawValue == subscription.stream { slots[Int(slot)].first = nil }
    if !state.queue.isEmpty { _ = state.queue.removeAll(of: subscription.stream) }
    leave(subscription, state, into: &actions)
    if state.isDrained { slots[Int(slot)].flags.remove(.queued) }
  }

  /// Ends a subscription that its client no longer has; the stream's last one tells the publisher.
  private func leave(_ subscription: Subscription, _ state: ClientState, into actions: inout [HubAction]) {
    if subscription.mark == .behind { leaveBacklog(of: subscription.stream, state) }
    if subscription.isAway {
      lists[subscription.stream].away -= 1
    } else {
      unlist(subscription.stream, at: subscription.position)
    }
    leaveIfEmpty(subscription.stream, into: &actions)
  }

  func leaveIfEmpty(_ stream: UInt32, into actions: inout [HubAction]) {
    guard !lists[stream].hasSubscribers, lists[stream].holds == 0, !lists.isJoining(lists[stream].key) else { return }
    lists.drop(stream)
    actions.append(
      .command(.leave(StreamID(rawValue: stream), loop: loop), loop: Int(stream) % loops))
  }

  /// Changes what a subscription waits for. One that is away is put back into the list when it waits for nothing more.
  /// - Parameter reason: of the snapshot that a marked stream will get; nil leaves it as it is.
  func setMark(
    _ mark: Subscription.Mark, of index: Int, _ state: ClientState, slot: UInt32, reason: SnapshotReason? = nil
  ) {
    let old = state.subscriptions[index]
    state.subscriptions[index].mark = mark
    if let reason { state.subscriptions[index].reason = reason }
    if old.mark == .awaiting { state.awaited -= 1 }
    if mark == .awaiting { state.awaited += 1 }
    if old.mark == .none, mark != .none { state.marks += 1 }
    if old.mark != .none, mark == .none { state.marks -= 1 }
    if state.marks == 0 { slots[Int(slot)].flags.remove(.marked) } else { slots[Int(slot)].flags.insert(.marked) }
    guard old.isAway else { return }
    if old.mark == .behind, mark != .behind {
      leaveBacklog(of: old.stream, state)
      state.subscriptions[index].seq = lists[old.stream].seq
    } else if mark == .none {
      state.merged += Int(lists[old.stream].seq - old.seq)
    }
    if mark == .none { putBack(slot, state, index: index) }
  }

  // MARK: Queues

  func keep(_ spare: [QueuedItem]) {
    if spareQueues.count < Self.spareQueueLimit, spare.capacity <= 4096 { spareQueues.append(spare) }
  }

  @inline(__always)
  func touch(_ slot: UInt32) {
    let pointer = slots + Int(slot)
    if pointer.pointee.isDirty { return }
    pointer.pointee.isDirty = true
    dirty.append(ClientID(slot: slot, generation: pointer.pointee.generation))
  }

  func push(_ item: QueuedItem, to lane: SubscriberQueue.Lane, _ slot: UInt32, _ state: ClientState) {
    state.queue.append(item, to: lane, spares: &spareQueues)
    slots[Int(slot)].flags.insert(.queued)
    touch(slot)
  }

  /// Encodes a message that is for one client, and queues it.
  func send(to client: ClientID, now: Timestamp, _ body: (inout ByteBuffer) -> Void) {
    guard let state = state(of: client) else { return }
    let bytes = frame(body)
    charge(bytes.count, state, now: now)
    push(QueuedItem(control: bytes, time: steady(now)), to: .control, client.slot, state)
  }

  func frame(_ body: (inout ByteBuffer) -> Void) -> SharedBytes {
    scratch.removeAll()
    WebSocketFrame.appendUnmasked(.text, to: &scratch, body)
    return SharedBytes(scratch.unsafeBytes)
  }

  package func removeDirty() {
    for client in dirty {
      guard slots[Int(client.slot)].generation == client.generation else { continue }
      let pointer = slots + Int(client.slot)
      pointer.pointee.isDirty = false
      if pointer.pointee.first != nil || pointer.pointee.flags.contains(.queued) {
        pointer.pointee.flags.insert(.blocked)
        if let state = pointer.pointee.state { watch(client.slot, state) }
      }
    }
    dirty.removeAll(keepingCapacity: true)
  }

  /// The one frame that waits for a client, if nothing else does and nothing about the client is special: the common case, without
  /// a list of frames. Nil: `take`. O(1).
  package func takeOnly(from client: ClientID) -> SharedBytes? {
    guard Int(client.slot) < used else { return nil }
    let pointer = slots + Int(client.slot)
    guard pointer.pointee.generation == client.generation, pointer.pointee.flags.rawValue == 0,
      !pointer.pointee.isHeartbeatDue, let frame = pointer.pointee.first.take()
    else { return nil }
    pointer.pointee.sent &+= 1
    return frame.bytes
  }

  /// Hands over the replies and notices that still wait for a client, and no data: for one that is being closed and whose connection
  /// takes nothing more by itself. It is told all the same, of a drain for one, before it is told of the end. O(replies and notices).
  package func takeControl(from client: ClientID, into frames: inout [SharedBytes]) {
    guard let state = anyState(of: client) else { return }
    while let item = state.queue.removeFirstControl() {
      if let bytes = item.bytes { frames.append(bytes) }
    }
    if state.isDrained { slots[Int(client.slot)].flags.remove(.queued) }
  }

  /// Hands over queued frames of a client in order, at most about `byteLimit` bytes (at least one frame), appending to `frames`.
  /// Call when the client's connection is writable; what stays queued can still be merged.
  package func take(
    from client: ClientID, byteLimit: Int, now: Timestamp, into frames: inout [SharedBytes],
    actions: inout [HubAction]
  ) {
    guard let state = anyState(of: client) else { return }
    let pointer = slots + Int(client.slot)
    var room = byteLimit
    if pointer.pointee.isHeartbeatDue {
      pointer.pointee.isHeartbeatDue = false
      let heartbeat = heartbeat(sent: pointer.pointee.sent, state, now: now)
      room -= heartbeat.count
      frames.append(heartbeat)
    }
    if room > 0, let first = pointer.pointee.first {
      pointer.pointee.first = nil
      pointer.pointee.sent += 1
      room -= first.bytes.count
      frames.append(first.bytes)
      if state.isWatched { state.progress = steady(now) }
    }
    guard pointer.pointee.first == nil, pointer.pointee.flags.rawValue != 0 else { return }
    let hadQueue = pointer.pointee.flags.contains(.queued)
    while room > 0 {
      if state.behind > 0, state.queue.events.isEmpty { refill(client, state) }
      guard let item = state.queue.removeFirst() else { break }
      state.progress = steady(now)
      switch item.kind {
      case .snapshot, .update: pointer.pointee.sent += 1
      case .lost:
        let notice = frame { Replies.appendLost(item, to: &$0) }
        room -= notice.count
        frames.append(notice)
      case .control, .removed: break
      }
      if let bytes = item.bytes {
        room -= bytes.count
        frames.append(bytes)
      }
    }
    if hadQueue { state.queue.release { keep($0) } }
    // What was replayed is the oldest: the lane's last bytes are of it at most.
    if state.replayedBytes > 0 { state.replayedBytes = min(state.replayedBytes, state.queue.events.bytes) }
    if state.isDrained {
      pointer.pointee.flags.remove(.queued)
      if state.unsent == 0 { pointer.pointee.flags.remove(.blocked) }
    }
    if state.marks > 0 { askForSnapshots(client, state, into: &actions) }
  }
}
