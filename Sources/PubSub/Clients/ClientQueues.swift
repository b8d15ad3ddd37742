import Bytes
import MarketData
import WebSocket

/// What waits for each client: of this turn a bundle of frames (`TurnBundles`), of earlier turns a queue
/// (`SubscriberQueue`), and of streams that the client is behind with a position in their backlogs (`SubscriberLists`).
/// All times are steady.
struct ClientQueues: ~Copyable {
  /// The events that a client may get in one turn before its connection is asked, as a multiple of the bound of a
  /// blocked client.
  private static let turnFactor = 4
  /// Messages that a client takes over from a backlog at a time: then the next stream has its turn.
  private static let refillMessages = 16
  /// Bytes of one turn that are handed to a client as one piece.
  private static let bundleBytes = 32 << 10
  /// Memory of drained queues that is kept for the next that fill, items.
  private static let spareItems = 1 << 18

  /// What became of a frame that is for a client about which something is special.
  enum Outcome {
    case done
    /// The next ones are not for the client: it leaves the list after this one.
    case leaves
    /// More than `ClientLimits.hardQueuedBytes` wait for it.
    case overflows
  }

  var limits: ClientLimits
  var turn: TurnBundles
  /// Clients that were given something since the list was last emptied.
  var dirty = DirtyList()
  private var spares = SparePool(itemLimit: spareItems)
  private var scratch = ByteBuffer(capacity: 1024)

  init(limits: ClientLimits) {
    self.limits = limits
    turn = TurnBundles(bytesLimit: min(Self.bundleBytes, limits.softQueuedBytes / 2))
  }

  // MARK: Giving

  /// Gives a run of frames of one stream to its subscribers: the hot path. One store for a client with nothing special
  /// about it.
  /// - Parameter special: the others are added here, to be offered each frame.
  mutating func deliver(
    _ run: ArraySlice<StreamFrame>, to subscribers: [UInt32], special: inout [UInt32], time: Timestamp,
    _ clients: borrowing ClientTable
  ) {
    turn.begin(run, time: time)
    dirty.reserve(subscribers.count)
    for slot in subscribers {
      let client = clients[slot]
      if client.pointee.flags.rawValue == 0 {
        let next = turn.advance(client.pointee.bundle)
        if next != TurnBundles.empty {
          client.pointee.bundle = next
          if !client.pointee.isDirty {
            client.pointee.isDirty = true
            dirty.appendReserved(ClientID(slot: slot, generation: client.pointee.generation))
          }
          continue
        }
      }
      special.append(slot)
    }
  }

  /// A frame that is for all, to a client that has something queued, or whose subscription is in a special state.
  mutating func offer(
    _ frame: StreamFrame, _ slot: UInt32, time: Timestamp, _ lists: inout SubscriberLists,
    _ clients: borrowing ClientTable
  ) -> Outcome {
    let client = clients[slot]
    let flags = client.pointee.flags
    guard let state = client.pointee.state, flags.isDisjoint(with: [.closed, .paused]) else { return .done }
    spill(slot, lists, clients)
    let isEvent = lists.isEvent(frame.stream.rawValue)
    let isOver =
      flags.contains(.blocked)
      || state.queue.events.bytes - state.flow.replayedBytes > Self.turnFactor * limits.queuedEventBytes
    let fallsBehind = isEvent && isOver
    if frame.kind == .update, fallsBehind || flags.contains(.marked),
      let index = state.memberships.index(of: frame.stream.rawValue)
    {
      switch state.memberships[index].mark {
      case .marked, .awaiting:
        state.merged += 1
        return .leaves
      case .none where fallsBehind:
        let isFirst = state.memberships.behind == 0
        lists.setMark(.behind, of: index, slot, clients)
        if isFirst { state.memberships.setBehindSince(time) }
        client.pointee.flags.insert(.queued)
        touch(slot, clients)
        return .leaves
      case .none, .holding, .behind: break
      }
    }
    return enqueue(frame, slot, time: time, &lists, clients)
  }

  /// Queues one frame for a client, in order. If a frame of a state channel does not fit, or cannot follow merged
  /// frames, the subscription waits for a snapshot instead.
  ///
  /// - Parameter start: the reason of the snapshot, if this is the stream's first; one that does not fit is sent later.
  mutating func enqueue(
    _ frame: StreamFrame, _ slot: UInt32, start: SnapshotReason? = nil, time: Timestamp,
    _ lists: inout SubscriberLists, _ clients: borrowing ClientTable
  ) -> Outcome {
    let client = clients[slot]
    let flags = client.pointee.flags
    guard let state = client.pointee.state, flags.isDisjoint(with: [.closed, .paused]) else { return .done }
    spill(slot, lists, clients)
    let stream = frame.stream.rawValue
    let isEvent = lists.isEvent(stream)
    var wasAwaited = false
    if flags.contains(.marked), let index = state.memberships.index(of: stream) {
      switch state.memberships[index].mark {
      case .none: break
      case .holding:
        hold(frame, of: index, slot, &lists, clients)
        return .done
      case .marked, .awaiting:
        guard frame.kind == .snapshot else {
          state.merged += 1
          return .done
        }
        wasAwaited = state.memberships[index].mark == .awaiting
        lists.setMark(.none, of: index, slot, clients)
      // A snapshot that was asked for before: the backlog has more.
      case .behind: return .done
      }
    }
    let isBlocked = flags.contains(.blocked)
    // Before its connection was asked: half of what would count as slow.
    let isFull =
      isBlocked ? state.queue.state.bytes >= limits.queuedStateBytes : state.queue.bytes > limits.softQueuedBytes / 2
    if isFull, let start, frame.kind == .snapshot, let index = state.memberships.index(of: stream) {
      lists.setMark(.marked, of: index, slot, clients, reason: start)
      touch(slot, clients)
      return .done
    }
    if isBlocked || isFull, !isEvent {
      let merged = state.queue.isEmpty ? 0 : state.queue.removeAll(of: stream)
      state.merged += merged
      let cannotLink = merged > 0 && frame.kind == .update
      if cannotLink || (isFull && !wasAwaited), let index = state.memberships.index(of: stream) {
        state.merged += 1
        lists.setMark(.marked, of: index, slot, clients, reason: .slow)
        if state.isDrained { client.pointee.flags.remove(.queued) }
        touch(slot, clients)
        return .done
      }
    }
    push(QueuedItem(frame, time: time), to: isEvent ? .events : .state, slot, clients)
    return isBlocked && state.queue.bytes - state.flow.replayedBytes > limits.hardQueuedBytes ? .overflows : .done
  }

  /// Keeps a frame of a subscription whose reply is not out. At the bound the subscription is marked instead.
  private mutating func hold(
    _ frame: StreamFrame, of index: Int, _ slot: UInt32, _ lists: inout SubscriberLists,
    _ clients: borrowing ClientTable
  ) {
    guard let pending = clients[slot].pointee.state?.requests.pending else { return }
    guard pending.held.count - pending.resume.replayedFrames < 4 * pending.joined.count + 256 else {
      pending.held.removeAll { $0.stream == frame.stream }
      lists.setMark(.marked, of: index, slot, clients, reason: pending.startReason)
      return
    }
    pending.held.append(frame)
  }

  mutating func push(
    _ item: QueuedItem, to lane: SubscriberQueue.Lane, _ slot: UInt32, _ clients: borrowing ClientTable
  ) {
    clients[slot].pointee.state?.queue.append(item, to: lane, spares: &spares)
    clients[slot].pointee.flags.insert(.queued)
    touch(slot, clients)
  }

  @inline(__always)
  mutating func touch(_ slot: UInt32, _ clients: borrowing ClientTable) {
    let client = clients[slot]
    if client.pointee.isDirty { return }
    client.pointee.isDirty = true
    dirty.reserve(1)
    dirty.appendReserved(ClientID(slot: slot, generation: client.pointee.generation))
  }

  /// Moves what this turn has brought a client into its queue, where it can be merged and removed.
  @inline(__always)
  mutating func spill(_ slot: UInt32, _ lists: SubscriberLists, _ clients: borrowing ClientTable) {
    if clients[slot].pointee.bundle != TurnBundles.empty { spillBundle(slot, lists, clients) }
  }

  private mutating func spillBundle(_ slot: UInt32, _ lists: SubscriberLists, _ clients: borrowing ClientTable) {
    let bundle = clients[slot].pointee.bundle
    clients[slot].pointee.bundle = TurnBundles.empty
    guard let state = clients[slot].pointee.state else { return }
    var items: [QueuedItem] = []
    turn.forEachFrame(of: bundle) { items.append(QueuedItem($0, time: $1)) }
    for item in items { state.queue.append(item, to: lists.isEvent(item.stream) ? .events : .state, spares: &spares) }
    clients[slot].pointee.flags.insert(.queued)
  }

  /// Encodes a message that is for one client.
  mutating func frame(_ body: (inout ByteBuffer) -> Void) -> SharedBytes {
    scratch.removeAll()
    WebSocketFrame.appendUnmasked(.text, to: &scratch, body)
    return SharedBytes(scratch.unsafeBytes)
  }

  // MARK: Taking

  /// Hands over what waits for a client in order, at most about `byteLimit` bytes (at least one frame).
  /// - Parameters:
  ///   - heartbeat: goes first.
  ///   - reportsLosses: whether the client's protocol has a notice of lost messages.
  mutating func take(
    from client: ClientID, _ heartbeat: SharedBytes?, byteLimit: Int, time: Timestamp, reportsLosses: Bool = true,
    into frames: inout [SharedBytes], _ lists: inout SubscriberLists, _ clients: borrowing ClientTable
  ) {
    let slot = clients[client.slot]
    guard let state = slot.pointee.state else { return }
    var room = byteLimit
    if let heartbeat {
      room -= heartbeat.count
      frames.append(heartbeat)
    }
    let bundle = slot.pointee.bundle
    if bundle != TurnBundles.empty, room > 0 {
      if turn.byteCount(of: bundle) <= room || turn.frameCount(of: bundle) == 1 {
        slot.pointee.bundle = TurnBundles.empty
        slot.pointee.sent += UInt64(turn.frameCount(of: bundle))
        room -= turn.byteCount(of: bundle)
        turn.forEachFrame(of: bundle) { frame, _ in frames.append(frame.bytes) }
        state.noteProgress(at: time)
      } else {
        spill(client.slot, lists, clients)
      }
    }
    guard slot.pointee.bundle == TurnBundles.empty, slot.pointee.flags.rawValue != 0 else { return }
    let hadQueue = slot.pointee.flags.contains(.queued)
    while room > 0 {
      if state.memberships.behind > 0, state.queue.events.isEmpty { refill(client.slot, state, &lists, clients) }
      guard !state.queue.isEmpty, let item = state.queue.removeFirst() else { break }
      state.noteProgress(at: time)
      switch item.kind {
      case .snapshot, .update: slot.pointee.sent += 1
      case .lost where !reportsLosses: continue
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
    if hadQueue {
      state.queue.release(to: &spares)
      state.releaseQueue()
    }
    // What was replayed is the oldest: the lane's last bytes are of it at most.
    if state.flow.replayedBytes > 0 {
      state.flow.replayedBytes = min(state.flow.replayedBytes, state.queue.events.bytes)
      state.releaseFlow()
    }
    if state.isDrained {
      slot.pointee.flags.remove(.queued)
      if state.flow.unsent == 0 { slot.pointee.flags.remove(.blocked) }
    }
  }

  /// Gives a client whose event lane is empty the next messages of a stream that it is behind with. It takes the newest
  /// messages, and for each such stream an equal share of `ClientLimits.queuedEvents` and `queuedEventBytes`. A notice
  /// of the lost messages precedes them. O(subscriptions).
  private mutating func refill(
    _ slot: UInt32, _ state: ClientState, _ lists: inout SubscriberLists, _ clients: borrowing ClientTable
  ) {
    guard state.memberships.behind > 0, let index = state.memberships.takeNextBehind() else { return }
    let subscription = state.memberships[index]
    let stream = subscription.stream
    let share = ReplayRing.Limits(
      events: limits.queuedEvents / Int(state.memberships.behind),
      bytes: limits.queuedEventBytes / Int(state.memberships.behind))
    let run = lists[stream].backlog.items(after: subscription.seq, limits: share).prefix(Self.refillMessages)
    let next = run.first?.frame.seq ?? lists[stream].seq + 1
    if next > subscription.seq + 1 {
      let events = (run.first?.eventsBefore ?? lists[stream].backlog.totalEvents) - subscription.events
      let lost = QueuedItem(
        lost: stream, from: subscription.seq + 1, to: next - 1, events: events, time: state.memberships.behindSince)
      state.lost += Int(next - 1 - subscription.seq)
      state.queue.append(lost, to: .events, spares: &spares)
    }
    for item in run {
      state.queue.append(QueuedItem(item.frame, time: item.time), to: .events, spares: &spares)
    }
    if let last = run.last {
      state.memberships.setProgress(seq: last.frame.seq, events: last.eventsAfter, at: index)
      state.memberships.setBehindSince(last.time)
    }
    if run.last.map({ $0.frame.seq == lists[stream].seq }) ?? true { lists.setMark(.none, of: index, slot, clients) }
  }

  // MARK: What waits

  /// Bytes that wait for a client here, and when the oldest message of them came.
  func load(of slot: UInt32, _ state: ClientState, _ clients: borrowing ClientTable) -> SlowClientPolicy.Load {
    let bundle = clients[slot].pointee.bundle
    var oldest = state.queue.oldest
    if bundle != TurnBundles.empty { oldest = min(oldest, turn.time(of: bundle)) }
    if state.memberships.behind > 0 { oldest = min(oldest, state.memberships.behindSince) }
    return SlowClientPolicy.Load(
      waitingBytes: state.queue.bytes + turn.byteCount(of: bundle), replayedBytes: state.flow.replayedBytes,
      oldest: oldest, isBehind: state.memberships.behind > 0, isBusy: state.requests.isBusy)
  }
}

/// Memory of drained queues, for the next that fill.
struct SparePool {
  private var buffers: [[QueuedItem]] = []
  private var items = 0
  private let itemLimit: Int

  init(itemLimit: Int) { self.itemLimit = itemLimit }

  mutating func keep(_ buffer: [QueuedItem]) {
    guard buffer.capacity <= 4096, items + buffer.capacity <= itemLimit else { return }
    items += buffer.capacity
    buffers.append(buffer)
  }

  mutating func take() -> [QueuedItem]? {
    guard let buffer = buffers.popLast() else { return nil }
    items -= buffer.capacity
    return buffer
  }
}

/// A growing list of clients whose append is one store.
struct DirtyList: ~Copyable {
  private var base: UnsafeMutablePointer<ClientID>
  private var capacity = 64
  private(set) var count = 0
  /// Those of them that have not been taken everything from.
  private(set) var left = 0

  init() { base = .allocate(capacity: capacity) }
  deinit { base.deallocate() }

  @inline(__always)
  subscript(index: Int) -> ClientID { base[index] }

  /// Makes room for `more`.
  mutating func reserve(_ more: Int) {
    guard count + more > capacity else { return }
    while count + more > capacity { capacity *= 2 }
    let larger = UnsafeMutablePointer<ClientID>.allocate(capacity: capacity)
    larger.moveInitialize(from: base, count: count)
    base.deallocate()
    base = larger
  }

  /// Appends where `reserve` has made room.
  @inline(__always)
  mutating func appendReserved(_ client: ClientID) {
    (base + count).initialize(to: client)
    count &+= 1
    left &+= 1
  }

  /// Everything that one of them had was taken.
  @inline(__always)
  mutating func noteTaken() { left &-= 1 }

  mutating func removeAll() {
    count = 0
    left = 0
  }
}
