import MarketData

/// How one client is served, for operators and for the access log.
package struct ClientFigures: Sendable, Equatable {
  package let subscriptions: Int
  /// Data messages handed over, those that a newer one stands for, and those that were lost, since it connected.
  package let sent: UInt64
  package let merged: Int
  package let lost: Int
  /// That wait for it.
  package let queuedBytes: Int
  /// The slowest rate class forced on it, ms; 0: none.
  package let degradedMilliseconds: Int
  /// The rate class that an operator holds it in, ms; 0: none.
  package let heldMilliseconds: Int
  /// Since when it has not taken what it was given; nil: it has.
  package let slowSince: Timestamp?
  package let isPaused: Bool
  /// The name of its key; nil: it has none.
  package let subject: String?

  /// Nil for a client that has gone. O(what waits for it).
  package init?(_ client: ClientID, of hub: SubscriberHub) {
    guard let state = hub.clients.anyState(of: client) else { return nil }
    let slot = hub.clients[client.slot].pointee
    subscriptions = state.memberships.count
    sent = slot.sent
    merged = state.merged
    lost = state.lost
    queuedBytes = hub.queuedBytes(of: client.slot)
    degradedMilliseconds = Int(state.flow.degraded)
    heldMilliseconds = Int(state.flow.held)
    slowSince = state.flow.unsent > 0 ? state.flow.unsentSince : nil
    isPaused = slot.flags.contains(.paused)
    subject = state.subject
  }
}
