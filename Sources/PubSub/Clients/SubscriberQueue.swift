import Bytes
import MarketData

/// One client's queue: the frames that wait from earlier turns. They go before the bundle of the present turn
/// (`TurnBundles`).
///
/// It has three lanes, each in order: replies and notices, which go first; messages of state channels; messages of
/// event channels. The latter two take turns by bytes, so that many old trades do not delay the newest prices for a
/// slow client, nor the reverse. No message depends on a message of another stream, and the message that announces a
/// stream goes before all data, so the order across lanes is free.
///
/// Bounds: of a client that is blocked `ClientLimits.queuedStateBytes`, one message a stream; of events what the
/// streams that it is behind with gave it at a time (`ClientQueues.refill`); and all of it together by
/// `hardQueuedBytes`.
struct SubscriberQueue {
  enum Lane { case control, state, events }

  private(set) var control = QueueLane()
  private(set) var state = QueueLane()
  private(set) var events = QueueLane()
  /// Bytes of state handed over less bytes of events, since both have been waiting.
  private var balance = 0

  var isEmpty: Bool { control.isEmpty && state.isEmpty && events.isEmpty }
  var count: Int { control.count + state.count + events.count }
  /// Bytes of everything that waits.
  var bytes: Int { control.bytes + state.bytes + events.bytes }

  /// When the oldest item came; `distantFuture` if there is none. O(removed items at the heads).
  var oldest: Timestamp { min(control.oldest, state.oldest, events.oldest) }

  /// Appends to a lane; `spares` are buffers for a lane that has none.
  mutating func append(_ item: QueuedItem, to lane: Lane, spares: inout SparePool) {
    switch lane {
    case .control: Self.append(item, to: &control, &spares)
    case .state: Self.append(item, to: &state, &spares)
    case .events: Self.append(item, to: &events, &spares)
    }
  }

  private static func append(_ item: QueuedItem, to lane: inout QueueLane, _ spares: inout SparePool) {
    if lane.items.capacity == 0, let spare = spares.take() { lane.adopt(spare) }
    lane.append(item)
  }

  /// Gives the buffers of empty lanes back.
  mutating func release(to spares: inout SparePool) {
    if let spare = control.release() { spares.keep(spare) }
    if let spare = state.release() { spares.keep(spare) }
    if let spare = events.release() { spares.keep(spare) }
  }

  mutating func removeFirst() -> QueuedItem? {
    if let item = control.removeFirst() { return item }
    if state.isEmpty || events.isEmpty {
      balance = 0
      return state.isEmpty ? events.removeFirst() : state.removeFirst()
    }
    guard balance > 0 else {
      let item = state.removeFirst()
      balance += item?.bytes?.count ?? 0
      return item
    }
    let item = events.removeFirst()
    balance -= item?.bytes?.count ?? 0
    return item
  }

  /// The first of the replies and notices alone.
  mutating func removeFirstControl() -> QueuedItem? { control.removeFirst() }

  /// Removes what is queued of a stream; returns how many messages that were. O(count).
  mutating func removeAll(of stream: UInt32) -> Int { state.removeAll(of: stream) + events.removeAll(of: stream) }

  /// Removes the messages of all streams, and keeps replies and notices.
  mutating func removeData() {
    state.removeAll()
    events.removeAll()
  }

  mutating func removeAll() { self = SubscriberQueue() }
}
