import Bytes
import MarketData

/// Clients that speak other protocols: the same table, queues, limits and rules. Nothing of our own protocol is sent to
/// them.
extension SubscriberHub {
  /// Greets a client that was opened with a session.
  package func greetDialect(_ client: ClientID, now: Timestamp, into actions: inout [HubAction]) {
    guard let state = state(of: client), let session = dialects[client.slot]?.session else { return }
    state.heartbeat = ClientHeartbeat(seconds: session.heartbeatSeconds)
    heartbeats.start(client, &state.heartbeat, now: now)
    var desk = desk(of: client, state, now: now)
    session.open(&desk)
    perform(desk, client, state, now: now, into: &actions)
  }

  /// Whether a client speaks another protocol. O(1).
  package func speaksDialect(_ client: ClientID) -> Bool { dialects.has(client.slot) }

  func receiveDialect(
    _ message: RawSpan, _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) {
    guard let session = dialects[client.slot]?.session else { return }
    var desk = desk(of: client, state, now: now)
    session.receive(message, &desk)
    perform(desk, client, state, now: now, into: &actions)
  }

  private func desk(of client: ClientID, _ state: ClientState, now: Timestamp) -> DialectContext {
    DialectContext(
      now: now, grant: state.grant ?? .nothing, directory: directory, feeds: feeds,
      room: admission.subscriptionLimit(state.grant) - state.memberships.count,
      holds: { [self] key in lists.number(of: key).map { state.memberships.index(of: $0) != nil } ?? false },
      all: { [self] in state.memberships.subscriptions.map { lists[$0.stream].key } })
  }

  /// The answers go first, then the first messages of the joined streams.
  private func perform(
    _ desk: DialectContext, _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) {
    var joins: [StreamKey] = []
    var seen: Set<StreamKey> = []
    for action in desk.actions {
      switch action {
      case .send(let bytes): sendDialect(bytes, to: client, state, now: now)
      case .join(let key): if seen.insert(key).inserted { joins.append(key) }
      case .leave(let key):
        guard let number = lists.number(of: key), let index = state.memberships.index(of: number) else { continue }
        removeSubscription(client.slot, state, at: index, into: &actions)
      case .close(let code, let reason): return disconnect(client, code: code, reason: reason, into: &actions)
      }
    }
    guard !joins.isEmpty else { return }
    admission.charge(joins.count * ClientAllowance.joinWork, to: &state.requests, state.grant, now: now)
    let pending = state.requests.begin(.dialect, id: nil)
    for key in joins { join(key, wanted: key.intervalMilliseconds, position: nil, pending, client, into: &actions) }
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  private func sendDialect(_ bytes: [UInt8], to client: ClientID, _ state: ClientState, now: Timestamp) {
    let frame = queues.frame { $0.append(bytes) }
    admission.charge(frame.count, to: &state.requests, state.grant, now: now)
    queues.push(QueuedItem(control: frame, time: steady(now)), to: .control, client.slot, clients)
  }

  /// The heartbeat of a client; nil: none is due in its protocol.
  func dialectHeartbeat(_ slot: UInt32, sent: UInt64, now: Timestamp) -> SharedBytes? {
    guard var entry = dialects[slot], entry.deadSince == nil else { return nil }
    let isQuiet = entry.sent == sent
    entry.sent = sent
    dialects.set(entry, at: slot)
    var isDue = false
    let frame = queues.frame { isDue = entry.session.heartbeat(isQuiet: isQuiet, now: now, to: &$0) }
    return isDue ? frame : nil
  }

  /// The end of a client's connection in its own words. The last message is queued.
  func farewell(_ client: ClientID, _ code: UInt16, _ reason: String) -> (code: UInt16, reason: String) {
    guard let entry = dialects[client.slot], let state = state(of: client) else { return (code, reason) }
    let farewell = entry.session.farewell(code, reason)
    if let message = farewell.message { sendDialect(message, to: client, state, now: steady.lastAdvance) }
    return (farewell.code, farewell.reason)
  }

  /// Closes clients of other protocols whose data has not been live for a while. O(their subscriptions), once a second,
  /// and nothing while all data is live.
  func advanceDialects(_ now: Timestamp, into actions: inout [HubAction]) {
    guard dialects.isLookDue(at: steady(now)) else { return }
    let allLive = feeds.allSatisfy { $0.state == .live && $0.syncing.isEmpty }
    for slot in dialects.slots {
      let client = clients.id(of: slot)
      guard var entry = dialects[slot], let state = state(of: client) else { continue }
      let failure = allLive ? nil : state.memberships.subscriptions.lazy.compactMap { self.failure(of: $0) }.first
      guard let failure else {
        if entry.deadSince != nil {
          entry.deadSince = nil
          dialects.set(entry, at: slot)
        }
        continue
      }
      if entry.deadSince == nil {
        entry.deadSince = steady(now)
        dialects.set(entry, at: slot)
      }
      guard failure.isStale || steady(now) - (entry.deadSince ?? .distantPast) >= DialectClients.patience else {
        continue
      }
      disconnect(client, code: CloseCode.notLive, reason: "\(failure.words); come again", into: &actions)
    }
  }

  /// Why a subscription's data is not live; nil: it is.
  private func failure(of subscription: Subscription) -> (words: String, isStale: Bool)? {
    let key = lists[subscription.stream].key
    let venue = key.symbol.prefix { $0 != ":" }
    guard let feed = feeds.first(where: { $0.venue == venue }) else { return nil }
    if feed.state != .live { return ("the feed of \(venue) is \(feed.state.rawValue)", feed.state == .stale) }
    guard key.channel.facts.hears.contains(.bookState), let why = feed.syncing[key.symbol] else { return nil }
    return ("the book of \(key.symbol) is out of sync (\(why))", false)
  }
}

extension RequestAdmission {
  /// Takes a message in another protocol. One over the rate is answered, and the client waits for it.
  mutating func receiveDialect(
    _ message: RawSpan, from client: inout ClientRequests, _ grant: Grant?, now: Timestamp
  ) -> DialectVerdict {
    charge(ClientAllowance.requestWork, to: &client, grant, now: now)
    if let end = receiveControlFrame(from: &client, grant, now: now), case .disconnect(let code, let reason) = end {
      return .disconnect(code: code, reason: reason)
    }
    guard message.byteCount <= limits.messageBytes else {
      return .disconnect(code: 1009, reason: "\(message.byteCount) bytes; the limit is \(limits.messageBytes)")
    }
    guard client.isBusy else { return .handle }
    return putBehind(message, of: &client)
      ? .wait
      : .disconnect(
        code: CloseCode.rateLimited, reason: "too many requests wait for the one before them")
  }

  enum DialectVerdict {
    case handle, wait
    case disconnect(code: UInt16, reason: String)
  }
}
