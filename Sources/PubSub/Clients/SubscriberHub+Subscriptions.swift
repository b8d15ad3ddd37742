import Bytes
import MarketData

/// Subscriptions and their rates, and the rules for slow clients.
extension SubscriberHub {
  // MARK: Joining

  /// Joins what of `items` is not joined yet, and completes the request if nothing has to be waited for.
  func join(
    _ items: [ClientRequest.Item], _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    // Requests come here with a grant; a client that had none would get nothing.
    let asker = SubscriptionResolver.Asker(
      grant: state.grant ?? .nothing, count: weight(of: state), limit: admission.subscriptionLimit(state.grant),
      degraded: state.flow.degraded, isBinary: state.isBinary,
      groupRoom: SubscriptionResolver.groupMembersLimit - lists.groupMembers,
      portfolioLines: items.contains { $0.channel.facts.audience == .subject }
        ? state.memberships.subscriptions.reduce(0) { $0 + (lists[$1.stream].key.portfolio?.lines ?? 0) } : 0)
    let resolution = resolver.resolve(items, for: asker, now: now) { key in
      lists.number(of: key).map { state.memberships.index(of: $0) != nil } ?? false
    }
    pending.failures += resolution.failures
    for match in resolution.matches {
      guard match.isPresent, let stream = lists.number(of: match.key) else {
        join(match.key, wanted: match.wanted, position: match.position, pending, client, into: &actions)
        continue
      }
      pending.joined.append(
        .init(stream: stream, seq: lists[stream].seq, state: presentState(of: match.key), from: 0))
      pending.wanted.append(match.wanted)
    }
    admission.charge(resolution.work, to: &state.requests, state.grant, now: now)
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// Sends a join to a stream's publisher.
  /// - Parameter from: the stream that it replaces; 0: none.
  func join(
    _ key: StreamKey, wanted: UInt16, position: StreamPosition?, from: UInt32 = 0, reason: SnapshotReason? = nil,
    _ pending: PendingRequest, _ client: ClientID, into actions: inout [HubAction]
  ) {
    guard let route = resolver.route(of: key) else { return }
    let item = UInt32(pending.joined.count)
    pending.joined.append(from == 0 ? nil : .init(stream: 0, seq: 0, state: "", from: from))
    pending.wanted.append(wanted)
    pending.outstanding += 1
    lists.noteJoin(key)
    actions.append(
      .command(
        .join(
          JoinRequest(
            key: key, market: route.market, instrument: route.instrument, loop: loop, client: client,
            request: pending.number, item: item, reason: reason ?? (position == nil ? .subscribe : .resume),
            position: position, members: resolver.members(of: key))),
        loop: route.loop))
  }

  /// A client's subscriptions; a group counts as its members. O(subscriptions).
  private func weight(of state: ClientState) -> Int {
    state.memberships.subscriptions.reduce(0) { $0 + lists[$1.stream].weight }
  }

  /// Ends one subscription of a client, with what is queued of it.
  func removeSubscription(_ slot: UInt32, _ state: ClientState, at index: Int, into actions: inout [HubAction]) {
    queues.spill(slot, lists, clients)
    let subscription = state.memberships.remove(at: index)
    // What waited for its snapshot to be sent with is sent without.
    if subscription.mark == .awaiting { queues.touch(slot, clients) }
    clients[slot].pointee.set(.marked, state.memberships.marks > 0)
    if !state.queue.isEmpty { _ = state.queue.removeAll(of: subscription.stream) }
    lists.remove(subscription, clients)
    leaveIfEmpty(subscription.stream, into: &actions)
    if state.isDrained { clients[slot].pointee.flags.remove(.queued) }
  }

  /// Tells the publisher when a stream has lost its last subscriber here.
  func leaveIfEmpty(_ stream: UInt32, into actions: inout [HubAction]) {
    guard lists.dropIfEmpty(stream) else { return }
    actions.append(
      .command(.leave(StreamID(rawValue: stream), loop: loop), loop: Int(stream) % settings.loops))
  }

  /// Moves subscriptions to the class that they should now be in: leaves the old stream, joins the new.
  func move(
    _ client: ClientID, _ state: ClientState, _ kind: PendingRequest.Kind, id: String? = nil, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    let pending = state.requests.begin(kind, id: id)
    var moves: [(key: StreamKey, from: UInt32, wanted: UInt16)] = []
    for index in state.memberships.indices {
      let stream = state.memberships[index].stream
      var key = lists[stream].key
      guard key.dialect == nil else { continue }
      if case .configure(let interval) = kind {
        state.memberships.setWanted(RateClass.interval(for: key.channel, asked: Int(interval)), at: index)
      }
      let wanted = state.memberships[index].wanted
      key.intervalMilliseconds = SubscriptionResolver.effectiveInterval(
        wanted, key.channel, degraded: state.flow.degraded)
      if key != lists[stream].key { moves.append((key, stream, wanted)) }
    }
    for move in moves {
      guard resolver.route(of: move.key) != nil, let index = state.memberships.index(of: move.from) else { continue }
      removeSubscription(client.slot, state, at: index, into: &actions)
      join(
        move.key, wanted: move.wanted, position: nil, from: move.from, reason: pending.startReason, pending, client,
        into: &actions)
    }
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  // MARK: Replies

  /// `live` or what is the matter: of the symbol's feed, or of its book.
  private func presentState(of key: StreamKey, known: String? = nil) -> String {
    if !key.isOfMarket {
      guard key.isOfCompositeState, key.channel.facts.isBook else { return "live" }
      return known ?? (directory.members(ofComposite: key.symbol).contains(where: isLive) ? "live" : "syncing")
    }
    if !key.group.isEmpty { return "live" }
    let venue = key.symbol.prefix { $0 != ":" }
    if let feed = feeds.first(where: { $0.venue == venue }), feed.state != .live { return feed.state.rawValue }
    if let known { return known }
    guard key.channel.facts.isBook, let entry = directory.entries[key.symbol] else { return "live" }
    return entry.bookState == .live ? "live" : "syncing"
  }

  /// Whether a market's feed is live and its book in sync.
  private func isLive(_ entry: DirectoryEntry) -> Bool {
    entry.bookState == .live && feeds.contains { $0.venue == entry.instrument.venue && $0.state == .live }
  }

  /// A subscription as it is now.
  func described(_ stream: UInt32, as joined: PendingRequest.Joined? = nil) -> Replies.Stream {
    let list = lists[stream]
    return Replies.Stream(
      number: stream, key: list.key, priceIncrement: directory.entries[list.key.symbol]?.instrument.priceIncrement,
      priceIncrements: list.key.group.map { directory.entries[$0]?.instrument.priceIncrement },
      epoch: list.epoch, seq: joined?.seq ?? list.seq, state: presentState(of: list.key, known: joined?.state),
      from: joined?.from ?? 0, isRecovered: joined?.isRecovered, scale: list.scale)
  }

  func reply(to pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp) {
    if case .restored = pending.kind, pending.joined.isEmpty { return }
    if case .dialect = pending.kind { return }
    let reply = Replies.Outcome(
      request: pending, total: state.memberships.count, queuedBytes: state.queue.bytes + state.flow.unsent,
      welcome: welcome(client, state, isResumed: pending.resume.isGranted, now: now),
      isPaused: clients[client.slot].pointee.flags.contains(.paused),
      streams: pending.joined.compactMap { joined in
        guard let joined, joined.stream != 0, state.memberships.index(of: joined.stream) != nil else { return nil }
        return described(joined.stream, as: joined)
      })
    send(to: client, now: now) { Replies.append(reply, to: &$0) }
  }

  // MARK: Snapshots

  // Snapshots replace merged frames and frames that did not fit. They are requested only when there is space to send
  // them, because a waiting snapshot gets old.

  /// Snapshots asked for at a time. Of a slow client's books and sparklines it is one: they are large, and its other
  /// streams, each of one short message, come round with every one of them.
  static let snapshotsAtATime = 16

  /// Whether requested snapshots have not arrived yet. Do not send other waiting frames before them. When the last has
  /// arrived, or none will, the client is dirty again. O(1).
  package func isAwaitingSnapshots(_ client: ClientID) -> Bool {
    (clients.anyState(of: client)?.memberships.awaited ?? 0) > 0
  }

  /// Asks the publishers for snapshots of marked subscriptions, if there is room for them. O(subscriptions).
  func askForSnapshots(_ client: ClientID, _ state: ClientState, into actions: inout [HubAction]) {
    guard state.memberships.awaited == 0, state.queue.state.isEmpty,
      clients[client.slot].pointee.flags.isDisjoint(with: [.paused, .closed])
    else { return }
    let marked = state.memberships.nextMarked(
      small: Self.snapshotsAtATime, large: state.isWatched ? 1 : Self.snapshotsAtATime
    ) { stream in
      lists[stream].key.channel.facts.hasLargeSnapshots
    }
    for index in marked {
      lists.setMark(.awaiting, of: index, client.slot, clients)
      let subscription = state.memberships[index]
      actions.append(
        .command(
          .resnapshot(
            StreamID(rawValue: subscription.stream), loop: loop, client: client, reason: subscription.reason),
          loop: Int(subscription.stream) % settings.loops))
    }
  }

  // MARK: Slow clients

  /// How many bytes handed over are not yet with the kernel (0: the connection drained). For the limits of slow
  /// consumers.
  package func setUnsent(_ bytes: Int, for client: ClientID, now: Timestamp) {
    guard let state = state(of: client) else { return }
    if bytes > 0 || state.flow.unsent > 0 { slowClients.noteUnsent(bytes, &state.flow, now: steady(now)) }
    let slot = clients[client.slot]
    if bytes > 0 {
      slot.pointee.flags.insert(.blocked)
      watch(client.slot, state)
    } else if state.isDrained, slot.pointee.bundle == TurnBundles.empty {
      slot.pointee.flags.remove(.blocked)
    }
  }

  /// Clients without progress for a second, by the hub's knowledge; the kernel may know of some (`noteKernelQueue`).
  /// Returns every `parts`th of them from the `part`th on, so that the caller need not check all at once. O(watched).
  package func stallingClients(now: Timestamp, part: UInt = 0, of parts: UInt = 1) -> [ClientID] {
    let now = steady(now)
    return watchList.slots.compactMap { slot in
      guard UInt(slot) % parts == part, let state = clients[slot].pointee.state,
        now - state.flow.progress >= Microseconds.second
      else { return nil }
      return clients.id(of: slot)
    }
  }

  /// How many bytes the kernel has for a client that it has not delivered: fewer than at the last look are progress.
  package func noteKernelQueue(_ bytes: Int, of client: ClientID, now: Timestamp) {
    guard let state = state(of: client), state.isWatched else { return }
    if bytes < state.flow.kernelQueue { state.flow.progress = steady(now) }
    state.flow.kernelQueue = bytes
  }

  /// Looks after a client from now on, until it has caught up.
  func watch(_ slot: UInt32, _ state: ClientState) {
    if state.isWatched { return }
    clients[slot].pointee.flags.insert(.watched)
    let oldest = queues.load(of: slot, state, clients).oldest
    state.flow.progress = max(oldest == .distantFuture ? .distantPast : oldest, state.flow.unsentSince)
    watchList.insert(slot, &state.flow, bytes: queuedBytes(of: slot))
  }

  /// The client is no longer looked after.
  func unwatch(_ slot: UInt32, _ state: ClientState) {
    guard state.isWatched else { return }
    if let moved = watchList.remove(&state.flow) { clients[moved.slot].pointee.state?.flow.watchIndex = moved.index }
    clients[slot].pointee.flags.remove(.watched)
    state.releaseFlow()
  }

  /// Looks at the clients that have something unsent, and forgets those that have caught up: each at every advance, or
  /// one after the other within ten of them where they are many.
  func advanceWatched(_ now: Timestamp, into actions: inout [HubAction]) {
    for _ in 0..<watchList.looksDue {
      guard let slot = watchList.next(), let state = clients[slot].pointee.state else { return }
      let client = clients.id(of: slot)
      let load = queues.load(of: slot, state, clients)
      switch slowClients.look(at: &state.flow, load, now: steady(now)) {
      case .caughtUp:
        unwatch(slot, state)
        continue
      case .disconnect(let why):
        disconnectSlow(slot, why, into: &actions)
        // One that is being closed already is not looked at again.
        unwatch(slot, state)
        continue
      case .keepWatching: break
      case .stepDown: stepDown(client, state, now: now, into: &actions)
      case .restore, .hold:
        state.flow.degraded = state.flow.held
        state.flow.steppedAt = steady(now)
        let held = state.flow.held
        move(client, state, held == 0 ? .restored : .degraded(held), now: now, into: &actions)
      }
      watchList.recount(&state.flow, bytes: queuedBytes(of: slot))
      watchList.keepLast()
    }
  }

  /// Moves the client's state channels to the next slower class that changes anything.
  private func stepDown(
    _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) {
    var next = RateClass.slower(than: state.flow.degraded)
    while let interval = next {
      let changes = state.memberships.subscriptions.contains { subscription in
        let key = lists[subscription.stream].key
        return key.isDegradable && key.intervalMilliseconds < interval
      }
      if changes {
        state.flow.degraded = interval
        state.flow.steppedAt = steady(now)
        move(client, state, .degraded(interval), now: now, into: &actions)
        return
      }
      next = RateClass.slower(than: interval)
    }
  }

  /// Holds a client in a rate class from its next check on, within 100 ms, until an operator ends the hold. A slow
  /// client may move to a slower class. 0 ends the hold: the client gets the requested rate back at once, unless it is
  /// slow.
  package func hold(_ client: ClientID, in interval: UInt16) {
    guard let state = state(of: client), state.flow.held != interval else { return }
    let wasHeld = state.flow.degraded == state.flow.held
    state.flow.held = interval
    // What was slow for an operator's sake has nothing to become calm from.
    if wasHeld { (state.flow.pressedAt, state.flow.steppedAt) = (.distantPast, .distantPast) }
    watch(client.slot, state)
  }

  func disconnectSlow(_ slot: UInt32, _ why: String, into actions: inout [HubAction]) {
    guard let state = clients[slot].pointee.state else { return }
    let queued = queues.load(of: slot, state, clients).waitingBytes + state.flow.unsent
    disconnect(
      clients.id(of: slot), code: CloseCode.slow,
      reason: "slow: \(why), \(queued) bytes unsent, \(state.merged) messages merged, \(state.lost) lost",
      into: &actions)
  }

  // MARK: The budget of all clients

  /// Bytes that wait for clients that do not take them: queued here, or handed over and not with the kernel; of each as
  /// it was when it was last looked after. O(1).
  package var queuedBytes: Int { watchList.bytes }

  /// Closes clients with 4108, those with the most queued bytes first, until `bytes` are released or no client has
  /// queued bytes.
  /// - Parameters:
  ///   - clients: the largest number of clients to close.
  ///   - limit: the limit of the budget, for the close reason.
  /// - Returns: the number of closed clients and their queued bytes. O(n log n) in the clients with queued bytes.
  package func shed(
    bytes: Int, clients most: Int, limit: Int, into actions: inout [HubAction]
  ) -> (clients: Int, bytes: Int) {
    let heaviest = watchList.slots.map { (slot: $0, bytes: queuedBytes(of: $0)) }.filter { $0.bytes > 0 }
      .sorted { $0.bytes > $1.bytes }
    var freed = 0
    var closed = 0
    for candidate in heaviest {
      guard freed < bytes, closed < most else { break }
      disconnect(
        clients.id(of: candidate.slot), code: CloseCode.slow,
        reason: "slow: \(candidate.bytes) bytes unsent, all clients together are over \(limit)", into: &actions)
      freed += candidate.bytes
      closed += 1
    }
    return (closed, freed)
  }

  /// 0 for a client that is gone or being closed.
  package func queuedBytes(of slot: UInt32) -> Int {
    guard let state = state(of: clients.id(of: slot)) else { return 0 }
    return queues.load(of: slot, state, clients).waitingBytes + state.flow.unsent
  }

  /// Data messages handed over to a client since it connected; 0 for one that has gone. O(1).
  package func messagesSent(to client: ClientID) -> UInt64 {
    clients.isCurrent(client) ? clients[client.slot].pointee.sent : 0
  }

  /// Whether a client takes data as binary records; false for one that has gone. O(1).
  package func isBinary(_ client: ClientID) -> Bool { clients.anyState(of: client)?.isBinary ?? false }
}
