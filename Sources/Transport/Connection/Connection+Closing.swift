import Glibc

/// The end of a connection: after sending everything, at once, and after a failure.
extension Connection {
  /// How long a closed connection waits for the peer's end.
  private static let lingerTime: Duration = .seconds(1)
  /// The most bytes that are read and dropped in one turn, and in total: more than a window of 100 Mbit/s at 20 ms.
  private static let discardPortion = 16 << 10
  private static let discardLimit: Int32 = 256 << 10

  /// Closes after everything queued is sent, or after `timeout`; `close_notify` is sent under TLS. The handler is
  /// notified when the kernel has everything.
  package func close(timeout: Duration = .seconds(5)) {
    loop.assertOnLoop()
    guard state == .open else {
      if state == .handshaking { abort() }
      return
    }
    state = .closing
    flush()
    if state == .closing { armTimer(timeout) }
  }

  /// Closes at once; what is queued is dropped.
  package func abort() {
    loop.assertOnLoop()
    tls?.whenReady = nil
    finish(.closedLocally)
  }

  /// Ends after a TLS failure whose reason OpenSSL has sent in an alert. The connection lingers so that the alert
  /// arrives: closing one with unread bytes would reset it.
  func fail(_ failure: TLSFailure) {
    guard state != .closed, state != .lingering else { return }
    let reason = CloseReason.failed(.tlsFailed(peer: tls?.peerName ?? peer.description, failure))
    guard failure.kind != .truncated, failure.kind != .closed, loop.kernel.endSending(descriptor) == 0 else {
      return finish(reason)
    }
    loop.markClosed(self, reason)
    state = .lingering
    unsent.removeAll(on: loop)
    tls?.discard()
    armTimer(Self.lingerTime)
    loop.markUnfinished(self)
  }

  func armTimer(_ delay: Duration) {
    timer?.cancel()
    timer = loop.schedule(after: delay) { [unowned self] in finish(.closedLocally) }
  }

  /// Everything queued is sent: ends this direction.
  func endStream() {
    guard tls?.sendCloseNotify() ?? true else {
      isBlocked = true
      return
    }
    if peerHasEnded { return finish(.closedByPeer) }
    guard loop.kernel.endSending(descriptor) == 0 else { return finish(.closedLocally) }
    state = .lingering
    loop.markClosed(self, .closedLocally)
    armTimer(Self.lingerTime)
    discard()
  }

  /// Reads and drops until the peer's end, or until the peer has sent more than can have been in transit. After that,
  /// bytes stay in the kernel until the time-out, so that a peer that sends for ever costs nothing.
  func discard() {
    guard discarded < Self.discardLimit else { return }
    let portion = min(loop.memory.read.count, Self.discardPortion)
    let count = loop.kernel.receive(
      descriptor, into: UnsafeMutableRawBufferPointer(rebasing: loop.memory.read[..<portion]))
    if count > 0 {
      discarded += Int32(truncatingIfNeeded: count)
      loop.markUnfinished(self)
    } else if count == 0 || (count != Int(-EAGAIN) && count != Int(-EINTR)) {
      finish(.closedLocally)
    }
  }

  /// Closes everything, and calls the handler unless it was called already.
  func finish(_ reason: CloseReason) {
    guard state != .closed else { return }
    if state != .lingering { loop.markClosed(self, reason) }
    state = .closed
    timer?.cancel()
    timer = nil
    unsent.removeAll(on: loop)
    tls?.discard()
    loop.table.remove(self)
    loop.kernel.close(descriptor)
    descriptor = -1
    permit = nil
  }

  /// Notifies the handler, for the last time.
  func tellClosed(_ reason: CloseReason) {
    let last = handler
    handler = nil
    last?.connectionDidClose(self, reason: reason)
  }
}
