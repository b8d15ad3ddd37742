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
    consumers.subscribe(id, items)
    var new: [StreamItem] = []
    for item in items {
      if wants[item] == nil { wants[item] = Want(serial: takeSerial(), phase: .refused) }
      wants[item]?.subscribers.insert(id)
      guard let want = wants[item] else { continue }
      if want.phase == .refused {
        wants[item]?.phase = .asked
        new.append(item)
      }
      for key in streams.sorted(want.streams) { attach(id, to: key, into: &actions) }
    }
    if phase == .open { ask(new, now: now, into: &actions) }
    return id
  }

  /// Ends a subscription, and unsubscribes from streams without another consumer.
  package mutating func cancel(_ id: Int, now: UInt64, into actions: inout [ClientAction]) {
    guard let items = consumers.remove(id) else { return }
    var keys: Set<StreamItem> = []
    for item in items {
      keys.formUnion(wants[item]?.streams ?? [])
      wants[item]?.subscribers.remove(id)
      if wants[item]?.subscribers.isEmpty == true { wants[item] = nil }
    }
    for key in keys {
      streams[key]?.subscribers.remove(id)
      streams.noteSubscribers(key)
    }
    leaveUnfollowed(now: now, into: &actions)
    actions.append(.wake(id))
  }

  /// Adds a consumer of the connection's events.
  package mutating func listen() -> Int {
    let id = takeSerial()
    consumers.listen(id)
    return id
  }

  // MARK: Reading

  /// The next event of a subscription; nil: none waits.
  package mutating func next(_ id: Int) -> StreamEvent<Payload>? { consumers.next(id, streams) }

  /// The next event of the connection; nil: none waits.
  package mutating func nextOfConnection(_ id: Int) -> ConnectionEvent? { consumers.nextOfConnection(id) }

  /// Whether a consumer gets nothing more after the waiting events.
  func isOver(_ id: Int) -> Bool { phase == .stopped || !consumers.contains(id) && !asked.contains(id) }

  /// Whether a consumer may have something to take, or has ended.
  func hasNews(_ id: Int) -> Bool { isOver(id) || consumers.hasNews(id) || asked.hasAnswer(id) }

  // MARK: The app's requests

  /// Requests that only heartbeats are sent until `resume`, also after a reconnection.
  package mutating func pause(now: UInt64, into actions: inout [ClientAction]) {
    guard !pace.isPaused else { return }
    pace.isPaused = true
    if phase == .open { send("pause", now: now, into: &actions) }
  }

  /// Requests data again, beginning with a snapshot of every stream.
  package mutating func resume(now: UInt64, into actions: inout [ClientAction]) {
    guard pace.isPaused else { return }
    pace.isPaused = false
    if phase == .open { send("resume", now: now, into: &actions) }
  }

  /// Changes the rate of every stream, of later streams, too, and after a reconnection.
  package mutating func configure(cadence: Int, now: UInt64, into actions: inout [ClientAction]) {
    pace.cadence = cadence
    guard phase == .open else { return }
    actions.append(.send(Requests.configure(id: requests.add(.other, now: now), interval: cadence)))
  }

  // MARK: Events

  /// Tells the subscribers of a stream that its state has changed.
  mutating func touch(_ key: StreamItem, into actions: inout [ClientAction]) {
    guard let stream = streams[key] else { return }
    for id in stream.subscribers.sorted() { consumers.mark(key, for: id, into: &actions) }
  }

  /// Adds an event of a stream to its subscribers' inboxes.
  mutating func append(_ event: StreamEvent<Payload>, of key: StreamItem, into actions: inout [ClientAction]) {
    guard let stream = streams[key] else { return }
    for id in stream.subscribers.sorted() { consumers.put(event, before: id, into: &actions) }
  }

  /// Gives a new subscriber the present value of a stream.
  mutating func attach(_ id: Int, to key: StreamItem, into actions: inout [ClientAction]) {
    guard streams[key]?.subscribers.insert(id).inserted == true, let event = streams[key]?.event else { return }
    if !key.channel.isState {
      consumers.put(event, before: id, into: &actions)
      if let stream = streams[key], let reason = stream.silence {
        consumers.put(.stale(stream.info, .outOfSync(reason)), before: id, into: &actions)
      }
    } else {
      consumers.mark(key, for: id, into: &actions)
    }
  }
}
