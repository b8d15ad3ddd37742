import Synchronization

/// Limits the simultaneous handshakes. A caller that finds no slot is called back when there is one.
final class HandshakeLimit: Sendable {
  private struct State {
    var underWay = 0
    var waiting: [@Sendable () -> Void] = []
  }
  private let state = Mutex(State())
  private let limit: Int
  /// A second limit that also applies: that of all listeners together.
  private let parent: HandshakeLimit?

  init(_ limit: Int, within parent: HandshakeLimit? = nil) {
    self.limit = max(1, limit)
    self.parent = parent
  }

  var underWay: Int { state.withLock { $0.underWay } }

  /// A slot, which is freed with its last reference. If there is none, `body` is called once as soon as there may be
  /// one, on any thread.
  func enter(orWhenFree body: @escaping @Sendable () -> Void) -> HandshakeSlot? {
    var outer: HandshakeSlot?
    if let parent {
      guard let slot = parent.enter(orWhenFree: body) else { return nil }
      outer = slot
    }
    let isEntered = state.withLock { state in
      guard state.underWay < limit else {
        state.waiting.append(body)
        return false
      }
      state.underWay += 1
      return true
    }
    return isEntered ? HandshakeSlot(of: self, outer: outer) : nil
  }

  fileprivate func leave() {
    let waiting = state.withLock { state in
      state.underWay -= 1
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for body in waiting { body() }
  }
}

/// The right to one handshake.
final class HandshakeSlot: Sendable {
  private let limit: HandshakeLimit
  private let outer: HandshakeSlot?

  fileprivate init(of limit: HandshakeLimit, outer: HandshakeSlot?) {
    self.limit = limit
    self.outer = outer
  }

  deinit { limit.leave() }
}
