import MarketData

/// The subscribers of a stream on this loop, and the hub's state of the stream.
struct SubscriberList {
  /// Slots of the clients that what is published is for, without gaps, in no order: a delivery runs through them.
  var slots: [UInt32] = []
  /// Further subscribers: they get no frames until they have space and request them, so they cost nothing in the
  /// meantime.
  var away: UInt32 = 0
  /// The further subscribers whose missed messages are kept in `backlog`.
  var behind: UInt32 = 0
  var backlog = ReplayRing()
  var key = StreamKey(channel: .status, symbol: "")
  /// Whether every message of the stream matters.
  var isEvent = false
  /// Sessions without a client that may come back for what they missed of it.
  var holds: UInt32 = 0
  var epoch = ""
  /// The subscriptions that it counts as.
  var weight = 1
  /// The base time and digits of its binary records; nil: its messages are text.
  var scale: BinaryScale?
  /// The last `seq` seen.
  var seq: UInt64 = 0

  var hasSubscribers: Bool { !slots.isEmpty || away > 0 }
}

/// The subscribers of each stream: those that get its messages, those that wait for a snapshot, and one backlog a
/// stream for all that are behind. Each of these has a position in the backlog, so ten thousand clients that do not
/// read cost no more per message than one.
///
/// Stream numbers are dense per loop, so a list is found by index.
struct SubscriberLists {
  /// Bytes of all backlogs; past it a stream that publishes forgets half of its own. The publisher's memory of the same
  /// stream mostly holds the same bytes.
  static let backlogBytesLimit = 16 << 20

  private(set) var lists: [SubscriberList] = []
  private var numbers: [StreamKey: UInt32] = [:]
  /// Joins that are not answered, by key: a stream with some is not left, or the answer would come for one that we have
  /// left.
  private var joining: [StreamKey: Int] = [:]
  /// Bytes of all backlogs.
  var backlogBytes = 0
  /// The members of all groups with subscribers here.
  private(set) var groupMembers = 0
  let backlogLimits: ReplayRing.Limits

  init(backlogLimits: ReplayRing.Limits) { self.backlogLimits = backlogLimits }

  subscript(stream: UInt32) -> SubscriberList {
    _read { yield lists[Int(stream)] }
    _modify { yield &lists[Int(stream)] }
  }

  func has(_ stream: UInt32) -> Bool { Int(stream) < lists.count && !lists[Int(stream)].epoch.isEmpty }

  /// Whether every message of the stream matters.
  func isEvent(_ stream: UInt32) -> Bool { lists[Int(stream)].isEvent }

  /// The number of the stream with this key, if this loop has subscribers of it.
  func number(of key: StreamKey) -> UInt32? { numbers[key] }

  /// Streams with subscribers here.
  var count: Int { numbers.count }

  mutating func noteJoin(_ key: StreamKey) { joining[key, default: 0] += 1 }
  mutating func noteAnswer(_ key: StreamKey) {
    guard let count = joining[key] else { return }
    joining[key] = count > 1 ? count - 1 : nil
  }

  mutating func open(_ result: JoinResult) {
    let stream = result.stream.rawValue
    while lists.count <= Int(stream) { lists.append(SubscriberList()) }
    if !has(stream), !result.key.group.isEmpty { groupMembers += result.key.weight }
    lists[Int(stream)].key = result.key
    lists[Int(stream)].isEvent = result.key.channel.isEvent
    lists[Int(stream)].epoch = result.epoch
    lists[Int(stream)].scale = result.scale
    lists[Int(stream)].weight = result.key.weight
    lists[Int(stream)].seq = result.seq
    numbers[result.key] = stream
  }

  /// Forgets a stream without subscribers. False if it has some, is held for a session, or is being joined.
  mutating func dropIfEmpty(_ stream: UInt32) -> Bool {
    let list = lists[Int(stream)]
    guard !list.hasSubscribers, list.holds == 0, joining[list.key] == nil else { return false }
    numbers[list.key] = nil
    if !list.key.group.isEmpty { groupMembers -= list.key.weight }
    lists[Int(stream)] = SubscriberList()
    return true
  }

  // MARK: Subscribers

  /// Enters a client in a stream's list; nothing if it is there.
  mutating func add(
    _ slot: UInt32, to stream: UInt32, wanted: UInt16, mark: Subscription.Mark, _ clients: borrowing ClientTable
  ) {
    guard let state = clients[slot].pointee.state, state.memberships.index(of: stream) == nil else { return }
    let position = UInt32(lists[Int(stream)].slots.count)
    lists[Int(stream)].slots.append(slot)
    state.memberships.insert(Subscription(stream: stream, position: position, wanted: wanted, mark: mark))
    clients[slot].pointee.set(.marked, state.memberships.marks > 0)
  }

  /// Ends a subscription that its client no longer has.
  mutating func remove(_ subscription: Subscription, _ clients: borrowing ClientTable) {
    if subscription.mark == .behind { leaveBacklog(of: subscription.stream) }
    if subscription.isAway {
      lists[Int(subscription.stream)].away -= 1
    } else {
      unlist(subscription.stream, at: subscription.position, clients)
    }
  }

  /// Changes what a subscription waits for. One that is away is put back into the list when it waits for nothing more.
  /// - Parameter reason: of the snapshot that a marked stream will get; nil leaves it as it is.
  mutating func setMark(
    _ mark: Subscription.Mark, of index: Int, _ slot: UInt32, _ clients: borrowing ClientTable,
    reason: SnapshotReason? = nil
  ) {
    guard let state = clients[slot].pointee.state else { return }
    let old = state.memberships.setMark(mark, at: index, reason: reason)
    clients[slot].pointee.set(.marked, state.memberships.marks > 0)
    guard old.isAway else { return }
    let seq = lists[Int(old.stream)].seq
    if old.mark == .behind, mark != .behind {
      leaveBacklog(of: old.stream)
      state.memberships.setProgress(seq: seq, at: index)
    } else if mark == .none {
      state.merged += Int(seq - old.seq)
    }
    guard mark == .none else { return }
    state.memberships.setPosition(UInt32(lists[Int(old.stream)].slots.count), at: index)
    lists[Int(old.stream)].slots.append(slot)
    lists[Int(old.stream)].away -= 1
  }

  /// Takes clients out of a stream's list after a message that was not for them, or that found them falling behind.
  /// O(1) each.
  mutating func removeSubscribers(
    _ leaving: [UInt32], after frame: StreamFrame, time: Timestamp, _ clients: borrowing ClientTable
  ) {
    let stream = frame.stream.rawValue
    for slot in leaving {
      guard let state = clients[slot].pointee.state, let index = state.memberships.index(of: stream) else { continue }
      let subscription = state.memberships[index]
      if subscription.isAway || subscription.mark == .none { continue }
      unlist(stream, at: subscription.position, clients)
      lists[Int(stream)].away += 1
      state.memberships.setPosition(Subscription.away, at: index)
      state.memberships.setProgress(seq: frame.seq, at: index)
      guard subscription.mark == .behind else { continue }
      if lists[Int(stream)].behind == 0 { keep(frame, time: time) }
      lists[Int(stream)].behind += 1
      state.memberships.setProgress(
        seq: frame.seq - 1, events: lists[Int(stream)].backlog.eventsBeforeLast, at: index)
    }
  }

  /// Removes the subscriber at an index of a stream's list; the last one takes the index. O(log n) in that one's
  /// subscriptions.
  private mutating func unlist(_ stream: UInt32, at position: UInt32, _ clients: borrowing ClientTable) {
    let last = lists[Int(stream)].slots.removeLast()
    guard position < lists[Int(stream)].slots.count else { return }
    lists[Int(stream)].slots[Int(position)] = last
    if let moved = clients[last].pointee.state, let index = moved.memberships.index(of: stream) {
      moved.memberships.setPosition(position, at: index)
    }
  }

  // MARK: Backlogs

  /// Keeps a message for clients that are behind. Amortised O(1).
  mutating func keep(_ frame: StreamFrame, time: Timestamp) {
    let stream = Int(frame.stream.rawValue)
    backlogBytes -= lists[stream].backlog.bytes
    lists[stream].backlog.append(frame, time: time, limits: backlogLimits)
    let bytes = lists[stream].backlog.bytes
    if backlogBytes + bytes > Self.backlogBytesLimit { lists[stream].backlog.trim(toBytes: bytes / 2) }
    backlogBytes += lists[stream].backlog.bytes
  }

  /// Forgets the backlog of a stream, because messages with so many `events` are missing behind it.
  mutating func skipBacklog(of stream: UInt32, events: UInt64) {
    backlogBytes -= lists[Int(stream)].backlog.bytes
    lists[Int(stream)].backlog.skip(events: events)
  }

  /// One client is no longer behind: it has caught up, or will not.
  private mutating func leaveBacklog(of stream: UInt32) {
    lists[Int(stream)].behind -= 1
    guard lists[Int(stream)].behind == 0 else { return }
    backlogBytes -= lists[Int(stream)].backlog.bytes
    lists[Int(stream)].backlog.removeAll()
  }
}
