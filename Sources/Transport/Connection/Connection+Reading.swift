import Glibc

/// Passes bytes from the kernel to the handler.
extension Connection {
  /// Reads the bytes that the kernel has, up to `Limits.readBytes` a turn. `toEnd`: reads until the kernel reports that
  /// there are no more. Otherwise, a read that does not fill its buffer has taken everything.
  func read(toEnd: Bool) {
    guard state == .open || state == .closing else { return }
    if isPaused && state == .open {
      hasUnread = true
      return
    }
    hasUnread = false
    var budget = Int(readLimit)
    while budget > 0 {
      let buffer = UnsafeMutableRawBufferPointer(rebasing: loop.memory.read[..<budget])
      let count: Int
      var isEmptied = false
      if let tls {
        switch tls.read(into: buffer) {
        case .bytes(let taken):
          count = taken
          isEmptied = !toEnd && tls.isDrained
        case .wouldBlock: return
        case .ended: return peerEnded()
        case .broken(let error): return finish(.failed(error))
        case .failed(let failure): return fail(failure)
        }
      } else {
        count = loop.kernel.receive(descriptor, into: buffer)
        if count < 0 {
          let error = Int32(truncatingIfNeeded: -count)
          if error == EINTR { continue }
          if error != EAGAIN { finish(.failed(.system(call: "recv", errno: error))) }
          return
        }
        if count == 0 { return peerEnded() }
        isEmptied = !toEnd && count < buffer.count
      }
      budget -= count
      if state == .open {
        handler?.connection(self, didReceive: UnsafeMutableRawBufferPointer(rebasing: loop.memory.read[..<count]))
        guard state == .open || state == .closing else { return }
        if isPaused && state == .open {
          hasUnread = true
          return
        }
      }
      if isEmptied { return }
    }
    loop.markUnfinished(self)
  }

  /// The peer will send no more. Queued bytes are still sent, because the peer may have ended only its own direction.
  private func peerEnded() {
    peerHasEnded = true
    if state == .open, unsent.count > 0 {
      state = .closing
      flush()
      if state == .closing { armTimer(.seconds(5)) }
    } else if state == .open || unsent.count == 0 {
      // Answers the peer's `close_notify`; best effort, because the peer may already be gone.
      _ = tls?.sendCloseNotify()
      finish(.closedByPeer)
    }
  }

  func failFromSocket() {
    let error = loop.kernel.takeError(descriptor)
    if error != 0 { finish(.failed(.system(call: "recv", errno: error))) }
  }

  /// Stops reading, so that the kernel makes a peer wait that sends too much.
  package func pauseReading() {
    loop.assertOnLoop()
    isPaused = true
  }

  /// Reads again, from the next turn on.
  package func resumeReading() {
    loop.assertOnLoop()
    guard isPaused else { return }
    isPaused = false
    if hasUnread, state == .open {
      hasUnread = false
      loop.markUnfinished(self)
    }
  }

  /// Checks for bytes that arrived before the connection had a handler.
  func readFromNextTurn() {
    if state == .open { loop.markUnfinished(self) }
  }
}
