import MarketData

extension FanOut {
  /// The clock that `now` comes from has jumped forward by `jump` µs: what has waited since before has not waited that long, and
  /// no client is slowed down or closed for it. O(clients and what they have queued).
  package func timeJumped(by jump: Int64) {
    for slot in 0..<used {
      guard let state = slots[slot].state else { continue }
      slots[slot].firstTime = slots[slot].firstTime + jump
      state.queue.timeJumped(by: jump)
      state.unsentSince = state.unsentSince + jump
      state.progress = state.progress + jump
      state.steppedAt = state.steppedAt + jump
      state.pressedAt = state.pressedAt + jump
      state.abuseSince = state.abuseSince + jump
    }
  }
}
