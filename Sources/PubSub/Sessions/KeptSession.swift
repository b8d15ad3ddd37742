import MarketData

/// A session without a connection, as the next run of the gateway receives it.
package struct KeptSession: Sendable, Equatable {
  package var token: String
  /// The owner's identity; nil if the gateway required no token.
  package var subject: String?
  package var isPaused: Bool
  /// Until when it can be resumed.
  package var expires: Timestamp

  package init(token: String, subject: String?, isPaused: Bool, expires: Timestamp) {
    self.token = token
    self.subject = subject
    self.isPaused = isPaused
    self.expires = expires
  }

  /// The loop that made the session, and searches for it.
  package var loop: Int? { SessionToken.origin(of: token)?.loop }
}

extension SubscriberHub {
  /// The sessions that can be resumed, also the connected ones, because their connections are about to end. O(sessions
  /// + clients).
  package func keepSessions(now: Timestamp) -> [KeptSession] {
    let connected = (0..<UInt32(clients.used)).compactMap { slot -> KeptSession? in
      guard let state = clients[slot].pointee.state, !state.isClaimed, !state.memberships.isEmpty else { return nil }
      return KeptSession(
        token: state.session, subject: state.subject, isPaused: clients[slot].pointee.flags.contains(.paused),
        expires: now + ParkedSessions.time)
    }
    let parked = departures.parked.all.map { token, session in
      KeptSession(
        token: token, subject: session.subject, isPaused: session.isPaused,
        expires: session.expires + steady.stepped)
    }
    return Array((parked + connected).suffix(limits.parkedSessions))
  }

  /// Takes over this loop's sessions of an earlier run, before the first client connects.
  package func restore(_ sessions: [KeptSession], now: Timestamp, into actions: inout [HubAction]) {
    for session in sessions.sorted(by: { $0.expires < $1.expires }) where session.expires > now {
      // If the clock was set back, the session would otherwise be kept longer.
      let expires = min(session.expires, now + ParkedSessions.time)
      let parked = ParkedSessions.Session(
        subject: session.subject, isPaused: session.isPaused, streams: [], expires: steady(expires))
      release(departures.parked.park(session.token, parked), into: &actions)
    }
  }
}
