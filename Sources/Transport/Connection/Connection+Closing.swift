import Glibc

/// The end of a connection: at leisure, at once, and after a failure.
extension Connection {
  /// How long an ended connection waits for the peer's end, ns.
  private static let lingerTime: UInt64 = 1_000_000_000

  /// Closes after everything queued is sent, or after `timeout` ns; `close_notify` is sent under TLS. The handler is told once
  /// the kernel has everything.
  package func close(timeout: UInt64 = 5_000_000_000) {
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

  /// TLS has failed, and OpenSSL has told the peer why in an alert. It is to arrive, so the connection lingers: closing one with
  /// unread bytes would reset it.
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

  func armTimer(_ delay: UInt64) {
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

  /// Reads and drops until the peer's end.
  func discard() {
    let count = loop.kernel.receive(descriptor, into: loop.readBuffer)
    if count > 0 {
      loop.markUnfinished(self)
    } else if count == 0 || (count != Int(-EAGAIN) && count != Int(-EINTR)) {
      finish(.closedLocally)
    }
  }

  /// Gives everything up; the handler is told unless it has been.
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

  /// Tells the handler, for the last time.
  func tellClosed(_ reason: CloseReason) {
    let last = handler
    handler = nil
    last?.connectionDidClose(self, reason: reason)
  }
}
