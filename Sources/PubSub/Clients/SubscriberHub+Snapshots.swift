import MarketData

/// Snapshots in place of what was merged away, or had no room.
///
/// They are asked for when there is room to send them, never ahead of it: one that waits gets old.
extension SubscriberHub {
  /// Snapshots asked for at a time. Of a slow client's books and sparklines it is one: they are large, and its other streams, each
  /// of one short message, come round with every one of them.
  static let snapshotsAtATime = 16

  /// Whether snapshots were asked for that have not come. What else waits should not be sent before them: they are on their way, and
  /// when the last has come, or none will, the client is dirty again. O(1).
  package func isAwaitingSnapshots(_ client: ClientID) -> Bool { (anyState(of: client)?.awaited ?? 0) > 0 }

  /// Asks the publishers for snapshots of marked subscriptions, if there is room for them. O(subscriptions).
  func askForSnapshots(_ client: ClientID, _ state: ClientState, into actions: inout [HubAction]) {
    guard state.awaited == 0, state.queue.state.isEmpty,
      slots[Int(client.slot)].flags.isDisjoint(with: [.paused, .closed])
    else { return }
    var small = Self.snapshotsAtATime
    var large = state.isWatched ? 1 : Self.snapshotsAtATime
    ask(client, state, upTo: &small, after: &state.lastAsked, into: &actions) { !Self.isLarge($0) }
    ask(client, state, upTo: &large, after: &state.lastAskedLarge, into: &actions) { Self.isLarge($0) }
  }

  private static func isLarge(_ channel: ChannelName) -> Bool { channel == .book || channel == .sparkline }

  /// Goes round the subscriptions, beginning behind the one that was asked for last.
  private func ask(
    _ client: ClientID, _ state: ClientState, upTo room: inout Int, after last: inout UInt32,
    into actions: inout [HubAction], where fits: (ChannelName) -> Bool
  ) {
    let count = state.subscriptions.count
    var index = state.place(of: last &+ 1)
    for _ in 0..<count where room > 0 {
      if index >= count { index = 0 }
      defer { index += 1 }
      let subscription = state.subscriptions[index]
      guard subscription.mark == .marked, fits(lists[subscription.stream].key.channel) else { continue }
      setMark(.awaiting, of: index, state, slot: client.slot)
      last = subscription.stream
      room -= 1
      actions.append(
        .command(
          .resnapshot(
            StreamID(rawValue: subscription.stream), loop: loop, client: client, reason: subscription.reason),
          loop: Int(subscription.stream) % loops))
    }
  }
}
