import Bytes
import MarketData

/// What happens to a client that does not take what it asked for, step by step.
extension SubscriberHub {
  /// Age of the oldest unsent message beyond which a client is slowed down, µs.
  static let ageLimit = Microseconds.second
  /// Between two steps down, µs: one needs time to show.
  static let stepInterval = Microseconds.second
  /// Without pressure for this long a client gets its rate back, µs.
  static let calmTime = 30 * Microseconds.second

  /// How many bytes handed over are not yet with the kernel (0: the connection drained). For the limits of slow consumers.
  package func setUnsent(_ bytes: Int, for client: ClientID, now: Timestamp) {
    guard let state = state(of: client) else { return }
    let pointer = slots + Int(client.slot)
    let now = steady(now)
    if bytes > 0, state.unsent == 0 { state.unsentSince = now }
    if bytes < state.unsent || (bytes > 0 && state.unsent == 0) {
      state.progress = now
      state.unsentSince = now
    }
    state.unsent = bytes
    if bytes > 0 {
      pointer.pointee.flags.insert(.blocked)
      watch(client.slot, state)
    } else if state.isDrained, pointer.pointee.first == nil {
      pointer.pointee.flags.remove(.blocked)
    }
  }

  /// Whether a client has not taken at once what it was given, or is slowed down; then it is given less at a time. O(1).
  package func isWatched(_ client: ClientID) -> Bool { anyState(of: client)?.isWatched ?? false }

  /// Whether a client is in a slower class than it asked for. O(1).
  package func isDegraded(_ client: ClientID) -> Bool { (anyState(of: client)?.degraded ?? 0) != 0 }

  /// Clients that have not made progress for a second, as far as is known here; the kernel may know better (`noteProgress`).
  /// Of every `parts`th of them from the `part`th on, so that they need not all be asked about at once. O(watched).
  package func stallingClients(now: Timestamp, part: UInt = 0, of parts: UInt = 1) -> [ClientID] {
    let now = steady(now)
    return watched.compactMap { slot in
      guard UInt(slot) % parts == part, let state = slots[Int(slot)].state, now - state.progress >= Microseconds.second
      else { return nil }
      return id(of: slot)
    }
  }

  /// The client took bytes out of the kernel's queue.
  package func noteProgress(of client: ClientID, now: Timestamp) { state(of: client)?.progress = steady(now) }

  func watch(_ slot: UInt32, _ state: ClientState) {
    if state.isWatched { return }
    state.watchIndex = watched.count
    watched.append(slot)
    slots[Int(slot)].flags.insert(.watched)
    state.progress = slots[Int(slot)].firstTime
    let oldest = state.queue.oldest
    if oldest != .distantFuture, oldest > state.progress { state.progress = oldest }
    if state.unsentSince > state.progress { state.progress = state.unsentSince }
    count(slot, state)
  }

  /// The client is no longer looked after.
  func unwatch(_ slot: UInt32, _ state: ClientState) {
    guard state.isWatched else { return }
    let last = watched.removeLast()
    if state.watchIndex < watched.count {
      watched[state.watchIndex] = last
      slots[Int(last)].state?.watchIndex = state.watchIndex
    }
    state.watchIndex = -1
    slots[Int(slot)].flags.remove(.watched)
    watchedBytes -= state.countedBytes
    state.countedBytes = 0
  }

  /// Books what waits for a client that is looked after.
  private func count(_ slot: UInt32, _ state: ClientState) {
    let bytes = queuedBytes(of: slot)
    watchedBytes += bytes - state.countedBytes
    state.countedBytes = bytes
  }

  /// Clients looked after in one advance, or a tenth of them where that is more: ten thousand at once kept the others waiting for 10 ms.
  private static let looksPerAdvance = 256

  /// Looks after the clients that have something unsent, and forgets those that have caught up: each at every advance, or one after the other
  /// within ten of them where they are many.
  func advanceWatched(_ now: Timestamp, into actions: inout [HubAction]) {
    for _ in 0..<min(watched.count, max(Self.looksPerAdvance, watched.count / 10 + 1)) {
      if watchCursor >= watched.count { watchCursor = 0 }
      guard watchCursor < watched.count, let state = slots[Int(watched[watchCursor])].state else { return }
      let slot = watched[watchCursor]
      if look(after: id(of: slot), state, now: now, into: &actions) {
        count(slot, state)
        watchCursor += 1
      } else {
        unwatch(slot, state)
      }
    }
  }

  /// Returns whether the client must be looked at again.
  private func look(
    after client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) -> Bool {
    let pointer = slots + Int(client.slot)
    let moment = steady(now)
    let first = pointer.pointee.first
    let waiting = state.queue.bytes + (first?.bytes.count ?? 0)
    let queued = waiting + state.unsent
    let isWaiting = queued > 0 || state.behind > 0
    guard isWaiting || state.degraded != 0 else { return false }
    if !isWaiting {
      // Nothing to send is no stall: a later one counts from here.
      state.progress = moment
    } else {
      // Without what the connection has: a single message may be larger than any limit, and a client that reads it is not slow.
      if waiting - state.replayedBytes > limits.hardQueuedBytes {
        disconnectSlow(client.slot, state, "over \(limits.hardQueuedBytes) bytes", into: &actions)
        return false
      }
      if moment - state.progress >= Int64(limits.stallSeconds) * Microseconds.second {
        disconnectSlow(client.slot, state, "no progress for \(limits.stallSeconds) s", into: &actions)
        return false
      }
      var oldest = moment
      if first != nil { oldest = min(oldest, pointer.pointee.firstTime) }
      oldest = min(oldest, state.queue.oldest)
      if state.behind > 0 { oldest = min(oldest, state.behindSince) }
      if state.unsent > 0 { oldest = min(oldest, state.unsentSince) }
      if queued > limits.softQueuedBytes || moment - oldest > Self.ageLimit {
        state.pressedAt = moment
        if moment - state.steppedAt >= Self.stepInterval {
          stepDown(client, state, queued: queued, now: now, into: &actions)
        }
      }
    }
    if state.degraded != 0, moment - max(state.pressedAt, state.steppedAt) >= Self.calmTime, state.pending == nil {
      state.degraded = 0
      state.steppedAt = moment
      move(client, state, .restored, now: now, into: &actions)
    }
    return true
  }

  /// Moves the client's state channels to the next slower class that changes anything.
  private func stepDown(
    _ client: ClientID, _ state: ClientState, queued: Int, now: Timestamp, into actions: inout [HubAction]
  ) {
    guard state.pending == nil else { return }
    var next = RateClass.slower(than: state.degraded)
    while let interval = next {
      let changes = state.subscriptions.contains { subscription in
        let key = lists[subscription.stream].key
        return isDegradable(key.channel) && key.intervalMilliseconds < interval
      }
      if changes {
        state.degraded = interval
        state.steppedAt = steady(now)
        move(client, state, .degraded(interval), now: now, into: &actions)
        return
      }
      next = RateClass.slower(than: interval)
    }
  }

  /// Event channels keep their rate: their bound is `ClientLimits.queuedEvents`.
  private func isDegradable(_ channel: ChannelName) -> Bool { !channel.isEvent && channel != .status }

  /// Moves subscriptions to the class that they should now be in: leaves the old stream, joins the new.
  func move(
    _ client: ClientID, _ state: ClientState, _ kind: PendingRequest.Kind, id: String? = nil, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    state.requests &+= 1
    let pending = PendingRequest(kind: kind, id: id, number: state.requests)
    var reason = SnapshotReason.subscribe
    if case .degraded = kind { reason = .slow }
    if case .restored = kind { reason = .slow }
    var joins: [(key: StreamKey, from: UInt32, wanted: UInt16)] = []
    for index in state.subscriptions.indices {
      let stream = state.subscriptions[index].stream
      var key = lists[stream].key
      if case .configure(let interval) = kind {
        state.subscriptions[index].wanted = RateClass.interval(for: key.channel, asked: Int(interval))
      }
      let wanted = state.subscriptions[index].wanted
      key.intervalMilliseconds = effectiveInterval(wanted, key.channel, state)
      if key != lists[stream].key { joins.append((key, stream, wanted)) }
    }
    state.pending = pending
    for join in joins {
      guard let route = route(of: join.key), let index = state.index(of: join.from) else { continue }
      exit(client.slot, state, index: index, into: &actions)
      let item = UInt32(pending.joined.count)
      pending.joined.append(.init(stream: 0, seq: 0, state: "", from: join.from))
      pending.wanted.append(join.wanted)
      pending.outstanding += 1
      lists.noteJoin(join.key)
      actions.append(
        .command(
          .join(
            JoinRequest(
              key: join.key, market: route.market, instrument: route.instrument, loop: loop, client: client,
              request: pending.number, item: item, reason: reason)),
          loop: route.loop))
    }
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// The class a subscription is in, given what it wants and what the client has been slowed down to.
  func effectiveInterval(_ wanted: UInt16, _ channel: ChannelName, _ state: ClientState) -> UInt16 {
    guard state.degraded > wanted, isDegradable(channel) else { return wanted }
    return RateClass.interval(for: channel, asked: Int(state.degraded))
  }

  func disconnectSlow(_ slot: UInt32, _ state: ClientState, _ why: String, into actions: inout [HubAction]) {
    let queued = state.queue.bytes + (slots[Int(slot)].first?.bytes.count ?? 0) + state.unsent
    disconnect(
      id(of: slot), code: CloseCode.slow,
      reason: "slow: \(why), \(queued) bytes unsent, \(state.merged) messages merged, \(state.lost) lost",
      into: &actions)
  }
}
