/// What a hub has done for its clients, for metrics. O(clients + streams).
package struct HubFigures: Sendable, Equatable {
  /// Subscriptions, by the index of their channel in `ChannelName.allCases`.
  package private(set) var subscriptions = [Int](repeating: 0, count: ChannelName.allCases.count)
  /// Messages that slow clients did not get because a newer one stands for them, since the start.
  package private(set) var merged: UInt64 = 0
  /// Messages that slow clients did not get and were told of, since the start.
  package private(set) var lost: UInt64 = 0
  /// Clients that are in a slower class than they asked for.
  package private(set) var degraded = 0
  /// Clients that asked to continue with a session, by whether they could.
  package private(set) var resumed: UInt64 = 0
  package private(set) var notResumed: UInt64 = 0

  package init() {}

  package init(_ hub: SubscriberHub) {
    merged = hub.departures.merged
    lost = hub.departures.lost
    resumed = hub.departures.resumed
    notResumed = hub.departures.notResumed
    for slot in 0..<hub.clients.used {
      guard let state = hub.clients[UInt32(slot)].pointee.state else { continue }
      merged &+= UInt64(truncatingIfNeeded: state.merged)
      lost &+= UInt64(truncatingIfNeeded: state.lost)
      if state.flow.degraded != 0 { degraded += 1 }
    }
    var byChannel: [ChannelName: Int] = [:]
    for list in hub.lists.lists where list.hasSubscribers {
      byChannel[list.key.channel, default: 0] += list.slots.count + Int(list.away)
    }
    subscriptions = ChannelName.allCases.map { byChannel[$0] ?? 0 }
  }

  /// Adds what another loop's hub has done.
  package mutating func add(_ other: HubFigures) {
    for index in subscriptions.indices { subscriptions[index] += other.subscriptions[index] }
    merged &+= other.merged
    lost &+= other.lost
    degraded += other.degraded
    resumed &+= other.resumed
    notResumed &+= other.notResumed
  }
}
