/// Consumers: subscriptions, and iterations of the connection's events. They begin and end while the connection lives.
extension ClientCore {
  // MARK: Begin and end

  /// Adds a subscription; returns its number among the consumers.
  package mutating func subscribe(
    _ request: StreamRequest<Payload>, now: UInt64, into actions: inout [ClientAction]
  ) -> Int {
    subscribe(request.items, now: now, into: &actions)
  }

  mutating func subscribe(_ items: [StreamItem], now: UInt64, into actions: inout [ClientAction]) -> Int {
    let id = takeSerial()
    var seen: Set<StreamItem> = []
    let items = items.filter { seen.insert($0).inserted }
    subscribers[id] = Subscriber(items: items, inbox: Inbox(limit: options.bufferLimit))
    var new: [StreamItem] = []
    for item in items {
      if wants[item] == nil { wants[item] = Want(serial: takeSerial(), phase: .refused) }
      wants[item]?.subscribers.insert(id)
      guard let want = wants[item] else { continue }
      if want.phase == .refused {
        wants[item]?.phase = .asked
        new.append(item)
      }
      for key in sorted(want.streams) { attach(id, to: key, into: &actions) }
    }
    if phase == .open { ask(new, now: now, into: &actions) }
    return id
  }

  /// Ends a subscription, and unsubscribes from streams without another consumer.
  package mutating func cancel(_ id: Int, now: UInt64, into actions: inout [ClientAction]) {
    listeners[id] = nil
    guard let subscriber = subscribers.removeValue(forKey: id) else { return }
    var keys: Set<StreamItem> = []
    for item in subscriber.items {
      keys.formUnion(wants[item]?.streams ?? [])
      wants[item]?.subscribers.remove(id)
      if wants[item]?.subscribers.isEmpty == true { wants[item] = nil }
    }
    for key in keys {
      streams[key]?.subscribers.remove(id)
      if streams[key]?.subscribers.isEmpty == true { unfollowed.insert(key) }
    }
    leaveUnfollowed(now: now, into: &actions)
    actions.append(.wake(id))
  }

  /// Adds a consumer of the connection's events.
  package mutating func listen() -> Int {
    let id = takeSerial()
    listeners[id] = Inbox(limit: options.bufferLimit)
    return id
  }

  // MARK: Reading

  /// The next event of a subscription; nil: none waits.
  package mutating func next(_ id: Int) -> StreamEvent<Payload>? {
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
  package mutating func nextOfConnection(_ id: Int) -> ConnectionEvent? {
    while let entry = listeners[id]?.next() {
      switch entry {
      case .event(let event): return event
      case .dropped(let count): return .dropped(count: count)
      case .state(.heartbeat): if let heartbeat { return .heartbeat(heartbeat) }
      }
    }
    return nil
  }

  /// Whether a consumer gets nothing more after the waiting events.
  func isOver(_ id: Int) -> Bool {
    phase == .stopped || subscribers[id] == nil && listeners[id] == nil && asked[id] == nil
  }

  /// Whether a consumer may have something to take, or has ended.
  func hasNews(_ id: Int) -> Bool {
    isOver(id) || subscribers[id]?.inbox.isEmpty == false || listeners[id]?.isEmpty == false
      || (asked[id] ?? nil) != nil
  }

  // MARK: The app's requests

  /// Requests that only heartbeats are sent until `resume`, also after a reconnection.
  package mutating func pause(now: UInt64, into actions: inout [ClientAction]) {
    guard !isPaused else { return }
    isPaused = true
    if phase == .open { send("pause", now: now, into: &actions) }
  }

  /// Requests data again, beginning with a snapshot of every stream.
  package mutating func resume(now: UInt64, into actions: inout [ClientAction]) {
    guard isPaused else { return }
    isPaused = false
    if phase == .open { send("resume", now: now, into: &actions) }
  }

  /// Changes the rate of every stream, of later streams, too, and after a reconnection.
  package mutating func configure(cadence: Int, now: UInt64, into actions: inout [ClientAction]) {
    self.cadence = cadence
    guard phase == .open else { return }
    actions.append(.send(Requests.configure(id: takeID(.other, now: now), interval: cadence)))
  }

  // MARK: Events

  /// Tells the subscribers of a stream that its state has changed.
  mutating func touch(_ key: StreamItem, into actions: inout [ClientAction]) {
    guard let stream = streams[key] else { return }
    for id in stream.subscribers.sorted() {
      subscribers[id]?.inbox.mark(key)
      actions.append(.wake(id))
    }
  }

  /// Adds an event of a stream to its subscribers' inboxes.
  mutating func append(_ event: StreamEvent<Payload>, of key: StreamItem, into actions: inout [ClientAction]) {
    guard let stream = streams[key] else { return }
    for id in stream.subscribers.sorted() { put(event, before: id, into: &actions) }
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

  mutating func tellHeartbeat(_ heartbeat: Heartbeat, into actions: inout [ClientAction]) {
    self.heartbeat = heartbeat
    for id in listeners.keys.sorted() {
      listeners[id]?.mark(.heartbeat)
      actions.append(.wake(id))
    }
  }

  func wakeAll(into actions: inout [ClientAction]) {
    for id in (Array(subscribers.keys) + Array(listeners.keys)).sorted() { actions.append(.wake(id)) }
  }

  /// Gives a new subscriber the present value of a stream.
  mutating func attach(_ id: Int, to key: StreamItem, into actions: inout [ClientAction]) {
    guard streams[key]?.subscribers.insert(id).inserted == true, let event = streams[key]?.event else { return }
    if !key.channel.isState {
      put(event, before: id, into: &actions)
      if let stream = streams[key], let reason = stream.silence {
        put(.stale(stream.info, .outOfSync(reason)), before: id, into: &actions)
      }
    } else {
      subscribers[id]?.inbox.mark(key)
      actions.append(.wake(id))
    }
  }

  /// Removes a stream. Returns its number, if it has one that no other stream has.
  mutating func remove(_ key: StreamItem) -> Int64? {
    gapped.remove(key)
    guard let number = streams.removeValue(forKey: key)?.number else { return nil }
    return unlink(key, from: number) ? number : nil
  }
}
