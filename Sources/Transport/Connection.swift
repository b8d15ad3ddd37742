import Bytes
import Glibc

/// Why a connection ended.
package enum CloseReason: Sendable {
  /// The peer ended its stream.
  case closedByPeer
  /// This side closed it.
  case closedLocally
  case failed(TransportError)
}

/// Who reads from a connection. Called on the connection's loop only, never from inside one of the connection's own methods.
package protocol ConnectionHandler: AnyObject {
  /// Bytes arrived. They stand in a buffer of the loop that may be changed in place and is gone after the call.
  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer)
  /// All that was unsent after a full socket buffer has now been taken by the kernel.
  func connectionDidDrain(_ connection: Connection)
  /// The connection is gone; the last call.
  func connectionDidClose(_ connection: Connection, reason: CloseReason)
}

/// What let a connection in; whoever gave it learns from its end that the connection's descriptor is closed.
package protocol ConnectionPermit: AnyObject, Sendable {}

/// A TCP connection, in the clear or under TLS. Owned by one loop and used only there.
///
/// Writes are queued and go out at the end of the turn in one gathered send. What the kernel does not take stays queued, up to
/// `Limits.queuedBytes`; the owner of the data sees `isWritable` fall and keeps what can still be merged on its own side.
///
/// The loop holds an open connection, and the connection holds its handler until `connectionDidClose` has been called, so neither
/// has to be kept by anyone else.
package final class Connection: PolledDescriptor {
  package struct Limits: Sendable {
    /// Unsent bytes this connection may hold. A write beyond it closes the connection (`.writeQueueFull`).
    package var queuedBytes: Int
    /// `TCP_NOTSENT_LOWAT`: unsent bytes the kernel holds before the socket counts as full; it is writable again below half of it
    /// (tcp(7)). One send may exceed it, so that the kernel holds up to this and one portion of its writer.
    package var kernelUnsentBytes: Int
    /// `SO_SNDBUF`: bytes the kernel holds for the peer, sent and unacknowledged included. It doubles the value for its own
    /// overhead (socket(7)).
    package var kernelBytes: Int
    /// The defaults let 128 KiB be on the way, 10 Mbit/s at 100 ms, and 16 KiB be behind it.
    package init(queuedBytes: Int = 1 << 20, kernelUnsentBytes: Int = 16 << 10, kernelBytes: Int = 128 << 10) {
      self.queuedBytes = queuedBytes
      self.kernelUnsentBytes = kernelUnsentBytes
      self.kernelBytes = kernelBytes
    }
  }

  enum State: UInt8 {
    /// Under TLS, before the first byte of the application.
    case handshaking
    case open
    /// `close` was called, or the peer has ended its stream; what is queued is still being sent.
    case closing
    /// Everything is sent and the handler knows. The descriptor waits for the peer's end, because closing one with unread
    /// bytes resets the connection, and the reset would destroy what the peer has not read yet (RFC 9112 §9.6).
    case lingering
    case closed
  }

  package let loop: EventLoop
  /// The peer's address for logs and limits: `127.0.0.1:50432`.
  package let peer: SocketAddress
  /// Held until `connectionDidClose` has been called.
  package var handler: (any ConnectionHandler)?
  /// Of an accepted connection: what the listener's gate gave. Let go of when the descriptor is closed.
  package var permit: (any ConnectionPermit)?

  // `@exclusivity(unchecked)`: confined to the loop, and every delivery passes here.
  @exclusivity(unchecked) var first: SharedBytes?
  /// Bytes of `first` that are sent.
  @exclusivity(unchecked) var firstSent = 0
  /// What comes after `first`.
  @exclusivity(unchecked) var rest: WriteQueue?
  @exclusivity(unchecked) package private(set) final var queuedBytes = 0
  private let queueLimit: Int
  @exclusivity(unchecked) private(set) var state: State
  @exclusivity(unchecked) private var isDirty = false
  /// The socket buffer was full; `.writable` ends it.
  @exclusivity(unchecked) private var isBlocked = false
  @exclusivity(unchecked) private var isPaused = false
  /// The kernel may have bytes that no further event will announce.
  @exclusivity(unchecked) private var hasUnread = false
  @exclusivity(unchecked) private var peerHasEnded = false
  @exclusivity(unchecked) var tls: TLSSession?
  private var timer: LoopTimer?
  /// Bytes read so far, decrypted.
  @exclusivity(unchecked) package private(set) var bytesRead: UInt64 = 0
  /// Bytes written so far, before encryption.
  @exclusivity(unchecked) package private(set) var bytesWritten: UInt64 = 0

  /// How long an ended connection waits for the peer's end.
  private static let lingerTime: UInt64 = 1_000_000_000

  init(loop: EventLoop, peer: SocketAddress, descriptor: Int32, limits: Limits, tls: TLSSession? = nil) {
    self.loop = loop
    self.peer = peer
    self.queueLimit = limits.queuedBytes
    self.tls = tls
    self.state = tls == nil ? .open : .handshaking
    super.init(descriptor: descriptor)
  }

  deinit {
    if descriptor >= 0 { loop.kernel.close(descriptor) }
  }

  /// Whether nothing is waiting for the kernel: what is written now goes out this turn, if the socket takes it.
  package var isWritable: Bool { state == .open && !isBlocked }
  /// Whether it can still be written to.
  package var isOpen: Bool { state == .open }
  /// Bytes the kernel has taken and the peer has not acknowledged (`SIOCOUTQ`, tcp(7)); nil where it does not say.
  package var kernelQueuedBytes: Int? {
    let count = loop.kernel.queuedBytes(descriptor)
    return count >= 0 ? count : nil
  }
  /// `TLSv1.3`, or nil in the clear.
  package var tlsVersion: String? { tls?.version }
  /// Whether TLS went on from an earlier session.
  package var tlsIsResumed: Bool { tls?.isResumed ?? false }
  /// Of an accepted connection: the name that the client asked for, printable ASCII.
  package var tlsServerName: String? { tls?.serverName }
  /// The name on the peer's certificate, which was found good; nil where it showed none.
  package var tlsPeerSubject: String? { tls?.peerSubject }

  // MARK: - Writing

  /// Queues bytes that are shared with other connections; they are retained, not copied (in the clear). Dropped when not open.
  package func write(_ bytes: SharedBytes) {
    loop.assertOnLoop()
    guard admit(bytes.count) else { return }
    if first == nil, rest == nil {
      first = bytes
    } else {
      openRest().append(bytes)
    }
  }

  /// Queues a copy of `bytes`. Dropped when not open.
  package func write(_ bytes: RawSpan) {
    loop.assertOnLoop()
    guard admit(bytes.byteCount) else { return }
    let rest = openRest()
    bytes.withUnsafeBytes { rest.append($0) }
  }

  /// Counts bytes that are about to be queued and sees to it that they are sent. False if they are not to be queued.
  @inline(__always)
  private func admit(_ count: Int) -> Bool {
    guard state == .open, count > 0 else { return false }
    let total = queuedBytes &+ count
    guard total <= queueLimit else {
      finish(.failed(.writeQueueFull(limit: queueLimit)))
      return false
    }
    queuedBytes = total
    if !isDirty, !isBlocked {
      isDirty = true
      loop.markDirty(self)
    }
    return true
  }

  @inline(__always)
  private func openRest() -> WriteQueue {
    if let rest { return rest }
    let queue = loop.borrowQueue()
    rest = queue
    return queue
  }

  /// Sends now what is queued rather than at the end of the turn.
  package func flush() {
    loop.assertOnLoop()
    if !isBlocked { sendQueued() }
  }

  override func flushIfDirty() {
    guard isDirty else { return }
    isDirty = false
    sendQueued()
  }

  /// Sends as much as the kernel takes. In a closing connection, ends it when all is gone.
  private func sendQueued() {
    guard state == .open || state == .closing else { return }
    if queuedBytes > 0 {
      if tls == nil, rest == nil, let item = first {
        let left = item.count &- firstSent
        let sent = loop.kernel.send(descriptor, item.start + firstSent, left)
        if sent == left {
          first = nil
          firstSent = 0
          queuedBytes = 0
          bytesWritten &+= UInt64(truncatingIfNeeded: sent)
        } else {
          took(sent)
          isBlocked = state == .open || state == .closing
          return
        }
      } else {
        let progress = tls.map { sendEncrypted($0) } ?? sendGathered()
        guard progress else { return }
      }
    }
    if state == .closing { endStream() }
  }

  /// Several items: small ones side by side in one send, large ones in place. True if nothing is left.
  private func sendGathered() -> Bool {
    while queuedBytes > 0 {
      let sent: Int
      let offered: Int
      if queuedBytes <= loop.gatherBuffer.count {
        offered = gather(into: loop.gatherBuffer)
        sent = loop.kernel.send(descriptor, loop.gatherBuffer.baseAddress.unsafelyUnwrapped, offered)
      } else {
        (sent, offered) = sendVectors()
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

  /// Pieces handed to one `sendmsg`.
  private static let vectorLimit = 64

  private func sendVectors() -> (sent: Int, offered: Int) {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.vectorLimit) { vectors in
      var count = 0
      var offered = 0
      forEachPiece { piece in
        vectors[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
        count += 1
        offered += piece.count
        return count < Self.vectorLimit
      }
      let pieces = UnsafeMutableBufferPointer(start: vectors.baseAddress, count: count)
      return (loop.kernel.send(descriptor, pieces: pieces), offered)
    }
  }

  /// The unsent pieces in order, until `body` returns false.
  @inline(__always)
  private func forEachPiece(_ body: (UnsafeRawBufferPointer) -> Bool) {
    if let first {
      guard body(UnsafeRawBufferPointer(start: first.start + firstSent, count: first.count - firstSent)) else { return }
    }
    rest?.forEachPiece(body)
  }

  /// Copies unsent bytes to `target` until it is full; returns how many.
  private func gather(into target: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    forEachPiece { piece in
      let count = min(piece.count, target.count - filled)
      (target.baseAddress.unsafelyUnwrapped + filled).copyMemory(
        from: piece.baseAddress.unsafelyUnwrapped, byteCount: count)
      filled += count
      return filled < target.count
    }
    return filled
  }

  /// Books the result of a send: drops what is sent, fails on an error.
  private func took(_ sent: Int) {
    guard sent >= 0 else {
      let error = Int32(truncatingIfNeeded: -sent)
      if error != EAGAIN && error != EINTR { finish(.failed(.system(call: "send", errno: error))) }
      return
    }
    bytesWritten &+= UInt64(sent)
    queuedBytes -= sent
    var left = sent
    if let item = first {
      let taken = min(left, item.count - firstSent)
      firstSent += taken
      left -= taken
      if firstSent == item.count {
        first = nil
        firstSent = 0
      }
    }
    if left > 0 { rest?.consume(left) }
    if queuedBytes == 0, let queue = rest {
      rest = nil
      loop.giveBack(queue)
    }
  }

  /// True if nothing is left.
  private func sendEncrypted(_ tls: TLSSession) -> Bool {
    while queuedBytes > 0 {
      let offered = gather(into: UnsafeMutableRawBufferPointer(rebasing: loop.gatherBuffer[..<TLSSession.recordLimit]))
      switch tls.write(UnsafeRawBufferPointer(start: loop.gatherBuffer.baseAddress, count: offered)) {
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

  // MARK: - Reading

  override func ready(_ readiness: Readiness) {
    switch state {
    case .handshaking: continueHandshake()
    case .open, .closing:
      if readiness.contains(.writable) || (tls?.writeWaitsForRead ?? false) { becameWritable() }
      if !readiness.isDisjoint(with: [.readable, .peerEnded, .hangUp, .error]) || (tls?.readWaitsForWrite ?? false) {
        if readiness.contains(.error), isPaused { failFromSocket() }
        read(toEnd: !readiness.isDisjoint(with: [.peerEnded, .hangUp, .error]))
      }
    case .lingering: discard()
    case .closed: break
    }
  }

  private func becameWritable() {
    guard isBlocked else { return }
    isBlocked = false
    sendQueued()
    if queuedBytes == 0, state == .open { handler?.connectionDidDrain(self) }
  }

  /// Takes what the kernel has, up to one buffer a turn. `toEnd`: until it says that there is no more; otherwise a read that
  /// does not fill the buffer is known to have taken everything.
  private func read(toEnd: Bool) {
    guard state == .open || state == .closing else { return }
    if isPaused && state == .open {
      hasUnread = true
      return
    }
    hasUnread = false
    var budget = loop.readBuffer.count
    while budget > 0 {
      let count: Int
      var isEmptied = false
      if let tls {
        switch tls.read(into: loop.readBuffer) {
        case .bytes(let taken):
          count = taken
          isEmptied = !toEnd && tls.isDrained
        case .wouldBlock: return
        case .ended: return peerEnded()
        case .broken(let error): return finish(.failed(error))
        case .failed(let failure): return fail(failure)
        }
      } else {
        count = loop.kernel.receive(descriptor, into: loop.readBuffer)
        if count < 0 {
          let error = Int32(truncatingIfNeeded: -count)
          if error == EINTR { continue }
          if error != EAGAIN { finish(.failed(.system(call: "recv", errno: error))) }
          return
        }
        if count == 0 { return peerEnded() }
        isEmptied = !toEnd && count < loop.readBuffer.count
      }
      bytesRead &+= UInt64(count)
      budget -= count
      if state == .open {
        handler?.connection(self, didReceive: UnsafeMutableRawBufferPointer(rebasing: loop.readBuffer[..<count]))
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

  /// The peer will send no more. What is queued is still sent: it may only have ended its own direction.
  private func peerEnded() {
    peerHasEnded = true
    if state == .open, queuedBytes > 0 {
      state = .closing
      flush()
      if state == .closing { armTimer(5_000_000_000) }
    } else if state == .open || queuedBytes == 0 {
      // The answer to the peer's own; best effort, for it may have gone already.
      _ = tls?.sendCloseNotify()
      finish(.closedByPeer)
    }
  }

  private func failFromSocket() {
    let error = loop.kernel.takeError(descriptor)
    if error != 0 { finish(.failed(.system(call: "recv", errno: error))) }
  }

  /// Stops taking bytes from the kernel, so that a peer that sends too much waits there.
  package func pauseReading() {
    loop.assertOnLoop()
    isPaused = true
  }

  /// Takes bytes again, from the next turn on.
  package func resumeReading() {
    loop.assertOnLoop()
    guard isPaused else { return }
    isPaused = false
    if hasUnread, state == .open {
      hasUnread = false
      loop.markUnfinished(self)
    }
  }

  /// Looks for bytes that came before anyone listened.
  func readFromNextTurn() {
    if state == .open { loop.markUnfinished(self) }
  }

  // MARK: - Handshake

  /// Goes on with the TLS handshake; its owner is told the end through `TLSSession.whenReady`.
  func continueHandshake() {
    guard state == .handshaking, let tls else { return }
    switch tls.handshake() {
    case .bytes:
      state = .open
      tls.place = nil
      timer?.cancel()
      timer = nil
      tellServer(.success(tls.isResumed))
      let whenReady = tls.whenReady
      tls.whenReady = nil
      whenReady?(.success(self))
      // What came in the same packet as the end of the handshake is in OpenSSL's hands and no event will announce it.
      if state == .open { loop.markUnfinished(self) }
    case .wouldBlock: break
    case .ended: failHandshake(TLSFailure.closedDuringHandshake)
    case .broken(let error): failHandshake(TLSFailure(.closed, error.description))
    case .failed(let failure): failHandshake(failure)
    }
  }

  /// Starts the handshake; it fails after `timeout` ns.
  func startHandshake(timeout: UInt64, whenReady: @escaping (Result<Connection, TransportError>) -> Void) {
    tls?.whenReady = whenReady
    timer = loop.schedule(after: timeout) { [unowned self] in
      failHandshake(TLSFailure(.timeout, "no handshake within the time allowed"))
    }
    continueHandshake()
  }

  private func failHandshake(_ failure: TLSFailure) {
    guard state == .handshaking, let tls else { return }
    let whenReady = tls.whenReady
    tls.whenReady = nil
    tellServer(.failure(failure))
    if failure.kind == .timeout {
      let error = TransportError.handshakeTimeout(peer: tls.peerName ?? peer.description)
      finish(.failed(error))
      whenReady?(.failure(error))
    } else {
      let error = TransportError.tlsFailed(peer: tls.peerName ?? peer.description, failure)
      if failure.kind == .plainHTTP {
        _ = Self.plainAnswer.withUnsafeBytes { loop.kernel.send(descriptor, $0.baseAddress!, $0.count) }
      }
      fail(failure)
      whenReady?(.failure(error))
    }
  }

  /// The server's context counts how handshakes end.
  private func tellServer(_ result: Result<Bool, TLSFailure>) {
    guard let tls, case .server(let context, _) = tls.role else { return }
    context.ended(result, peer: peer, serverName: tls.serverName)
  }

  /// What a client that speaks plain HTTP to a TLS port is told, in its own words.
  private static let plainAnswer: [UInt8] = {
    let body = "This port speaks TLS: use https:// or wss://.\n"
    return Array(
      ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n"
        + "Connection: close\r\n\r\n" + body).utf8)
  }()

  /// TLS has failed, and OpenSSL has told the peer why in an alert. It is to arrive, so the connection lingers: closing one with
  /// unread bytes would reset it.
  private func fail(_ failure: TLSFailure) {
    guard state != .closed, state != .lingering else { return }
    let reason = CloseReason.failed(.tlsFailed(peer: tls?.peerName ?? peer.description, failure))
    guard failure.kind != .truncated, failure.kind != .closed, loop.kernel.endSending(descriptor) == 0 else {
      return finish(reason)
    }
    loop.markClosed(self, reason)
    state = .lingering
    dropQueue()
    tls?.discard()
    armTimer(Self.lingerTime)
    loop.markUnfinished(self)
  }

  // MARK: - Closing

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

  override func loopEnds() { abort() }

  private func armTimer(_ delay: UInt64) {
    timer?.cancel()
    timer = loop.schedule(after: delay) { [unowned self] in finish(.closedLocally) }
  }

  /// Everything queued is sent: ends this direction.
  private func endStream() {
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
  private func discard() {
    let count = loop.kernel.receive(descriptor, into: loop.readBuffer)
    if count > 0 {
      loop.markUnfinished(self)
    } else if count == 0 || (count != Int(-EAGAIN) && count != Int(-EINTR)) {
      finish(.closedLocally)
    }
  }

  /// Gives everything up; the handler is told unless it has been.
  private func finish(_ reason: CloseReason) {
    guard state != .closed else { return }
    if state != .lingering { loop.markClosed(self, reason) }
    state = .closed
    timer?.cancel()
    timer = nil
    dropQueue()
    tls?.discard()
    loop.table.remove(self)
    loop.kernel.close(descriptor)
    descriptor = -1
    permit = nil
  }

  private func dropQueue() {
    first = nil
    firstSent = 0
    queuedBytes = 0
    if let queue = rest {
      rest = nil
      loop.giveBack(queue)
    }
  }

  /// Tells the handler, for the last time.
  func tellClosed(_ reason: CloseReason) {
    let last = handler
    handler = nil
    last?.connectionDidClose(self, reason: reason)
  }
}
