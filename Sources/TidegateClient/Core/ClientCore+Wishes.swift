/// What the consumer wants while it runs.
extension ClientCore {
  /// Heartbeats alone until `resume`, also after a reconnection.
  package mutating func pause(now: UInt64, into actions: inout [ClientAction]) {
    guard !isPaused else { return }
    isPaused = true
    if phase == .open { ask("pause", now: now, into: &actions) }
  }

  /// Data again, with a snapshot of every stream.
  package mutating func resume(now: UInt64, into actions: inout [ClientAction]) {
    guard isPaused else { return }
    isPaused = false
    if phase == .open { ask("resume", now: now, into: &actions) }
  }

  /// Moves every subscription to another rate, also after a reconnection.
  package mutating func configure(interval: Int, now: UInt64, into actions: inout [ClientAction]) {
    for index in items.indices { items[index].interval = interval }
    for key in streams.keys { streams[key]?.item.interval = interval }
    for index in repeats.indices {
      for item in repeats[index].items.indices { repeats[index].items[item].interval = interval }
    }
    guard phase == .open else { return }
    actions.append(.send(Requests.configure(id: takeID(.other, now: now), interval: interval)))
  }

  mutating func ask(_ op: StaticString, now: UInt64, into actions: inout [ClientAction]) {
    actions.append(.send(Requests.plain(op, id: takeID(.other, now: now))))
  }
}
