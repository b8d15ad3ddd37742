import Bytes
import Glibc

/// Passes bytes from the owner to the kernel.
extension Connection {
  /// Whether no bytes wait for the kernel: bytes written now are sent in this turn, if the socket takes them.
  package var isWritable: Bool { state == .open && !isBlocked }
  /// Written bytes that the kernel has not taken.
  package var queuedBytes: Int { unsent.count }
  /// Bytes the kernel has taken and the peer has not acknowledged (`SIOCOUTQ`, tcp(7)); nil if the kernel does not
  /// report it.
  package var kernelQueuedBytes: Int? {
    let count = loop.kernel.queuedBytes(descriptor)
    return count >= 0 ? count : nil
  }

  /// Queues bytes that are shared with other connections; they are retained, not copied (without TLS). Dropped when not
  /// open.
  package func write(_ bytes: SharedBytes) {
    loop.assertOnLoop()
    if admit(bytes.count) { unsent.append(bytes, on: loop) }
  }

  /// Queues `bytes` without the first `sent` bytes.
  package func write(_ bytes: SharedBytes, from sent: Int) {
    loop.assertOnLoop()
    if admit(bytes.count &- sent) { unsent.append(bytes, from: sent, on: loop) }
  }

  /// Sends `bytes` now, without keeping them, if no other bytes wait and the connection has no TLS. Returns the number
  /// of bytes that the kernel has taken; pass the rest to `write`.
  package func sendDirect(_ bytes: UnsafeRawBufferPointer) -> Int {
    loop.assertOnLoop()
    guard state == .open, !isBlocked, unsent.count == 0, tls == nil else { return 0 }
    let start = bytes.baseAddress.unsafelyUnwrapped
    let sent =
      loop.isSystemLoop
      ? SystemKernel.sendNow(descriptor, start, bytes.count) : loop.kernel.send(descriptor, start, bytes.count)
    if sent == bytes.count {
      bytesWritten &+= UInt64(truncatingIfNeeded: sent)
      return sent
    }
    return tookDirect(sent)
  }

  /// The kernel has not taken all bytes.
  @inline(never)
  private func tookDirect(_ sent: Int) -> Int {
    isBlocked = true
    if sent < 0 { took(sent) }
    guard sent > 0 else { return 0 }
    bytesWritten &+= UInt64(truncatingIfNeeded: sent)
    return sent
  }

  /// Queues a copy of `bytes`. Dropped when not open.
  package func write(_ bytes: RawSpan) {
    loop.assertOnLoop()
    if admit(bytes.byteCount) { unsent.append(bytes, on: loop) }
  }

  /// Schedules a flush for bytes that the caller will queue. Returns false if they must not be queued.
  @inline(__always)
  private func admit(_ count: Int) -> Bool {
    guard state == .open, count > 0 else { return false }
    guard unsent.count &+ count <= Int(queueLimit) else {
      finish(.failed(.writeQueueFull(limit: Int(queueLimit))))
      return false
    }
    if !isDirty, !isBlocked {
      isDirty = true
      loop.markDirty(self)
    }
    return true
  }

  /// Sends the queued bytes now instead of at the end of the turn.
  package func flush() {
    loop.assertOnLoop()
    if !isBlocked { sendQueued() }
  }

  /// The kernel accepts bytes again.
  func becameWritable() {
    guard isBlocked else { return }
    isBlocked = false
    sendQueued()
    if unsent.count == 0, state == .open { handler?.connectionDidDrain(self) }
  }

  /// Sends as much as the kernel takes. Ends a closing connection when everything is sent.
  func sendQueued() {
    guard state == .open || state == .closing else { return }
    if unsent.count > 0 {
      if tls == nil, let piece = unsent.only {
        let sent = loop.kernel.send(descriptor, piece.baseAddress.unsafelyUnwrapped, piece.count)
        guard sent == piece.count else {
          took(sent)
          isBlocked = state == .open || state == .closing
          return
        }
        unsent.removeOnly()
        bytesWritten &+= UInt64(truncatingIfNeeded: sent)
      } else {
        let isAllSent = tls.map { sendEncrypted($0) } ?? sendGathered()
        guard isAllSent else { return }
      }
    }
    if state == .closing { endStream() }
  }

  /// Sends several items: joins small ones into one send, and sends large ones in place. True if nothing is left.
  private func sendGathered() -> Bool {
    while unsent.count > 0 {
      let sent: Int
      let offered: Int
      if unsent.count <= loop.memory.gather.count {
        offered = unsent.gather(into: loop.memory.gather)
        sent = loop.kernel.send(descriptor, loop.memory.gather.baseAddress.unsafelyUnwrapped, offered)
      } else {
        let (kernel, descriptor) = (loop.kernel, descriptor)
        (sent, offered) = unsent.withVectors(Self.vectorLimit) { (kernel.send(descriptor, pieces: $0), $1) }
      }
      took(sent)
      guard state == .open || state == .closing else { return false }
      guard sent == offered else {
        isBlocked = true
        return false
      }
    }
    return true
  }

  /// The most pieces in one `sendmsg`.
  private static let vectorLimit = 64

  /// Applies the result of a send: drops the sent bytes, and fails on an error.
  private func took(_ sent: Int) {
    guard sent >= 0 else {
      let error = Int32(truncatingIfNeeded: -sent)
      if error != EAGAIN && error != EINTR { finish(.failed(.system(call: "send", errno: error))) }
      return
    }
    bytesWritten &+= UInt64(sent)
    unsent.consume(sent, on: loop)
  }

  /// True if nothing is left.
  private func sendEncrypted(_ tls: TLSSession) -> Bool {
    while unsent.count > 0 {
      let offered = unsent.gather(
        into: UnsafeMutableRawBufferPointer(rebasing: loop.memory.gather[..<TLSSession.recordLimit]))
      switch tls.write(UnsafeRawBufferPointer(start: loop.memory.gather.baseAddress, count: offered)) {
      case .bytes(let count): took(count)
      case .wouldBlock:
        isBlocked = true
        return false
      case .ended: finish(.closedByPeer)
      case .broken(let error): finish(.failed(error))
      case .failed(let failure): fail(failure)
      }
      guard state == .open || state == .closing else { return false }
    }
    return true
  }
}
