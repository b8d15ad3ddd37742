/// The subscriptions and the iterations of the connection's events, each with what waits for it.
struct ConsumerTable: Sendable {
  private struct Subscriber {
    var items: [StreamItem]
    var inbox: Inbox<StreamItem, StreamEvent<Payload>>
  }

  /// The one state among the events of the connection.
  private enum Report { case heartbeat }

  /// Events that may wait for one consumer.
  let limit: Int
  private var subscribers: [Int: Subscriber] = [:]
  private var listeners: [Int: Inbox<Report, ConnectionEvent>] = [:]
  private var heartbeat: Heartbeat?

  init(limit: Int) { self.limit = limit }

  var hasListeners: Bool { !listeners.isEmpty }

  func contains(_ id: Int) -> Bool { subscribers[id] != nil || listeners[id] != nil }

  /// Whether something waits for a consumer.
  func hasNews(_ id: Int) -> Bool {
    subscribers[id]?.inbox.isEmpty == false || listeners[id]?.isEmpty == false
  }

  // MARK: Begin and end

  mutating func subscribe(_ id: Int, _ items: [StreamItem]) {
    subscribers[id] = Subscriber(items: items, inbox: Inbox(limit: limit))
  }

  mutating func listen(_ id: Int) { listeners[id] = Inbox(limit: limit) }

  /// Removes a consumer; returns the items of a subscription, and nil for a listener.
  mutating func remove(_ id: Int) -> [StreamItem]? {
    listeners[id] = nil
    return subscribers.removeValue(forKey: id)?.items
  }

  // MARK: Reading

  /// The next event of a subscription; nil: none waits.
  mutating func next(_ id: Int, _ streams: borrowing StreamTable) -> StreamEvent<Payload>? {
    while let entry = subscribers[id]?.inbox.next() {
      switch entry {
      case .event(let event): return event
      case .dropped(let count): return .dropped(count: count)
      case .state(let key): if let event = streams[key]?.event { return event }
      }
    }
    return nil
  }

  /// The next event of the connection; nil: none waits.
  mutating func nextOfConnection(_ id: Int) -> ConnectionEvent? {
    while let entry = listeners[id]?.next() {
      switch entry {
      case .event(let event): return event
      case .dropped(let count): return .dropped(count: count)
      case .state(.heartbeat): if let heartbeat { return .heartbeat(heartbeat) }
      }
    }
    return nil
  }

  // MARK: Events

  /// The state of a stream has changed.
  mutating func mark(_ key: StreamItem, for id: Int, into actions: inout [ClientAction]) {
    subscribers[id]?.inbox.mark(key)
    actions.append(.wake(id))
  }

  /// Adds an event to one subscriber's inbox; if it has more trades or documents than the inbox may hold, the latest of
  /// them.
  mutating func put(_ event: StreamEvent<Payload>, before id: Int, into actions: inout [ClientAction]) {
    guard let limit = subscribers[id]?.inbox.limit else { return }
    actions.append(.wake(id))
    guard case .value(let payload, let info) = event, let count = payload.eventCount else {
      subscribers[id]?.inbox.append(event)
      return
    }
    guard count > limit else {
      subscribers[id]?.inbox.append(event, weight: count)
      return
    }
    subscribers[id]?.inbox.append(.value(payload.latest(limit), info), weight: limit)
    subscribers[id]?.inbox.drop(count - limit)
  }

  /// Adds an event to the inboxes of the connection's consumers.
  mutating func tell(_ event: ConnectionEvent, into actions: inout [ClientAction]) {
    for id in listeners.keys.sorted() {
      listeners[id]?.append(event)
      actions.append(.wake(id))
    }
  }

  /// Only the latest heartbeat is kept for a slow consumer.
  mutating func tell(_ heartbeat: Heartbeat, into actions: inout [ClientAction]) {
    self.heartbeat = heartbeat
    for id in listeners.keys.sorted() {
      listeners[id]?.mark(.heartbeat)
      actions.append(.wake(id))
    }
  }

  func wakeAll(into actions: inout [ClientAction]) {
    for id in (Array(subscribers.keys) + Array(listeners.keys)).sorted() { actions.append(.wake(id)) }
  }
}
