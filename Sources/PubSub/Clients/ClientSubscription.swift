/// One of a client's subscriptions, for operators.
package struct ClientSubscription: Sendable, Equatable {
  package let stream: UInt32
  package let key: StreamKey
  /// The rate class that the client asked for, ms; that of `key` is the one that it is in.
  package let wantedMilliseconds: Int
  /// What it waits for; nil: it gets every published frame.
  package let waitsFor: String?

  /// Of a client, in the order of the streams' numbers: those above `stream`, `limit` at most; nil if it has gone.
  /// O(subscriptions).
  package static func list(
    of client: ClientID, in hub: SubscriberHub, after stream: UInt32 = 0, limit: Int
  ) -> [ClientSubscription]? {
    guard let state = hub.clients.anyState(of: client) else { return nil }
    let start = stream == 0 ? 0 : state.memberships.insertionIndex(of: stream &+ 1)
    return state.memberships.indices.dropFirst(start).prefix(limit).map { index in
      let subscription = state.memberships[index]
      return ClientSubscription(
        stream: subscription.stream, key: hub.lists[subscription.stream].key,
        wantedMilliseconds: Int(subscription.wanted), waitsFor: subscription.mark.words)
    }
  }
}

extension Subscription.Mark {
  fileprivate var words: String? {
    switch self {
    case .none: nil
    case .holding: "its reply"
    case .marked: "room for a snapshot"
    case .awaiting: "a snapshot"
    case .behind: "room for what it has missed"
    }
  }
}
