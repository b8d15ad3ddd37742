import Bytes
import MarketData

extension SubscriberHub {
  /// The shortest time between two rounds of heartbeats to everyone, µs.
  static let roundInterval = Microseconds.second
  /// A round is spread over at least this many advances.
  static let roundParts = 8

  /// Heartbeats, slow-consumer time-outs. Call about ten times a second. O(due + blocked clients).
  package func advance(to now: Timestamp, into actions: inout [HubAction]) {
    isFeedsTextStale = true
    let tick = HeartbeatWheel.tick(at: now)
    for client in wheel.removeDue(at: now) {
      guard let state = state(of: client), state.heartbeatTick <= tick else { continue }
      let late = (tick - state.heartbeatTick) / Int64(state.heartbeatTicks)
      state.heartbeatTick += (late + 1) * Int64(state.heartbeatTicks)
      wheel.insert(client, at: state.heartbeatTick)
      scheduleHeartbeat(client.slot, state)
    }
    advanceRound(now)
    lastAdvance = steady(now)
    advanceWatched(now, into: &actions)
    advanceAccess(now, into: &actions)
    expireSessions(lastAdvance, into: &actions)
    advanceDrain(lastAdvance, into: &actions)
  }

  /// Enters a new client, or one with a new cadence. The first heartbeat comes after a part of the cadence that depends on the
  /// slot, so that clients that came together do not get theirs together.
  func startHeartbeats(_ client: ClientID, _ state: ClientState, now: Timestamp) {
    // 7919 is prime: neighbouring slots fall far apart.
    let offset = 1 + Int64(client.slot) * 7919 % Int64(state.heartbeatTicks)
    state.heartbeatTick = wheel.base(at: now) + offset
    wheel.insert(client, at: state.heartbeatTick)
  }

  /// Heartbeats to everyone after a feed changed its state: a part of the clients at each advance, and at most one round a second.
  private func advanceRound(_ now: Timestamp) {
    if isRoundDue, roundCursor < 0, now - roundStartedAt >= Self.roundInterval {
      isRoundDue = false
      roundStartedAt = now
      roundCursor = 0
    }
    guard roundCursor >= 0 else { return }
    let end = min(used, roundCursor + max(256, used / Self.roundParts))
    for slot in roundCursor..<max(roundCursor, end) where !slots[slot].flags.contains(.closed) {
      if let state = slots[slot].state { scheduleHeartbeat(UInt32(slot), state) }
    }
    roundCursor = end < used ? end : -1
  }

  /// Nothing for a client that has yet to say who it is: which feeds there are, and how they are, is for those who may come in.
  private func scheduleHeartbeat(_ slot: UInt32, _ state: ClientState) {
    guard state.grant != nil else { return }
    slots[Int(slot)].isHeartbeatDue = true
    touch(slot)
  }

  /// `{"type":"heartbeat","time":…,"sent":…,"merged":…,"lost":…,"feeds":{…}}`: made when it is handed over, so that `sent` counts
  /// exactly the data frames before it. `merged` and `lost` are there once they are not 0. Feeds are those that the grant covers.
  func heartbeat(sent: UInt64, _ state: ClientState, now: Timestamp) -> SharedBytes {
    if isFeedsTextStale {
      isFeedsTextStale = false
      feedsText.removeAll()
      Replies.appendFeeds(feeds, now: now, to: &feedsText)
    }
    return frame { out in
      out.append("{\"type\":\"heartbeat\",\"time\":")
      out.append(integer: now.microseconds)
      out.append(",\"sent\":")
      out.append(integer: sent)
      if state.merged > 0 {
        out.append(",\"merged\":")
        out.append(integer: UInt64(state.merged))
      }
      if state.lost > 0 {
        out.append(",\"lost\":")
        out.append(integer: UInt64(state.lost))
      }
      out.append(",\"feeds\":")
      if let grant = state.grant, !grant.allowsAllSymbols {
        Replies.appendFeeds(feeds.visible(to: grant.symbols), now: now, to: &out)
      } else {
        out.append(feedsText.unsafeBytes)
      }
      out.append(UInt8(ascii: "}"))
    }
  }
}
