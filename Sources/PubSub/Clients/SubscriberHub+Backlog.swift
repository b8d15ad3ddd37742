import Bytes
import MarketData

/// Subscribers that are away from a stream's list, and what waits for those of an event channel: one backlog a stream for all of them, in which
/// each has a place, so that ten thousand clients that do not read cost no more for a message than one.
extension SubscriberHub {
  /// Bytes of all backlogs; past it a stream that publishes forgets half of its own. The publisher's memory of the same stream mostly holds
  /// the same bytes.
  static let backlogBytesLimit = 16 << 20
  /// Messages that a client takes over from a backlog at a time: then the next stream has its turn.
  private static let refillMessages = 16

  private var backlogLimits: ReplayRing.Limits {
    ReplayRing.Limits(events: limits.queuedEvents, bytes: limits.queuedEventBytes)
  }

  // MARK: Away and back

  /// Takes clients out of a stream's list after a message that was not for them, or that found them falling behind. O(1) each.
  func removeSubscribers(_ leaving: [UInt32], after frame: StreamFrame, now: Timestamp) {
    let stream = frame.stream.rawValue
    for slot in leaving {
      guard let state = slots[Int(slot)].state, let index = state.index(of: stream) else { continue }
      let subscription = state.subscriptions[index]
      if subscription.isAway || subscription.mark == .none { continue }
      unlist(stream, at: subscription.position)
      lists[stream].away += 1
      state.subscriptions[index].position = Subscription.away
      state.subscriptions[index].seq = frame.seq
      guard subscription.mark == .behind else { continue }
      if lists[stream].behind == 0 { keep(frame, now: now) }
      lists[stream].behind += 1
      state.subscriptions[index].seq = frame.seq - 1
      state.subscriptions[index].events = lists[stream].backlog.eventsBeforeLast
      if state.behind == 0 { state.behindSince = steady(now) }
      state.behind += 1
    }
  }

  /// Puts a subscriber into the list again: the next message is for it.
  func putBack(_ slot: UInt32, _ state: ClientState, index: Int) {
    let stream = state.subscriptions[index].stream
    state.subscriptions[index].position = UInt32(lists[stream].slots.count)
    lists[stream].slots.append(slot)
    lists[stream].away -= 1
  }

  /// Removes the subscriber at a place of a stream's list; the last one takes the place. O(log n) in that one's subscriptions.
  func unlist(_ stream: UInt32, at position: UInt32) {
    let last = lists[stream].slots.removeLast()
    guard position < lists[stream].slots.count else { return }
    lists[stream].slots[Int(position)] = last
    if let moved = slots[Int(last)].state, let index = moved.index(of: stream) {
      moved.subscriptions[index].position = position
    }
  }

  // MARK: The backlog

  /// Keeps a message for those that are behind. Amortised O(1).
  func keep(_ frame: StreamFrame, now: Timestamp) {
    let stream = frame.stream.rawValue
    backlogBytes -= lists[stream].backlog.bytes
    lists[stream].backlog.append(frame, time: steady(now), limits: backlogLimits)
    let bytes = lists[stream].backlog.bytes
    if backlogBytes + bytes > Self.backlogBytesLimit { lists[stream].backlog.trim(toBytes: bytes / 2) }
    backlogBytes += lists[stream].backlog.bytes
  }

  /// One client is no longer behind: it has caught up, or will not.
  func leaveBacklog(of stream: UInt32, _ state: ClientState) {
    state.behind -= 1
    lists[stream].behind -= 1
    if lists[stream].behind == 0 {
      backlogBytes -= lists[stream].backlog.bytes
      lists[stream].backlog.removeAll()
    }
  }

  /// Gives a client whose lane of events is empty the next messages of a stream that it is behind with: of the newest, an equal
  /// share for each such stream of what `ClientLimits.queuedEvents` and `queuedEventBytes` allow. Before them stands a note of what was
  /// lost. O(subscriptions).
  func refill(_ client: ClientID, _ state: ClientState) {
    guard state.behind > 0, let index = nextBehind(state) else { return }
    let subscription = state.subscriptions[index]
    let stream = subscription.stream
    state.lastRefilled = stream
    let share = ReplayRing.Limits(
      events: limits.queuedEvents / Int(state.behind), bytes: limits.queuedEventBytes / Int(state.behind))
    let run = lists[stream].backlog.items(after: subscription.seq, limits: share).prefix(Self.refillMessages)
    let next = run.first?.frame.seq ?? lists[stream].seq + 1
    if next > subscription.seq + 1 {
      let events = (run.first?.eventsBefore ?? lists[stream].backlog.totalEvents) - subscription.events
      let lost = QueuedItem(
        lost: stream, from: subscription.seq + 1, to: next - 1, events: events, time: state.behindSince)
      state.lost += Int(next - 1 - subscription.seq)
      state.queue.append(lost, to: .events, spares: &spareQueues)
    }
    for item in run {
      state.queue.append(QueuedItem(item.frame, time: item.time), to: .events, spares: &spareQueues)
    }
    if let last = run.last {
      state.subscriptions[index].seq = last.frame.seq
      state.subscriptions[index].events = last.eventsAfter
      state.behindSince = last.time
    }
    if run.last.map({ $0.frame.seq == lists[stream].seq }) ?? true {
      setMark(.none, of: index, state, slot: client.slot)
    }
  }

  /// The subscription that is behind and whose turn it is.
  private func nextBehind(_ state: ClientState) -> Int? {
    let start = state.place(of: state.lastRefilled &+ 1)
    return state.subscriptions[start...].firstIndex { $0.mark == .behind }
      ?? state.subscriptions[..<start].firstIndex { $0.mark == .behind }
  }
}
